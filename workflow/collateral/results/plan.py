"""The parts of the config that tables, figures and pages need (plan.json of a benchmark)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from collateral.contract.selection import PAPER, Rule
from collateral.results import layout
from collateral.results.provenance import read_signed, write_signed

Sharing = Literal["matched", "shared"]


@dataclass(frozen=True)
class Sweep:
    """A method with one parameter varied, in a cell."""

    name: str
    method: str  # as tables print it
    key: str  # the parameter
    own: str  # the run with the method's own value
    values: Mapping[str, Any]  # by run, in the config's order; None: tuning selects it
    labels: Mapping[str, str]  # of the values

    @property
    def title(self) -> str:
        """Title of the sweep: method and parameter."""
        return f"{self.method}: {self.key}"

    @property
    def rows(self) -> dict[str, str]:
        """Labels of the table's rows, by run."""
        return {**self.labels, self.own: f"{self.labels[self.own]} (own)"}

    @property
    def numbers(self) -> dict[str, float]:
        """Values by run for a line plot; empty if a value is not a number."""
        known = {run: value for run, value in self.values.items() if value is not None}
        return known if all(type(value) in (int, float) for value in known.values()) else {}


@dataclass(frozen=True)
class CellPlan:
    """The config's entries for one cell."""

    sweeps: tuple[Sweep, ...] = ()
    # By tuned method: the values of each trial, as trials.csv numbers them.
    trials: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)
    # Tracked runs whose schedule depends on the number of epochs: an epoch of them is not
    # equal to a shorter run.
    paced: tuple[str, ...] = ()
    # By tuned method: the number of trials that can be selected; later ones are the defaults.
    candidates: Mapping[str, int] = field(default_factory=dict)

    def grid(self, run: str) -> list[dict[str, Any]]:
        """Return the trials that tuning can select; all trials in plans of older versions."""
        return self.trials[run][: self.candidates.get(run)]


@dataclass(frozen=True)
class BenchmarkPlan:
    """The config's entries for one benchmark."""

    labels: Mapping[str, str]  # display name of every run, in the config's order
    sharing: Sharing | None = None
    cells: Mapping[str, CellPlan] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)  # name, and keys that choose a subset
    model: str = ""
    select: Rule = PAPER  # the rule by which tuning selects values
    reference: str = layout.RETRAIN  # the run that others are compared with: Retrain or Original
    # Whether the test set was drawn from images that the user's own base may have been trained on;
    # None where the base is trained here.
    test_drawn: bool | None = None

    def save(self, path: Path) -> None:
        """Write `path` in the order of the config, which tables and colours of figures follow."""
        write_signed(path, asdict(self), path.parent, sort_keys=False)

    @staticmethod
    def load(path: Path) -> BenchmarkPlan:
        """Read a file of `save`."""
        content = read_signed(path, path.parent)
        cells = {
            name: CellPlan(
                tuple(Sweep(**sweep) for sweep in cell["sweeps"]),
                cell["trials"],
                tuple(cell.get("paced", ())),
                cell.get("candidates", {}),
            )
            for name, cell in content["cells"].items()
        }
        # Plans of older versions have none of these.
        about = content.get("data", {}), content.get("model", ""), content.get("select", PAPER)
        reference = content.get("reference", layout.RETRAIN)
        drawn = content.get("test_drawn")
        return BenchmarkPlan(content["labels"], content["sharing"], cells, *about, reference, drawn)
