"""The board: one line per method and cell, of kept benchmarks and of judged submissions.

A benchmark is a folder with plan.json, metrics.csv and costs.csv as a run writes them. In the
folder of a judged submission, judged.json also has what its author states. A folder whose verdicts
were recomputed later, because its outputs were not kept, has them in verdicts.csv.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from collateral.contract.metrics import EMPTY
from collateral.findings.checks import run_checks
from collateral.metrics.statistics import mean
from collateral.report.decision import CHIPS
from collateral.report.page import template
from collateral.results import layout
from collateral.results.files import InvalidResultError, read_rows
from collateral.results.plan import BenchmarkPlan
from collateral.results.provenance import read_signed
from collateral.results.submission import JUDGED
from collateral.results.table import BenchmarkTable, CellTable, read_tables

VERDICTS = "verdicts.csv"
OWN_FILES = ("arrays", "folder", "parquet")  # data sets of a user's own files
ONE_SEED, NO_RETRAIN, CHECK_FAILED = "one seed", "no Retrain", "check failed"
RUN_HERE = "run here"
# What each level of evidence is.
EVIDENCE = {
    RUN_HERE: "the maintainers ran the method",
    "1": "outputs were sent, and the numbers computed from them",
    "2": "the weights that were sent give these outputs",
    "3": "the config that was sent gives these outputs here, bit by bit, in the seeds named (†)",
}


@dataclass(frozen=True)
class Entry:
    """One method in one cell; rates are fractions, and NaN where they are not known."""

    benchmark: str
    setting: str  # data set and model
    forget_set: str
    seeds: int
    run: str
    method: str  # display name
    verdict: str
    near: float  # accuracy lost on the nearest retained examples
    near_test: float  # ... on the nearest test examples
    gap: float
    time: float  # seconds with tuning, as a fraction of Retrain's
    is_recomputed: bool = False  # whether the verdict was recomputed later
    evidence: str = RUN_HERE
    by: str = ""
    link: str = ""
    stated_time: str = ""  # time that cannot be compared with Retrain's
    names: tuple[str, ...] = ()  # what looks like other models' outputs, and what is not known
    starts_anew: bool = False  # whether its author states that it trains a new model

    @property
    def cell(self) -> tuple[str, str, int]:
        """Setting, forget set, and the negative number of seeds: most seeds come first."""
        return self.setting, self.forget_set, -self.seeds

    @property
    def is_printed(self) -> bool:
        """Whether there is no Retrain: losses are then against the base, and no verdict is made."""
        return self.verdict == NO_RETRAIN

    @property
    def order(self) -> tuple[Any, ...]:
        """Sort key: the cell, the verdict, the gap. By near loss, doing nothing would be first."""
        rank = list(CHIPS).index(self.verdict) if self.verdict in CHIPS else len(CHIPS)
        return *self.cell, rank, math.isnan(self.gap), self.gap, self.method

    @property
    def numbers(self) -> dict[str, tuple[str, float]]:
        """Text and sort key of each number that the board shows, by its heading."""
        shares = {"Kept neighbours lose": self.near, "New neighbours lose": self.near_test}
        shares["Gap to Retrain"] = self.gap
        found = {title: (as_percent(value, 1), value) for title, value in shares.items()}
        time = self.stated_time or f"{as_percent(self.time, 0)} %".replace(f"{EMPTY} %", EMPTY)
        return {**found, "Time with tuning": (time, self.time)}


@dataclass(frozen=True)
class Board:
    """Entries by setting and forget set, and why folders are left out."""

    entries: list[Entry]
    left_out: list[str] = field(default_factory=list)
    # Benchmarks of the settings of papers, by the setting's name: what each runs, by its name.
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def cells(self) -> list[tuple[str, list[Entry]]]:
        """Title and entries of each cell; benchmarks of settings come last, each by itself."""
        ordered = sorted(self.entries, key=lambda one: (self._of_setting(one), *one.order))
        groups = groupby(ordered, key=lambda one: (self._of_setting(one), *one.cell[:2]))
        return [
            (f"{f'{own}: ' if own else ''}{setting}: {name}", [*of])
            for (own, setting, name), of in groups
        ]

    def _of_setting(self, entry: Entry) -> str:
        """Return "cifar10, cifar10_optml" for an entry of a setting of a paper, else ""."""
        names = [name for name, of in self.settings.items() if entry.benchmark in of]
        return f"{names[0]}, {entry.benchmark}" if names else ""

    @property
    def with_results(self) -> set[str]:
        """Names of the benchmarks that have entries."""
        return {entry.benchmark for entry in self.entries}


def as_percent(value: float, digits: int) -> str:
    """Return a fraction in percent or points, or a dash."""
    return EMPTY if math.isnan(value) else f"{100 * value:.{digits}f}".replace("-", "−")


def build_board(
    folders: Iterable[Path],
    judged: Iterable[Path],
    settings: Mapping[str, Mapping[str, str]] | None = None,
) -> Board:
    """Read kept benchmarks and judged submissions; name those that cannot be shown."""
    entries, left_out = [], []
    known: dict[str, Path] = {}
    for folder in (*folders, *judged):
        try:
            _check_known(folder, known)
            entries += _judged_entries(folder)
        except InvalidResultError as error:
            left_out.append(f"{error.path.name} of {folder.name}: {error.reason}")
        except ValueError as error:
            left_out.append(f"{folder.name}: {error}")
    return Board(entries, left_out, settings or {})


def _check_known(folder: Path, known: dict[str, Path]) -> None:
    """Raise if a submission was judged into another folder too: its statement is the same."""
    if statement := _read_judged(folder).get("statement"):
        first = known.setdefault(json.dumps(statement, sort_keys=True), folder)
        if first != folder:
            raise ValueError(f"the same submission as in {first}")


def _judged_entries(folder: Path) -> list[Entry]:
    """Return the entries of a folder; raise if there are none."""
    found = [*read_entries(folder)]
    if not found:
        raise ValueError("has no methods")
    return found


def list_kept(data: Path) -> list[Path]:
    """Return the folders below `data` that have metrics."""
    return sorted({path.parent for path in data.rglob(layout.METRICS)})


def read_kept(folder: Path) -> BenchmarkTable:
    """Return the long tables of kept results, which have no gates.json: checks are run again."""
    plan = BenchmarkPlan.load(folder / layout.PLAN)
    table = read_tables(plan, folder / layout.METRICS, folder / layout.COSTS)
    return table.with_gates(run_checks(table)[0])


def read_entries(folder: Path) -> Iterator[Entry]:
    """Yield the methods of one benchmark or judged submission, without controls and sweeps."""
    benchmark, judged = read_kept(folder), _read_judged(folder)
    stated = judged.get("statement", {})
    rejudged = _read_verdicts(folder)
    for cell in benchmark.cells:
        own = stated.get("cells", {}).get(cell.name, {})
        data = name_data(stated.get("benchmark", folder.name), benchmark.plan.data)
        for run in cell.runs("method"):
            time = _time(cell, run, own)
            yield Entry(
                benchmark=stated.get("benchmark", folder.name),
                setting=f"{data}, {benchmark.plan.model}",
                forget_set=cell.name,
                seeds=len(cell.seeds),
                run=run,
                method=cell.labels[run],
                verdict=rejudged.get((cell.name, run)) or _verdict(cell, run),
                near=mean(cell.values(run, "near_loss", "retain")),
                near_test=mean(cell.values(run, "near_loss", "test")),
                gap=cell.number(run, "avg_gap") if cell.has_retrain else math.nan,
                time=time,
                is_recomputed=(cell.name, run) in rejudged,
                evidence=str(judged.get("level", RUN_HERE)),
                by=stated.get("by", ""),
                link=stated.get("link", ""),
                stated_time=_stated_time(own) if math.isnan(time) else "",
                names=tuple(name for name in judged.get("names", ()) if _is_of(name, cell, stated)),
                starts_anew=stated.get("starts") == "anew",
            )


def _read_judged(folder: Path) -> dict[str, Any]:
    path = folder / JUDGED
    return read_signed(path, folder) if path.is_file() else {}


def _read_verdicts(folder: Path) -> dict[tuple[str, str], str]:
    path = folder / VERDICTS
    rows = read_rows(path) if path.is_file() else []
    return {(row["cell"], row["run"]): row["verdict"] for row in rows}


def _is_of(name: str, cell: CellTable, stated: Mapping[str, Any]) -> bool:
    """Tell whether a sentence is about this cell, or about the whole submission."""
    others = stated["cells"].keys() - {cell.name}
    return not name.startswith(tuple(f"{other}:" for other in others))


def name_data(benchmark: str, data: Mapping[str, Any]) -> str:
    """Return the data set's name, and the number of classes if the config selects some.

    A user's own files have the name of the benchmark.
    """
    name = str(data.get("dataset", data["name"]))
    name = benchmark if name in OWN_FILES else name
    classes = data.get("classes")
    return f"{name} ({len(classes)} classes)" if classes else name


def _verdict(cell: CellTable, run: str) -> str:
    """Return the verdict by the present rule, or why there is none."""
    if not cell.has_retrain:
        return NO_RETRAIN
    if len(cell.seeds) == 1:
        return ONE_SEED
    if cell.red_gates:
        return CHECK_FAILED
    [verdict] = cell.indices(run, "verdict") or [EMPTY]
    return verdict


def _time(cell: CellTable, run: str, stated: Mapping[str, Any]) -> float:
    """Return the seconds of a run and of its tuning over Retrain's seconds.

    A stated time counts if it is of the same device.
    """
    retrain = mean(cell.values(layout.RETRAIN, "rte"))
    if stated:
        return cell.number(run, "rte_share") + (stated["tuning_seconds"] or 0.0) / retrain
    share = cell.number(run, "rte_share_with_tuning")
    if not math.isnan(share):
        return share
    tuning = np.nansum(cell.values(run, "tuning_seconds"))
    return float((mean(cell.values(run, "rte")) + tuning) / retrain)


def _stated_time(stated: Mapping[str, Any]) -> str:
    if not stated or stated["seconds"] is None:
        return ""
    seconds = stated["seconds"] + (stated["tuning_seconds"] or 0.0)
    return f"{seconds:.3g} s" + (f" ({stated['device']})" if stated["device"] else "")


def render_board(board: Board) -> str:
    """Return the page of the board as HTML; it needs no other file and no network."""
    return template("board.html.j2").render(board=board, evidence=EVIDENCE)
