"""The schema of config.yaml; data sets, forget sets and methods define their own options."""

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    Field,
    StrictInt,
    field_validator,
    model_validator,
)

from collateral.config.weights import BaseParams, GivenParams, InitParams, Reference, RetrainParams
from collateral.contract.conventions import FIGURE_WIDTH, PAPER, Rule, Showing, count_share
from collateral.contract.messages import printable, quoted
from collateral.contract.params import (
    MOST,
    ClassLabel,
    Increasing,
    Seed,
    Share,
    Strict,
    UserPath,
    check_increasing,
)
from collateral.contract.probes import Probes
from collateral.contract.rows import Attack
from collateral.contract.verdicts import MarginKey

ALL = "all"  # keyword that stands for all methods, where a list of methods is expected


class RoundConfig(Strict):
    """One request of a sequence of deletion requests."""

    forget: dict[str, Any] = Field(description="`kind:` and the parameters of that kind.")


class CellConfig(Strict):
    """A forget set, or several in sequence, and parameters of methods for this cell only."""

    forget: dict[str, Any] = Field(
        default_factory=dict, description="`kind:` and the parameters of that kind."
    )
    rounds: tuple[RoundConfig, ...] = Field(
        (),
        min_length=2,
        max_length=99,
        description="In place of `forget`: deletion requests one after another. Each is a cell of "
        "its own (`stream-01`, `stream-02` ...), in which every method starts from its model of "
        "the round before.",
    )
    methods: dict[str, dict[str, Any]] = Field(
        default_factory=dict, description="Parameters of methods that differ in this cell."
    )

    @property
    def requests(self) -> list[dict[str, Any]]:
        """Forget sets of the cell: one, or one per round."""
        return [one.forget for one in self.rounds] or [self.forget]

    @property
    def places(self) -> list[tuple[str | int, ...]]:
        """Positions of the forget sets in the cell, as keys and list indices."""
        rounds = [("rounds", index, "forget") for index in range(len(self.rounds))]
        return [*rounds] or [("forget",)]

    @model_validator(mode="after")
    def _check_one_of_both(self) -> "CellConfig":
        if len(self.model_fields_set & {"forget", "rounds"}) != 1:
            raise ValueError("should have one of `forget` and `rounds`")
        return self


class SweepConfig(Strict):
    """A sweep: a method with one varied parameter; its runs are named `ltd@support=random`."""

    method: str = Field(description="A key of `methods:`.")
    vary: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(
        min_length=1, max_length=1, description="One parameter and its values."
    )
    along: dict[str, list[Any]] = Field(
        default_factory=dict,
        description="Parameters that must change with it, such as the rate that suits an "
        "optimizer: as many values, in the same order.",
    )
    cells: list[str] | None = Field(None, description="Names of cells; all if left out.")

    def combinations(self) -> list[dict[str, Any]]:
        """Return the values of each run: the value of `vary`, then the values of `along`."""
        lists = {**self.vary, **self.along}
        return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]

    @model_validator(mode="after")
    def _check_lengths(self) -> "SweepConfig":
        key, values = next(iter(self.vary.items()))
        for other, others in self.along.items():
            if other == key or len(others) != len(values):
                raise ValueError(
                    f"along.{printable(other)}: {quoted(others)}: should be another parameter with "
                    f"a value for each of the {len(values)} of {printable(key)}"
                )
        return self


class SupportSizeConfig(Strict):
    """LTD's teacher, trained with several support sizes (Dolgova and Stich, appendix C.5)."""

    method: str = Field("ltd", description="A key of `methods:`; LTD, or a configuration of it.")
    k: Increasing = Field(
        min_length=2,
        description="Sizes, increasing; one that is larger than the retained set is left out. "
        "Paper: from 100 to 2700 in equal steps.",
    )
    cells: list[str] | None = Field(None, description="Names of cells; all if left out.")


# Minimum number of shadow models trained on each example, and of those not trained on it.
# It is 3, because one model is attacked and a distribution is fitted to the other two.
LEAST_SHADOWS = 3
MOST_SHADOWS = 10_000  # every shadow model is a job, and the plan lists all jobs


class ShadowsConfig(Strict):
    """A pool of models, each trained on a random part of the train set, for attacks (U-LiRA)."""

    count: Annotated[StrictInt, Field(ge=2 * LEAST_SHADOWS, le=MOST_SHADOWS)] = Field(
        16, description="Models, each trained as the base is, once for all cells and methods."
    )
    share: float = Field(
        0.5,
        gt=0,
        lt=1,
        description="Share of the train set per model; share of models per example.",
    )
    attack: bool = Field(
        True,
        description="Let every method unlearn from every model. `false`: the pool only chooses "
        "forget sets of kind `memorised`.",
    )

    @model_validator(mode="after")
    def _check_both_sides(self) -> "ShadowsConfig":
        seeing = count_share(self.count, self.share)
        if not LEAST_SHADOWS <= seeing <= self.count - LEAST_SHADOWS:
            raise ValueError(
                f"share: {quoted(self.share)}: {seeing} of {self.count} models would see an "
                f"example and {self.count - seeing} would not; {LEAST_SHADOWS} at least should do "
                "either"
            )
        return self


class TrustConfig(Strict):
    """Which numbers can be trusted? Models of which it is known whether they saw the forget set."""

    references: Annotated[StrictInt, Field(ge=1, le=MOST)] = Field(
        20,
        description="The first so many seeds: their Retrains are the references of all other seeds "
        "in turn, and are never judged.",
    )
    shares: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = Field(
        (0.25, 0.5, 0.75),
        description="Doses: shares of the forget set on which further models are trained.",
    )
    dose_seeds: Annotated[StrictInt, Field(ge=1, le=MOST)] = Field(
        30, description="Number of judged seeds with doses."
    )
    damage: dict[str, Annotated[float, Field(gt=0)]] = Field(
        default_factory=dict,
        description="Noise of the damaged models by cell, in standard deviations of each weight "
        "tensor; 0.1 for a cell that is left out.",
    )
    recipes: dict[str, dict[str, Any]] = Field(
        default_factory=dict,
        description="Other recipes by name: training values that replace those of `base`.",
    )
    recipe_seeds: Annotated[StrictInt, Field(ge=1, le=MOST)] = Field(
        8, description="Number of judged seeds with other recipes."
    )
    edit_seeds: Annotated[StrictInt, Field(ge=1, le=MOST)] = Field(
        30, description="Number of judged seeds with int8 weights, and with one epoch more."
    )
    method_seeds: Annotated[StrictInt, Field(ge=1, le=MOST)] = Field(
        5, description="Number of judged seeds in which methods run."
    )
    least_models: Annotated[StrictInt, Field(ge=2, le=MOST)] = Field(
        20, description="Least number of models per group; with fewer, a number has no verdict."
    )
    least_auc: Share = Field(
        0.8, description="Least lower limit of the AUC (saw the forget set or not) of a number."
    )
    least_dose: Share = Field(0.75, description="Least share of pairs of doses in right order.")
    passes: Share = Field(
        0.65, description="An impostor is recognised if the lower limit of its AUC is at least so."
    )
    most_change: Annotated[float, Field(gt=0)] = Field(
        0.2, description="Largest change by an edit, relative to the distance of both groups."
    )
    flat: Annotated[float, Field(gt=0, lt=0.5)] = Field(
        0.1, description="A number of harm is blind to forgetting if its AUC is 0.5 up to this."
    )


class BenchmarkConfig(Strict):
    """A benchmark: one data set, one model, and all experiments with both."""

    data: dict[str, Any] = Field(description="`name:` of a data set, and its options.")
    model: str = Field(description="An architecture.")
    init: InitParams | None = Field(
        None, description="Weights that base and Retrain both start from: fine-tuning."
    )
    base: BaseParams = Field(default_factory=BaseParams)
    seeds: tuple[Seed, ...] = Field(min_length=1, description="One run of everything per seed.")
    classes: tuple[ClassLabel, ...] = Field(
        (), description="Classes of which a part is forgotten, by name or index."
    )
    fractions: tuple[Share, ...] = Field(
        (), description="How much of a class; classes x fractions."
    )
    order: Literal["first", "random"] = Field(
        "first", description="Forget the first share of a class (paper), or a random one."
    )
    cells: dict[str, CellConfig] = Field(
        default_factory=dict, description="Other forget sets, by name."
    )
    retrain: Reference = Field(
        default_factory=RetrainParams,
        description="The reference. Left out: trained here. `weights`: your own. `none`: there is "
        "no Retrain, runs are compared with the base, and what needs Retrain is left out. "
        "`printed`: as `none`, and means are also compared with printed means of Retrain.",
    )
    methods: dict[str, dict[str, Any]] = Field(
        default_factory=dict,
        description="Unlearning methods; a list of values is a grid to tune over. May be left "
        "out where `given` lists something.",
    )
    given: dict[str, GivenParams] = Field(
        default_factory=dict,
        description="Weights that somebody else unlearned, by a name of yours: runs beside those "
        "of methods.",
    )
    controls: tuple[str, ...] = Field(("original",), description="Runs to compare with.")
    sweeps: dict[str, SweepConfig] = Field(default_factory=dict, description="Ablations.")
    track: tuple[str, ...] | Literal["all"] = Field(
        (),
        description="Methods whose model is evaluated after every epoch, off the clock; `all`: "
        "every one, and the controls that train.",
    )
    attacks: tuple[Attack, ...] = Field(
        ("confidence", "correctness", "entropy", "modified_entropy"),
        description="Membership attacks, by what they look at; `confidence`, which tables call "
        "MIA, is always among them. `probability` (all classes) takes most of a cell's metrics.",
    )
    select: Rule = Field(
        PAPER,
        description="How tuning chooses without Retrain. paper: the lowest UA with affected RA > "
        "70 % and RA > 90 %. interval: the same, where few kept examples speak against the 70 %. "
        "teacher: of these, the UA nearest to that of a teacher trained once a cell, as the entry "
        "`ltd` says, or by LTD's defaults.",
    )
    support_size: SupportSizeConfig | None = Field(
        None, description="How large should LTD's support be? Teachers over a grid of sizes."
    )
    probe: Probes | None = Field(
        None,
        description="Further measurements of finished models: a list of relearn, residual, zrf, "
        "linear, cka, resurface, or each with its values.",
    )
    shadows: ShadowsConfig | None = Field(
        None,
        description="A pool of shadow models, from each of which every method unlearns: who is "
        "exposed to membership attacks, before and after?",
    )
    trust: TrustConfig | None = Field(
        None,
        description="Judge the numbers themselves: do they tell models that saw the forget set "
        "from models that did not? Only for benchmarks made for this question.",
    )
    margin: dict[MarginKey, Annotated[float, Field(gt=0, le=100)]] = Field(
        default_factory=dict,
        description="Differences from Retrain, in points, that count as equal: of UA (`ua`), MIA "
        "(`mia`), and of accuracy on the nearest retained (`near`), all other retained (`ra`) and "
        "all other test examples (`ta`), and of near minus far loss (`damage`). Left out: "
        "estimated from the spread of Retrain over seeds.",
    )
    looks: Annotated[
        tuple[Annotated[StrictInt, Field(ge=2, le=MOST)], ...], AfterValidator(check_increasing)
    ] = Field(
        (),
        description="Numbers of seeds, increasing, at which verdicts are looked at: declared "
        "before the first look, with `seeds` as many as one of them. Left out: one look.",
    )
    groups: tuple[str, ...] = Field(
        (),
        description="Metadata columns, such as `sex` and `site`: which of their groups lose "
        "accuracy against Retrain, near the forget set and far from it?",
    )
    positive: ClassLabel | None = Field(
        None,
        description="A class, such as a disease, by name or index: its false negatives and false "
        "positives are compared by group.",
    )
    pictures: Showing | None = Field(
        None,
        description="Pictures of examples in results, page and bundle. none: no picture. retained: "
        "no picture of a forgotten example, nor of a copy of one. all: every picture. Left out: "
        "`retained` for a forget set of the kind `files` or `where`, else `all`.",
    )

    @property
    def data_options(self) -> dict[str, Any]:
        """Options of the data set: all keys of `data:` except the name."""
        return {key: value for key, value in self.data.items() if key != "name"}

    @property
    def has_retrain(self) -> bool:
        """Whether there is a retrained model; False for `none` and for published numbers."""
        return self.retrain is not None and self.retrain.printed is None

    @property
    def printed(self) -> str:
        """Name of the publication whose numbers of Retrain are the reference; empty if none is."""
        return (self.retrain.printed or "") if self.retrain else ""

    @field_validator("methods", mode="before")
    @classmethod
    def _replace_empty_by_defaults(cls, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: {} if params is None else params for name, params in value.items()}
        return value

    @field_validator("seeds", "classes", "fractions", "controls", "track", "attacks", "groups")
    @classmethod
    def _check_unique(cls, value: tuple[Any, ...]) -> tuple[Any, ...]:
        if isinstance(value, tuple) and len(set(value)) < len(value):
            raise ValueError("a value stands there twice")
        return value

    @model_validator(mode="after")
    def _check_seeds_of_look(self) -> "BenchmarkConfig":
        if self.looks and len(self.seeds) not in self.looks:
            raise ValueError(
                f"looks: {quoted(list(self.looks))}: none of them is at {len(self.seeds)} seeds, "
                "as many as `seeds` lists"
            )
        return self


class FiguresConfig(Strict):
    """Size of the printed figures."""

    width: float = Field(
        FIGURE_WIDTH,
        ge=3,
        le=20,
        description="Text width of the paper, in inches; a full-width figure has this width. "
        "NeurIPS 5.5, two columns 6.75. Fonts have at least 6 points at every width.",
    )


class Config(Strict):
    """The whole config: benchmarks by name."""

    benchmarks: dict[str, BenchmarkConfig] = Field(min_length=1)
    plugins: tuple[UserPath, ...] = Field(
        (), description="Folders of your own methods/, models/, data/, forget/, findings/."
    )
    figures: FiguresConfig = Field(
        default_factory=FiguresConfig, description="Printed figures of all benchmarks."
    )
