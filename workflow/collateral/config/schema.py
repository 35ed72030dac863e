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

    forget: dict[str, Any] = Field(
        description="Forget set of this deletion request: its `kind`, such as `class_part`, and "
        "the parameters of that kind."
    )


class CellConfig(Strict):
    """A forget set, or several in sequence, and parameters of methods for this cell only."""

    forget: dict[str, Any] = Field(
        default_factory=dict,
        description="Forget set of the cell: its `kind`, such as `class_part`, and the parameters "
        "of that kind.",
    )
    rounds: tuple[RoundConfig, ...] = Field(
        (),
        min_length=2,
        max_length=99,
        description="Deletion requests in sequence, in place of `forget`; each is written as "
        "`forget` is. Each request has results of its own (`stream-01`, `stream-02` "
        "...), and a method starts from the model that it made for the request before.",
    )
    methods: dict[str, dict[str, Any]] = Field(
        default_factory=dict,
        description="Parameters that methods have in this cell only, by name of the method, e.g. "
        "{ltd: {k: 4500}}. All other parameters are those in the `methods` of the benchmark.",
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


CLASS = "class"  # value of `atlas.each` that stands for the classes of the data set


class AtlasConfig(Strict):
    """One cell per class, or per group, of the data set: who hurts whom (the atlas of damage)."""

    each: str = Field(
        CLASS,
        description="What is forgotten in turn: `class`, or the name of a metadata column, whose "
        "values are groups of examples (a hospital, a person). Each class or group has a cell of "
        "its own.",
    )
    fractions: tuple[Share, ...] = Field(
        (1.0,),
        min_length=1,
        description="Shares of each class to forget, e.g. [0.5, 1.0]. Each share gives its own "
        "atlas. Groups are always forgotten as a whole.",
    )
    only: tuple[ClassLabel, ...] = Field(
        (),
        description="Classes, or values of the column, that are forgotten. The test of similarity "
        "needs five of them, a forecast six. Default: all.",
    )


class SweepConfig(Strict):
    """A sweep: a method with one varied parameter; its runs are named `ltd@support=random`."""

    method: str = Field(description="Method whose parameter is varied: a key of `methods`.")
    vary: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(
        min_length=1,
        max_length=1,
        description="The parameter to vary and the list of its values, e.g. {k: [100, 500]}. Each "
        "value gives one run.",
    )
    along: dict[str, list[Any]] = Field(
        default_factory=dict,
        description="Other parameters that change together with the parameter in `vary`, e.g. {lr: "
        "[0.1, 0.001]}, if each optimiser needs its own learning rate. Each has as many values as "
        "`vary`, in the same order.",
    )
    cells: list[str] | None = Field(
        None,
        description="Names of the cells (forget sets) for which the sweep is run. Default: all "
        "cells.",
    )

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

    method: str = Field(
        "ltd",
        description="Key in `methods` of LTD, or of a second configuration of LTD: the method "
        "whose teacher is trained.",
    )
    k: Increasing = Field(
        min_length=2,
        description="Sizes of LTD's support (number of retained examples on which the teacher is "
        "trained) to compare, in increasing order. Sizes larger than the retained set are left "
        "out. Paper: from 100 to 2700 in equal steps.",
    )
    cells: list[str] | None = Field(
        None,
        description="Names of the cells (forget sets) for which LTD's teacher is trained with "
        "every support size in `k`. Default: all cells.",
    )


# Minimum number of shadow models trained on each example, and of those not trained on it.
# It is 3, because one model is attacked and a distribution is fitted to the other two.
LEAST_SHADOWS = 3
MOST_SHADOWS = 10_000  # every shadow model is a job, and the plan lists all jobs


class ShadowsConfig(Strict):
    """A pool of models, each trained on a random part of the train set, for attacks (U-LiRA)."""

    count: Annotated[StrictInt, Field(ge=2 * LEAST_SHADOWS, le=MOST_SHADOWS)] = Field(
        16,
        description="Number of shadow models. Each is trained with the recipe of the base model, "
        "once for all cells and methods.",
    )
    share: float = Field(
        0.5,
        gt=0,
        lt=1,
        description="Share of the shadow models whose train set contains a given example, the same "
        "for every example. With 0.5, each shadow model is trained on about half of the train "
        "set.",
    )
    attack: bool = Field(
        True,
        description="Whether every method also unlearns from every shadow model, as the attack "
        "U-LiRA requires. false: the shadow models only choose forget sets of kind `memorised`.",
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
    """Which metrics can be trusted? Models of which it is known whether they saw the forget set."""

    references: Annotated[StrictInt, Field(ge=1, le=MOST)] = Field(
        20,
        description="Number of seeds, the first ones of `seeds`, whose Retrain serves as the "
        "reference: each other seed is compared with one of them, in turn. The other seeds are the "
        "judged ones; their models decide about a metric.",
    )
    shares: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = Field(
        (0.25, 0.5, 0.75),
        description="Doses: shares of the forget set. For each share, a model is trained on the "
        "retained examples and on this share of the forget set.",
    )
    dose_seeds: Annotated[StrictInt, Field(ge=1, le=MOST)] = Field(
        30,
        description="Number of seeds for which one model is trained for each of the `shares` of "
        "the forget set. They are taken from the seeds after the first `references` "
        "ones.",
    )
    damage: dict[str, Annotated[float, Field(gt=0)]] = Field(
        default_factory=dict,
        description="Standard deviation of the noise that is added to the weights of damaged "
        "models, for each cell by name, as a multiple of the standard deviation of each weight "
        "tensor. Cells that are not named: 0.1.",
    )
    recipes: dict[str, dict[str, Any]] = Field(
        default_factory=dict,
        description="Other training recipes, under names that you choose, e.g. {short: {epochs: "
        "10}}. Each has the training parameters that differ from those in `base`. Default: none.",
    )
    recipe_seeds: Annotated[StrictInt, Field(ge=1, le=MOST)] = Field(
        8, description="Number of judged seeds for which models are trained with each of `recipes`."
    )
    edit_seeds: Annotated[StrictInt, Field(ge=0, le=MOST)] = Field(
        30,
        description="Number of judged seeds (see `references`) whose models are also edited in "
        "two ways that forget nothing: weights rounded to int8, and one more epoch of training. "
        "A metric should not change by such an edit.",
    )
    impostors: bool = Field(
        True,
        description="Whether to make impostors, i.e. models that only seem to have forgotten: "
        "silent ones (their outputs on the forget set are changed, but they still know "
        "it) and damaged ones (noise in the weights). With `impostors: false`, "
        "`shares: []` and `edit_seeds: 0`, metrics get an AUC of base models against "
        "Retrains, but no verdict.",
    )
    method_seeds: Annotated[StrictInt, Field(ge=1, le=MOST)] = Field(
        5,
        description="Number of judged seeds (see `references`) with which every unlearning method "
        "is run.",
    )
    least_models: Annotated[StrictInt, Field(ge=2, le=MOST)] = Field(
        20,
        description="Minimum number of seeds for a verdict. With fewer, no metric is called "
        "trusted or not trusted.",
    )
    least_auc: Share = Field(
        0.8,
        description="Minimum AUC with which a trusted metric tells models that saw the forget set "
        "from models that did not. The lower limit of the confidence interval of the AUC counts.",
    )
    least_dose: Share = Field(
        0.75,
        description="Minimum share (0 to 1) of pairs of models, trained on different `shares` of "
        "the forget set, that a metric must order correctly to be trusted.",
    )
    passes: Share = Field(
        0.65,
        description="Minimum AUC with which a trusted metric tells impostors (see `impostors`) "
        "from models that did not see the forget set. The lower limit of the confidence interval "
        "of the AUC counts.",
    )
    most_change: Annotated[float, Field(gt=0)] = Field(
        0.2,
        description="Maximum median change of a trusted metric by an edit that forgets nothing "
        "(see `edit_seeds`). Unit: the distance between the metric's median over models that saw "
        "the forget set and its median over models that did not.",
    )
    flat: Annotated[float, Field(gt=0, lt=0.5)] = Field(
        0.1,
        description="Maximum distance from 0.5 of the AUC of a metric that measures harm. Such a "
        "metric should not tell models that saw the forget set from models that did not, and an "
        "AUC of 0.5 means that it does not.",
    )


class BenchmarkConfig(Strict):
    """A benchmark: one data set, one model, and all experiments with both."""

    data: dict[str, Any] = Field(
        description="Data set of the benchmark: its `name`, such as `cifar100` or `folder`, and "
        "the options of this data set."
    )
    model: str = Field(description="Name of the architecture of all models, such as resnet20.")
    init: InitParams | None = Field(
        None,
        description="Initial weights from which the base model and Retrain are both fine-tuned. "
        "Default: random weights.",
    )
    base: BaseParams = Field(
        default_factory=BaseParams,
        description="Training of the base model and of Retrain, and whether all seeds share one "
        "base model.",
    )
    seeds: tuple[Seed, ...] = Field(
        min_length=1,
        description="Random seeds. Retraining and unlearning are repeated with each seed; tuning "
        "uses the first one.",
    )
    freeze: tuple[str, ...] = Field(
        (),
        description="Parts of the model that never train, neither in `base` nor in a method, such "
        "as [head]. They are names of modules or of weights, as in the model or as in the file of "
        "its weights. Batch norm in these parts keeps its running statistics. Default: all parts "
        "train.",
    )
    classes: tuple[ClassLabel, ...] = Field(
        (),
        description="Classes of which a part is forgotten, by name or index. Each class is "
        "combined with each share in `fractions`.",
    )
    fractions: tuple[Share, ...] = Field(
        (),
        description="Shares of a class to forget, e.g. [0.5, 0.9]. Each share of each class is "
        "one forget set (a cell).",
    )
    order: Literal["first", "random"] = Field(
        "first",
        description="Which train examples of each class in `classes` are forgotten. `first`: the "
        "first ones in data-set order (paper). `random`: a random choice.",
    )
    atlas: AtlasConfig | None = Field(
        None,
        description="Forget every class, or every group, in turn: one cell each. The page then "
        "shows who hurts whom, and `collateral forecast` can learn from it. Used in addition to "
        "`classes` and `cells`. Default: none.",
    )
    cells: dict[str, CellConfig] = Field(
        default_factory=dict,
        description="Further forget sets, by name. They are used in addition to `classes` and "
        "`fractions`.",
    )
    retrain: Reference = Field(
        default_factory=RetrainParams,
        description="Source of Retrain, the reference model that never saw the forget set. "
        "Default: it is trained here. `weights`: your own retrained model. `none`: no Retrain; "
        "runs are compared with the base model, and results that need Retrain are left out. "
        "`printed`: as `none`, but means are also compared with the means that a publication "
        "prints for Retrain.",
    )
    methods: dict[str, dict[str, Any]] = Field(
        default_factory=dict,
        description="Unlearning methods to run, by name. Each has a mapping of the parameters that "
        "differ from its defaults, e.g. {ft: {lr: [0.01, 0.1]}}; {} if none differs. If a "
        "parameter has a list of values, tuning selects one of them. `methods` may be left out "
        "only if `given` has an entry.",
    )
    given: dict[str, GivenParams] = Field(
        default_factory=dict,
        description="Models that another program has unlearned, under names that you choose. They "
        "are evaluated like the models of `methods`.",
    )
    controls: tuple[str, ...] = Field(
        ("original",),
        description="Further runs, with which methods are compared. `original`: the unchanged base "
        "model. `ideal`: LTD that learns from Retrain in place of a local teacher.",
    )
    sweeps: dict[str, SweepConfig] = Field(
        default_factory=dict,
        description="Sweeps (ablations), each under a name that you choose. A sweep runs one "
        "method several times, each time with another value of one parameter. Default: no sweeps.",
    )
    track: tuple[str, ...] | Literal["all"] = Field(
        (),
        description="Names of the methods whose model is also evaluated after every epoch. The "
        "time of these evaluations does not count as unlearning time. `all`: every method, and "
        "the control `ideal` if it is run. Default: no method.",
    )
    attacks: tuple[Attack, ...] = Field(
        ("confidence", "correctness", "entropy", "modified_entropy"),
        description="Membership inference attacks, named by the quantity that they use. "
        "`confidence` (probability of the true class; shown as MIA) is always computed. "
        "`probability` uses the probabilities of all classes, and takes most of the time needed "
        "to compute the metrics of a cell.",
    )
    select: Rule = Field(
        PAPER,
        description="How tuning selects one trial of a method, without Retrain. `paper`: trials "
        "are accepted if their accuracy is above 90 % on all retained examples, and above 70 % on "
        "the retained examples of the forgotten classes. The accepted trial with the lowest "
        "accuracy on the forget set is selected. `interval`: as `paper`, but instead of the "
        "second accuracy, the upper limit of its one-sided 95 % confidence interval must be above "
        "70 %. `teacher`: trials are accepted as by `paper`; the one is selected whose accuracy "
        "on the forget set is nearest to that of LTD's teacher. This teacher is trained once per "
        "cell, with the parameters in `methods: ltd`, or with LTD's defaults.",
    )
    support_size: SupportSizeConfig | None = Field(
        None,
        description="Experiment on the support of LTD, i.e. the retained examples that train its "
        "teacher: one teacher is trained for each size in the list `k` below. Default: "
        "the experiment is not run.",
    )
    probe: Probes | None = Field(
        None,
        description="Further tests of finished models: a list of relearn, residual, zrf, linear, "
        "cka, resurface and patch, or a block that gives each test its parameters. Default: none.",
    )
    shadows: ShadowsConfig | None = Field(
        None,
        description="Pool of shadow models, i.e. models that are trained on random parts of the "
        "train set. The membership attack U-LiRA and forget sets of kind `memorised` need them. "
        "Default: no shadow models.",
    )
    trust: TrustConfig | None = Field(
        None,
        description="Tests the metrics: does each one tell models that saw the forget set from "
        "models that did not? Only for benchmarks that are made for this test.",
    )
    margin: dict[MarginKey, Annotated[float, Field(gt=0, le=100)]] = Field(
        default_factory=dict,
        description="Equivalence margins in percentage points: differences from Retrain up to "
        "this size count as equal. Keys: `ua` (accuracy on the forget set), `mia` (membership "
        "score), `near` and `near_test` (accuracy on the retained and test examples nearest to "
        "the forget set), `ra` and `ta` (accuracy on all other retained and test examples), "
        "`damage` (loss of accuracy near the forget set minus loss far from it). Default: "
        "estimated from the spread of Retrain over seeds.",
    )
    looks: Annotated[
        tuple[Annotated[StrictInt, Field(ge=2, le=MOST)], ...], AfterValidator(check_increasing)
    ] = Field(
        (),
        description="Interim analyses: numbers of seeds after which verdicts are computed, e.g. "
        "[5, 10]. State them before the first run. The length of `seeds` must be one of them. "
        "Default: one analysis, at the end.",
    )
    groups: tuple[str, ...] = Field(
        (),
        description="Metadata columns that define groups of examples, e.g. [sex, site]. The "
        "accuracy of each group is compared with Retrain, near the forget set and far from it. "
        "Default: no groups.",
    )
    positive: ClassLabel | None = Field(
        None,
        description="Class, such as a disease, whose false negatives and false positives are "
        "compared between the `groups`; by name or index. Default: none.",
    )
    pictures: Showing | None = Field(
        None,
        description="Which images are stored in results and shown on pages. `none`: no images. "
        "`retained`: no forgotten image, and no copy of one. `all`: all images. Default: "
        "`retained` for forget sets of kind `files` or `where`, else `all`.",
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

    @field_validator(
        "seeds", "classes", "fractions", "controls", "track", "attacks", "groups", "freeze"
    )
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
        description="Width of a full-width printed figure, in inches; set it to the text width of "
        "your paper. NeurIPS: 5.5; papers with two columns: 6.75. Text has at least 6 points at "
        "every width.",
    )


class Config(Strict):
    """The whole config: benchmarks by name."""

    benchmarks: dict[str, BenchmarkConfig] = Field(
        min_length=1,
        description="Benchmarks, by name. Each has one data set, one model, and all experiments "
        "with both.",
    )
    plugins: tuple[UserPath, ...] = Field(
        (),
        description="Folders with your own plug-ins. Each has subfolders such as methods/, "
        "models/, data/, forget/ or findings/, or is itself a folder of methods.",
    )
    figures: FiguresConfig = Field(
        default_factory=FiguresConfig,
        description="Settings of the printed figures of all benchmarks. The only one is `width`, "
        "the width of a figure in inches.",
    )
