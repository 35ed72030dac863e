"""A benchmark of rows in which no two numbers are alike: every plot has all that it can draw.

Two cells of three seeds. In the first GA diverged in the second seed and IU in all; a bin is empty
in all seeds, and another one in the last.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from fake_results import FakeCell, join_cells
from sealing import seal

from collateral.contract.rows import At
from collateral.findings.verdict import COLLAPSED, HURT, UNDECIDED
from collateral.results import layout
from collateral.results.plan import BenchmarkPlan, CellPlan, Sweep

SEEDS = (2, 5, 11)
METHODS = {"ft": "FT", "ga": "GA", "iu": "IU", "ltd": "LTD"}
CONTROLS = {"original": "Original", "ideal": "Ideal"}
SIZES = {"ltd@k=30": 30, "ltd": 100, "ltd@k=900": 900}
TEACHERS = {"ltd": 0, "ltd@teacher_seed=1": 1, "ltd@teacher_seed=2": 2}
LABELS = {
    **METHODS,
    **{run: f"LTD, {run.partition('@')[2]}" for run in {**SIZES, **TEACHERS} if "@" in run},
    **CONTROLS,
}
CELLS = ("digit_3-50", "digit_8-90")
DIVERGED = {("digit_3-50", "ga"): (5,), ("digit_3-50", "iu"): SEEDS}
RATES = ("ua", "ra", "ta", "mia", "ra_affected", "ua_affected", "ta_affected")
CLASSES = ("digit_1", "digit_4", "digit_7", "digit_9")
SHARES = (1, 2, 5, 10, 20, 50, 100)
SUPPORTS = (20, 50, 90)
EPOCHS = {"ft": 4, "ga": 3, "iu": 2, "ltd": 3, "ideal": 2}
EMPTY_BIN, SCARCE_BIN = 2, 7


def write_unlike(folder: Path) -> Path:
    """Write plan, metrics and costs, sealed; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(20)
    cells = [Unlike(name, rng) for name in CELLS]
    for cell in cells:
        cell.fill()
    join_cells(*(cell.rows for cell in cells)).write(folder)
    sweeps = (
        Sweep("size", "LTD", "k", "ltd", SIZES, {run: str(k) for run, k in SIZES.items()}),
        Sweep("luck", "LTD", "teacher_seed", "ltd", TEACHERS, dict.fromkeys(TEACHERS, "-")),
    )
    plans = {CELLS[0]: CellPlan(sweeps, paced=("ltd",)), CELLS[1]: CellPlan()}
    BenchmarkPlan(LABELS, "matched", plans).save(folder / layout.PLAN)
    return seal(folder)


@dataclass
class Unlike:
    """The rows of a cell, of random numbers."""

    name: str
    rng: np.random.Generator

    @cached_property
    def rows(self) -> FakeCell:
        """Return the builder of the rows."""
        class_name, _, percent = self.name.partition("-")
        return FakeCell(self.name, class_name, str(int(percent) / 100), seeds=SEEDS)

    def fill(self) -> None:
        """Add every number that some picture draws."""
        for run in ("retrain", *METHODS, *CONTROLS):
            self._add_rates(run)
            self._add_bins(run)
            self._add_nearest(run)
            for step in range(5):
                self.add(run, "relearn_accuracy", 0.2, 0.9, at=step)
        for run in (*METHODS, *CONTROLS):
            self._add_verdict(run)
            self._add_classes(run)
        for run, count in EPOCHS.items():
            self._add_course(run, count)
        self._add_floors()
        self._add_exposure()
        self._add_supports()
        self._add_swept()

    def add(
        self, run: str, metric: str, low: float, high: float, set: str = "", at: At = None
    ) -> None:
        """Add a number between these for every seed; none where the run diverged."""
        lost = DIVERGED.get((self.name, run), ())
        values: list[float | None] = []
        for seed in SEEDS:
            value = self.rng.uniform(low, high)
            shown = np.nan if self._is_empty(metric, set, at, seed) else value
            values.append(None if seed in lost else shown)
        self.rows.add(run, metric, *values, set=set, at=at)

    def add_overall(
        self, run: str, metric: str, low: float, high: float, set: str = "", at: At = None
    ) -> None:
        """Add a number over all seeds."""
        self.set_overall(run, metric, self.rng.uniform(low, high), set, at)

    def set_overall(
        self, run: str, metric: str, value: float, set: str = "", at: At = None
    ) -> None:
        """Add this number over all seeds."""
        self.rows.add_overall(run, metric, value, set, at)

    @staticmethod
    def _is_empty(metric: str, set: str, at: At, seed: int) -> bool:
        is_difference = metric in ("delta_acc", "delta_conf") and set == "retain"
        return is_difference and (at == EMPTY_BIN or (at == SCARCE_BIN and seed == SEEDS[-1]))

    def _add_rates(self, run: str) -> None:
        for metric in RATES:
            self.add(run, metric, 0.3, 0.95)
        self.add(run, "rte", *((50, 90) if run == "retrain" else (1, 20)))

    def _add_bins(self, run: str) -> None:
        for place, name in enumerate(("retain", "test")):
            edges = np.linspace(0.1 + 0.2 * place, 0.9 - 0.1 * place, 11)
            for b in range(10):
                if run != "retrain":
                    for metric in ("delta_acc", "delta_conf"):
                        self.add(run, metric, -0.1, 0.5, name, b)
                    continue
                self.add(run, "bin_count", 1, 40, name, b)
                self.set_overall(run, "bin_low", edges[b], name, b)
                self.set_overall(run, "bin_high", edges[b + 1], name, b)
                for metric in ("delta_acc_sd", "delta_conf_sd"):
                    self.add_overall(run, metric, 0.005, 0.03, name, b)

    def _add_nearest(self, run: str) -> None:
        for name in ("retain", "test"):
            for share in SHARES:
                self.add(run, "nearest_difference", 0.01, 0.4, name, share)

    def _add_verdict(self, run: str) -> None:
        verdicts = {"ft": UNDECIDED, "ga": HURT, "iu": COLLAPSED, "ltd": UNDECIDED}
        if run in verdicts:
            self.set_overall(run, "verdict", 1, at=verdicts[run])
        self.add(run, "damage", -0.1, 0.3, "retain")
        self.add_overall(run, "forgetting_error", 0.02, 0.4)
        self.add_overall(run, "rte_share", 0.02, 0.5)
        for at in ("ua", "damage", "midpoint"):
            self.add_overall(run, "difference", 0.0, 0.1, at=at)
            self.add_overall(run, "difference_low", -0.3, -0.1, at=at)
            self.add_overall(run, "difference_high", 0.2, 0.5, at=at)
            self.add_overall(run, "difference_p", 0.0, 1.0, at=at)

    def _add_classes(self, run: str) -> None:
        for name in CLASSES:
            self.add(run, "class_drop", -0.1, 0.4, at=name)
        self.add_overall(run, "class_slope", 0.2, 0.5)
        self.add_overall(run, "class_slope_low", -0.3, 0.1)
        self.add_overall(run, "class_slope_high", 0.6, 0.9)

    def _add_course(self, run: str, count: int) -> None:
        for epoch in range(count + 1):
            for metric in RATES:
                self.add(run, f"epoch_{metric}", 0.3, 0.95, at=epoch)
            for metric, low in (("avg_gap", 0.02), ("forgetting_error", 0.02), ("damage", -0.1)):
                self.add_overall(run, f"epoch_{metric}", low, 0.3, at=epoch)
            self.add(run, "epoch_seconds", 10 * epoch, 10 * epoch + 3, at=epoch)
        for share in SHARES[:5]:
            self.add_overall(run, "budget_gap", 0.02, 0.3, at=share)
            self.set_overall(run, "budget_epoch", 1, at=share)

    def _add_floors(self) -> None:
        for metric in (*RATES, "avg_gap", "avg_gap_affected"):
            self.add_overall("retrain", "floor", 0.002, 0.02, at=metric)
        for name in ("retain", "test"):
            self.add_overall("retrain", "damage_sd", 0.005, 0.02, name)
        for at in ("ua", "damage"):
            self.add_overall("retrain", "margin", 0.01, 0.05, at=at)
        for name in CLASSES:
            self.add("retrain", "class_similarity", 0.1, 0.9, at=name)
            self.add_overall("retrain", "class_drop_sd", 0.005, 0.03, at=name)

    def _add_exposure(self) -> None:
        self.add_overall("retrain", "lira_auc", 0.6, 0.9, "forget")
        for b in range(10):
            self.add_overall("retrain", "exposure_count", 1, 40, "retain", b)
        for run in METHODS:
            self.set_overall(run, "exposure_models", 16)
            self._add_with_ends(run, "ulira_auc", (0.4, 0.5, 0.6, 0.7), "forget")
            for b in range(10):
                self._add_with_ends(run, "exposure_change", (-0.1, -0.05, 0.05, 0.2), "retain", b)

    def _add_with_ends(
        self, run: str, metric: str, between: Sequence[float], set: str, at: At = None
    ) -> None:
        for end, (low, high) in zip(("_low", "", "_high"), _pairs(between), strict=True):
            self.add_overall(run, f"{metric}{end}", low, high, set, at)

    def _add_supports(self) -> None:
        by_size = {
            **{"kl_previous": (0.01, 0.9), "teacher_ua": (0.3, 0.95), "kl_retrain": (0.01, 0.9)},
            **{"least_similarity": (0.1, 0.9), "num_classes": (1, 9)},
        }
        for size in SUPPORTS:
            for metric, ends in by_size.items():
                self.add("ltd", f"support_{metric}", *ends, at=size)
            self.add_overall("ltd", "support_kl_seeds", 0.02, 0.2, at=size)
        self.add_overall("ltd", "support_kl_retrains", 0.02, 0.2)
        for b in range(10):
            self.add("ltd", "support_bin_low", 0.1 * b, 0.1 * b + 0.02, at=b)
            self.add("ltd", "support_bin_high", 0.1 * b + 0.1, 0.1 * b + 0.12, at=b)
            self.add("ltd", "support_bin_count", 20, 40, at=b)
            self.add("ltd", "support_drop", -0.05, 0.4, at=b)
        for metric, ends in (("auto", (30, 90)), ("size", (40, 60)), ("step_rate", (0.1, 0.3))):
            self.add("ltd", f"support_{metric}", *ends)

    def _add_swept(self) -> None:
        for run in {**SIZES, **TEACHERS}:
            for metric in RATES if run != "ltd" else ():
                self.add(run, metric, 0.3, 0.95)
            self.add(run, "teacher_ua", 0.3, 0.95)
            self.add(run, "target_ua", 0.3, 0.95)
            self.add(run, "teacher_epochs", 2, 30)


def _pairs(ends: Sequence[float]) -> Iterable[tuple[float, float]]:
    return itertools.pairwise(ends)
