"""What figures and charts of sweeps are drawn from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from collateral.findings._shared.compare import COUNTERPARTS
from collateral.findings._shared.prepared import Line, Panel, level_of
from collateral.findings.catalogue import metric_of
from collateral.findings.gap import TERMS
from collateral.findings.reported import METRICS as REPORTED
from collateral.findings.sweeps.noise import SEED
from collateral.results.plan import Sweep
from collateral.results.table import CellTable

# The numbers of each figure. One that no run reports, or that all values share (a teacher's, where
# the student is varied), is left out, and so is an empty figure.
KINDS = {
    "standard": TERMS["avg_gap"],
    "affected": TERMS["avg_gap_affected"],
    "teacher_accuracy": tuple(COUNTERPARTS),
    "teacher_epochs": ("teacher_epochs",),
}
RING = "The ring marks the value that the method has everywhere else."
LEVELS = (
    "Dashed: Retrain. {spread} Grey: where 95 % of other retrainings' means lie; a line inside it "
    f"is no finding. {RING} The panels' scales differ."
)
CAPTIONS = {
    "standard": f"UA, RA, TA and MIA over {{key}} of {{method}}. {LEVELS}",
    "affected": f"RA, UA and TA of the affected classes over {{key}} of {{method}}. {LEVELS}",
    "teacher_accuracy": "Accuracy on the forget set of the labels that {method} teaches, over "
    f"{{key}}, held against Retrain's UA. {LEVELS}",
    "teacher_epochs": "Epochs until {method}'s teacher was done, over {key}. {spread} " + RING,
}
NOISE = (
    "UA of students over that of their teachers, which differ in `teacher_seed` alone; a point a "
    "teacher and seed. On the thin line a student has its teacher's UA. Dashed: Retrain; grey: "
    "where 95 % of other retrainings' means lie."
)
DECADE = 10.0  # values that span more have a logarithmic axis


@dataclass(frozen=True)
class Swept:
    """One kind of numbers of a sweep; `cell` has the sweep's runs."""

    cell: CellTable
    sweep: Sweep
    kind: str
    metrics: Sequence[str]

    @property
    def name(self) -> str:
        """Of its figure and its chart."""
        return f"sweep-{self.sweep.name}-{self.kind}"

    def caption(self, spread: str) -> str:
        """Say what is drawn, and what is drawn around it."""
        words = {"key": self.sweep.key, "method": self.sweep.method, "spread": spread}
        return CAPTIONS[self.kind].format(**words)

    @cached_property
    def drawn(self) -> list[str]:
        """Its runs that are there and have a good seed, by the value that is varied."""
        known = [run for run in self.sweep.numbers if run in self.cell.kinds]
        good = [run for run in known if not self.cell.failed(run)]
        return sorted(good, key=lambda run: self.sweep.numbers[run])

    @property
    def is_log(self) -> bool:
        """Whether the values want a logarithmic axis."""
        x = [self.sweep.numbers[run] for run in self.drawn]
        return bool(x) and min(x) > 0 and max(x) >= DECADE * min(x)

    @property
    def panels(self) -> list[Panel]:
        """A panel a number."""
        return [self._panel(metric) for metric in self.metrics]

    def _panel(self, metric: str) -> Panel:
        shown, sweep = metric_of(metric), self.sweep
        x = [sweep.numbers[run] for run in self.drawn]
        values = [shown.factor * self.cell.values(run, metric) for run in self.drawn]
        own = sweep.numbers.get(sweep.own, np.nan)
        line = Line(sweep.own, sweep.method, x, values, own)
        is_rate = shown.unit == "%"
        held = level_of(self.cell, COUNTERPARTS.get(metric, metric)) if is_rate else ()
        return Panel(shown.heading, shown.unit, [line], *held)


def swept_in(cell: CellTable) -> Iterator[Swept]:
    """Yield what there is to draw of every sweep of numbers."""
    for sweep in cell.plan.sweeps:
        if sweep.key != SEED:  # a name rather than a number
            swept = cell.with_labels(sweep.rows)
            for kind, metrics in _metrics(swept, sweep).items():
                yield Swept(swept, sweep, kind, metrics)


def _metrics(cell: CellTable, sweep: Sweep) -> dict[str, list[str]]:
    """Return what there is to draw, by kind of figure; nothing for fewer than two numbers."""
    if len(sweep.numbers) < 2:
        return {}
    reported = [name for name in REPORTED if len(_known(cell, sweep, name)) > 1]
    # A parameter that changes nothing of what the method reports leaves its teacher as it is.
    if not any(np.ptp(_known(cell, sweep, name), axis=0).any() for name in reported):
        reported = []
    kept = {
        kind: [name for name in names if name not in REPORTED or name in reported]
        for kind, names in KINDS.items()
    }
    return {kind: names for kind, names in kept.items() if names}


def _known(cell: CellTable, sweep: Sweep, metric: str) -> NDArray[np.float64]:
    """Return the values (run, seed) of those runs that have them all."""
    values = [cell.values(run, metric) for run in sweep.numbers]
    return np.array([of_run for of_run in values if not np.isnan(of_run).any()])
