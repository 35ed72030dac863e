"""Parameters of RUM."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from collateral.contract.messages import quoted, unknown_name
from collateral.contract.params import MethodParams
from collateral.contract.work import NO_WORK, Sizes, Work, inference_work
from collateral.plugins.find import METHOD, params_class, prepare_class

USES = "uses"  # key of a part that names its method
PARTS = ("low", "mid", "high")  # keys of the parts


def read_part(part: Mapping[str, Any]) -> tuple[str, MethodParams]:
    """Return name and parameters of the method of a part; raise if they are wrong."""
    name = part.get(USES)
    if name not in METHOD.names():
        raise ValueError(f"{USES}: {METHOD.no_such(name)}")
    params = params_class(name)
    given = {key: value for key, value in part.items() if key != USES}
    for key in given.keys() - params.model_fields.keys():
        raise ValueError(unknown_name(f"parameter of {name}", key, params.model_fields))
    try:
        return name, params.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        keys = "".join(f"{key}: " for key in first["loc"])
        raise ValueError(f"{keys}{quoted(first['input'])}: {first['msg']}") from None


class Params(MethodParams):
    """RUM, refined unlearning (Zhao et al., NeurIPS 2024): a method for each part of a request.

    The forget set is split by a score into a low, a middle and a high part. Each is unlearned by a
    method of its own, the low part first, from the model of the part before. Parts that are still
    to come are retained examples until then. The score of the paper is memorisation, which is known
    for a forget set of the kind `memorised`; for others it is the base model's loss. In a config, a
    part is a mapping: `high: {uses: salun, lr: 0.01}`.

    Formula: D_f = D_1, D_2, D_3 by score; w_j = M_j(w_(j-1); D_j, D without D_1 ... D_j).
    """

    label = "RUM"
    paper = "https://arxiv.org/abs/2406.01257"
    touches = frozenset({"retain", "forget images", "forget labels"})
    published = {
        "RUM": {"mid": {USES: "ft"}, "high": {USES: "salun"}},
        "RUM's README, NegGrad+": {
            "low": {USES: "neggrad_plus", "lr": 0.01, "epochs": 5, "alpha": 0.99},
            "mid": {USES: "neggrad_plus", "lr": 0.01, "epochs": 5, "alpha": 0.97},
            "high": {USES: "neggrad_plus", "lr": 1e-3, "epochs": 10, "alpha": 0.97},
        },
    }

    score: Literal["loss", "similarity", "memorisation"] = Field(
        "loss",
        description="Score of a forget example. The forget set is sorted by `score` and split into "
        "a low, a middle and a high part, which are forgotten one after another. `loss`: loss of "
        "the base model on the example. `similarity`: minus the cosine similarity of its features "
        "to those of the nearest retained example. `memorisation`: by shadow models, as in RUM; "
        "needs a forget set of the kind `memorised`, else the run is skipped.",
    )
    low_share: Annotated[float, Field(ge=0, le=1)] = Field(
        1 / 3,
        description="Share of the forget set that belongs to the low part. The forget set is "
        "sorted by `score` and split into a low, a middle and a high part, which are forgotten "
        "one after another. RUM's authors: a third.",
    )
    high_share: Annotated[float, Field(ge=0, le=1)] = Field(
        1 / 3,
        description="Share of the forget set that belongs to the high part. The forget set is "
        "sorted by `score` and split into a low, a middle and a high part, which are forgotten "
        "one after another. RUM's authors: a third.",
    )
    low: dict[str, Any] | None = Field(
        None,
        validate_default=True,
        description="Unlearning method for the low part of the forget set: its name as `uses`, and "
        "its parameters, e.g. {uses: ft, lr: 0.01}. The forget set is sorted by `score` and split "
        "into a low, a middle and a high part, which are forgotten one after another. null: "
        "nothing is done for this part. RUM's authors: null.",
    )
    mid: dict[str, Any] | None = Field(
        {USES: "ft"},
        validate_default=True,
        description="Unlearning method for the middle part of the forget set: its name as `uses`, "
        "and its parameters, e.g. {uses: ft, lr: 0.01}. The forget set is sorted by `score` and "
        "split into a low, a middle and a high part, which are forgotten one after another. null: "
        "nothing is done for this part. RUM's authors: FT.",
    )
    high: dict[str, Any] | None = Field(
        {USES: "salun"},
        validate_default=True,
        description="Unlearning method for the high part of the forget set: its name as `uses`, "
        "and its parameters, e.g. {uses: salun, lr: 0.01}. The forget set is sorted by `score` "
        "and split into a low, a middle and a high part, which are forgotten one after another. "
        "null: nothing is done for this part. RUM's authors: SalUn.",
    )
    rehearse: bool = Field(
        True,
        description="The forget set is sorted by `score` and split into a low, a middle and a high "
        "part, which are forgotten one after another. `true`: while a part is "
        "forgotten, the parts that follow count as retained examples. RUM's authors: "
        "true; in their variant for embeddings: false.",
    )

    @field_validator(*PARTS, mode="before")
    @classmethod
    def _complete(cls, part: Any) -> Any:
        """Add the default values of the method of a part, so that the record has all of them."""
        if not isinstance(part, dict):
            return part
        name, params = read_part(part)
        return {USES: name, **params.model_dump(mode="json")}

    @model_validator(mode="after")
    def _check_shares(self) -> "Params":
        if self.low_share + self.high_share > 1:
            total = f"{self.low_share:g} + {self.high_share:g}"
            raise ValueError(f"low_share, high_share: {total}: should be at most 1 together")
        return self

    def __hash__(self) -> int:
        """Hash the parameters as text, because mappings have no hash."""
        return hash(self.model_dump_json())

    @property
    def is_paced(self) -> bool:
        """True, because the epochs of several methods follow one another."""
        return True

    @property
    def by_part(self) -> dict[str, tuple[str, MethodParams]]:
        """Name and parameters of the method of each part for which something is done."""
        given = {key: getattr(self, key) for key in PARTS}
        return {key: read_part(part) for key, part in given.items() if part is not None}

    @property
    def parts(self) -> Sequence[tuple[str, MethodParams]]:
        """The methods of the parts."""
        return [*self.by_part.values()]

    def count_epochs(self, sizes: Sizes) -> int:
        """Return the number of epochs of all methods together."""
        return sum(params.count_epochs(part) for _, params, part in self._sizes_by_part(sizes))

    def unlearn_work(self, sizes: Sizes) -> Work:
        """Return the computation of the score, and of both phases of all methods."""
        seen = {"similarity": sizes.examples, "loss": sizes.forget, "memorisation": 0}
        total = NO_WORK + inference_work(seen[self.score])
        for name, params, part in self._sizes_by_part(sizes):
            total += params.unlearn_work(part)
            if prepare_class(name):
                total += params.prepare_work(part)
        return total

    def _sizes_by_part(self, sizes: Sizes) -> list[tuple[str, MethodParams, Sizes]]:
        """Return the method of each part that has one, with the sizes that it works on."""
        low, high = (round(share * sizes.forget) for share in (self.low_share, self.high_share))
        counts = {"low": low, "mid": max(0, sizes.forget - low - high), "high": high}
        later = {"low": sizes.forget - low, "mid": high, "high": 0}
        return [
            (*method, replace(sizes, retain=sizes.retain + rehearsed, forget=counts[key]))
            for key, method in self.by_part.items()
            for rehearsed in [later[key] if self.rehearse else 0]
            if counts[key]
        ]
