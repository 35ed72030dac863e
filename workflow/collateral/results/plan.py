"""What the presenting stages must know of the config: plan.json, one a benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from collateral.contract.selection import PAPER, Rule
from collateral.results import layout
from collateral.results.chain import read_sealed, write_sealed

Sharing = Literal["matched", "shared"]


@dataclass(frozen=True)
class Sweep:
    """A method with one parameter varied, in a cell."""

    name: str
    method: str  # as tables print it
    key: str  # the parameter
    own: str  # the run with the method's own value
    values: Mapping[str, Any]  # by run, in the config's order; None: tuning chooses it
    labels: Mapping[str, str]  # of the values

    @property
    def title(self) -> str:
        """What is varied, in words."""
        return f"{self.method}: {self.key}"

    @property
    def rows(self) -> dict[str, str]:
        """What the rows of the table are called, by run."""
        return {**self.labels, self.own: f"{self.labels[self.own]} (own)"}

    @property
    def numbers(self) -> dict[str, float]:
        """The values by run, to draw a line through; empty where one is not a number."""
        known = {run: value for run, value in self.values.items() if value is not None}
        return known if all(type(value) in (int, float) for value in known.values()) else {}


@dataclass(frozen=True)
class CellPlan:
    """What the config says of a cell."""

    sweeps: tuple[Sweep, ...] = ()
    # By tuned method: the values of each trial, as trials.csv numbers them.
    trials: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)
    # Tracked runs of which an epoch depends on how many there are: none is a shorter run.
    paced: tuple[str, ...] = ()
    # By tuned method: how many of the trials could be chosen; those after them are its defaults.
    candidates: Mapping[str, int] = field(default_factory=dict)

    def grid(self, run: str) -> list[dict[str, Any]]:
        """Return the trials that could be chosen; of a plan that did not count them, all."""
        return self.trials[run][: self.candidates.get(run)]


@dataclass(frozen=True)
class BenchmarkPlan:
    """What the config says of a benchmark."""

    labels: Mapping[str, str]  # display name of every run, in the config's order
    sharing: Sharing | None = None
    cells: Mapping[str, CellPlan] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)  # its name, and what cuts it
    model: str = ""
    select: Rule = PAPER  # the rule by which tuning chooses
    reference: str = layout.RETRAIN  # the run that others are held against; else Original
    # Whether the test set was drawn from images that the user's own base may have been trained on;
    # None where the base is trained here.
    test_drawn: bool | None = None

    def save(self, path: Path) -> None:
        """Write `path`; not sorted: rows of tables and colours of figures follow the config."""
        write_sealed(path, asdict(self), path.parent, sort_keys=False)

    @staticmethod
    def load(path: Path) -> BenchmarkPlan:
        """Read what `save` wrote."""
        content = read_sealed(path, path.parent)
        cells = {
            name: CellPlan(
                tuple(Sweep(**sweep) for sweep in cell["sweeps"]),
                cell["trials"],
                tuple(cell.get("paced", ())),
                cell.get("candidates", {}),
            )
            for name, cell in content["cells"].items()
        }
        # Plans from before these were told have none of them.
        told = content.get("data", {}), content.get("model", ""), content.get("select", PAPER)
        reference = content.get("reference", layout.RETRAIN)
        drawn = content.get("test_drawn")
        return BenchmarkPlan(content["labels"], content["sharing"], cells, *told, reference, drawn)
