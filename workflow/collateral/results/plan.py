"""The parts of the config that tables, figures and pages need (plan.json of a benchmark)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import asdict, field
from pathlib import Path
from typing import Any, Literal

from pydantic.dataclasses import dataclass

from collateral.contract.conventions import FIGURE_WIDTH, PAPER, Rule
from collateral.results import layout
from collateral.results.provenance import read_signed, write_signed

Sharing = Literal["matched", "shared"]


@dataclass(frozen=True)
class Sweep:
    """A sweep: runs of one method in a cell that differ in the value of one parameter."""

    name: str
    method: str  # display name of the method
    key: str  # name of the varied parameter
    own: str  # name of the run with the parameter value from the config's `methods`
    # Value of the varied parameter for each run, in the order of the config; None if it is tuned.
    values: Mapping[str, Any]
    labels: Mapping[str, str]  # display text of each value, by run

    @property
    def title(self) -> str:
        """Title of the sweep: method and parameter."""
        return f"{self.method}: {self.key}"

    @property
    def rows(self) -> dict[str, str]:
        """Label of each run's row in the table of the sweep, by run."""
        return {**self.labels, self.own: f"{self.labels[self.own]} (own)"}

    @property
    def numbers(self) -> dict[str, float]:
        """Value of the varied parameter for each run; empty if a value is not a number."""
        known = {run: value for run, value in self.values.items() if value is not None}
        return known if all(type(value) in (int, float) for value in known.values()) else {}


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrustPlan:
    """Models of which it is known what they saw, and the thresholds by which numbers are judged."""

    references: tuple[int, ...]  # for each seed, the seed whose Retrain is its reference
    # Seeds of the runs that have fewer seeds than the benchmark.
    seeds: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    doses: Mapping[str, float] = field(default_factory=dict)  # share of the forget set, by run
    # For each recipe, the run that saw the forget set and the run that did not.
    recipes: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    # For each edit, the edited base model and the edited Retrain.
    edits: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    thresholds: Mapping[str, float] = field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class CellNumbers:
    """What the numbers of a cell are computed from: its seeds and runs, and keys of the config."""

    seeds: tuple[int, ...]
    base_seeds: tuple[int, ...]  # seed of the base model of each seed
    methods: tuple[str, ...] = ()  # names of the runs of methods
    controls: tuple[str, ...] = ()  # names of the runs of controls
    tuned: tuple[str, ...] = ()  # methods that were tuned
    tracked: tuple[str, ...] = ()  # runs that are evaluated after every epoch
    support_sized: tuple[str, ...] = ()  # LTD run with several support sizes
    exposed: tuple[str, ...] = ()  # methods that are run on all shadow models
    attacks: tuple[str, ...] = ()  # names of the membership attacks
    probed: tuple[str, ...] = ()  # names of the probes
    margins: Mapping[str, float] = field(default_factory=dict)  # stated margins in points
    looks: tuple[int, ...] = ()  # numbers of seeds after which verdicts are made
    groups: tuple[str, ...] = ()  # columns whose values are groups of examples
    positive: tuple[str, ...] = ()  # class whose false negatives are counted
    rounds: tuple[str, ...] = ()  # cells of all rounds, if this cell is the last
    # Place of the cell in the atlas, with the keys each, part and emitter; empty for other cells.
    atlas: Mapping[str, str] = field(default_factory=dict)
    has_forecast: bool = False  # whether `collateral forecast` was run before the methods
    reference: str = layout.RETRAIN  # the run that all others are compared with
    trust: TrustPlan | None = None  # how the numbers themselves are judged, if they are

    def has_run(self, run: str, seed: int) -> bool:
        """Tell whether a run has a model for a seed."""
        return self.trust is None or seed in self.trust.seeds.get(run, self.seeds)

    def seed_of_model(self, run: str, place: int) -> int:
        """Return the seed of the model that is a run's, for the seed at a place in `seeds`."""
        if run == layout.ORIGINAL:
            return self.base_seeds[place]
        if run == self.reference and self.trust:
            return self.trust.references[place]
        return self.seeds[place]


@dataclass(frozen=True)
class CellPlan:
    """The config's entries for one cell."""

    sweeps: tuple[Sweep, ...] = ()
    # Parameter values of each trial in the order of trials.csv, by tuned method.
    trials: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)
    # Tracked runs in which the steps of an epoch depend on the total number of epochs.
    paced: tuple[str, ...] = ()
    # For each tuned method, the number of trials among which tuning selects.
    # After these trials, `trials` may have one more: that of the default parameters.
    candidates: Mapping[str, int] = field(default_factory=dict)
    # Names of the parameters that the config states, by run.
    given: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # What the numbers of the cell are computed from; None in a plan of an older version.
    numbers: CellNumbers | None = None

    def grid(self, run: str) -> list[dict[str, Any]]:
        """Return the trials that tuning can select; for a plan of an older version, all trials."""
        return self.trials[run][: self.candidates.get(run)]


@dataclass(frozen=True)
class About:
    """Name or purpose of a method, and its publication, from the method's parameter class."""

    text: str = ""  # full name of the method, or else its purpose
    citation: str = ""
    link: str = ""  # web address of the publication


@dataclass(frozen=True)
class BenchmarkPlan:
    """The config's entries for one benchmark."""

    labels: Mapping[str, str]  # display name of every run, in the config's order
    sharing: Sharing | None = None
    cells: Mapping[str, CellPlan] = field(default_factory=dict)
    # Name and options of the data set, without options that name or select files.
    data: Mapping[str, Any] = field(default_factory=dict)
    model: str = ""
    select: Rule = PAPER  # rule by which tuning selects parameter values
    reference: str = layout.RETRAIN  # run that others are compared with: Retrain or Original
    # Whether the user's base model may have been trained on test images.
    # (It may if the test set is drawn at random.) None if the user gives no base model.
    test_drawn: bool | None = None
    # If Retrain was not run: publication that reports the means of Retrain to compare with.
    # Otherwise empty.
    printed: str = ""
    # Description of the method of each run, by run.
    about: Mapping[str, About] = field(default_factory=dict)
    config: str = ""  # name of the config file, relative to the working folder if it is inside
    figure_width: float = FIGURE_WIDTH  # width of a full-width printed figure, in inches

    def save(self, path: Path) -> None:
        """Write plan.json with keys in the order of the config, which tables and colours follow."""
        write_signed(path, asdict(self), path.parent, sort_keys=False)

    @staticmethod
    def load(path: Path) -> BenchmarkPlan:
        """Read a file that `save` wrote."""
        # Plans that an older version wrote lack some keys; these keys get their default values.
        return BenchmarkPlan(**read_signed(path, path.parent))
