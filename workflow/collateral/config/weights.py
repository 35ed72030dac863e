"""Models in the config, trained here or by the user: `init`, `base`, `retrain`, `given`."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from collateral.contract.messages import quoted
from collateral.contract.params import Strict, TrainingParams, UserPath

SEED, CELL = "{seed}", "{cell}"  # wildcards in file names: one file per seed, one file per cell
NONE = "none"  # value of the key `retrain` for a benchmark without Retrain
SUFFIXES = (".safetensors", ".pt", ".pth", ".pth.tar")  # endings of the names of weight files
RENAME = "Beginnings of names in the file, and what they are in the model."


def _check_suffix(file: Path) -> Path:
    if not file.name.endswith(SUFFIXES):
        raise ValueError(f"should end with one of {', '.join(SUFFIXES)}")
    return file


WeightsPath = Annotated[UserPath, AfterValidator(_check_suffix)]


class InitParams(Strict):
    """Weights from which the training of base and retrained models starts."""

    weights: WeightsPath = Field(description="A .safetensors file, or a .pt with a state dict.")
    rename: dict[str, str] = Field(default_factory=dict, description=RENAME)


class BaseParams(TrainingParams):
    """Training of base and retrained models, and whether all seeds share one base model."""

    weights: WeightsPath | None = Field(
        None,
        description="A model of your own that is trained already and is the base: a .safetensors "
        "file, or a .pt with a state dict. The recipe beside it is Retrain's. {seed} in its name: "
        "one for each seed.",
    )
    rename: dict[str, str] = Field(default_factory=dict, description=RENAME)

    sharing: Literal["matched", "shared"] = Field(
        "matched",
        description="matched: every seed has a base of its own. shared: the first seed's base "
        "serves all (the paper's protocol). With `weights`, the file's name tells.",
    )

    @model_validator(mode="before")
    @classmethod
    def _set_sharing(cls, given: Any) -> Any:
        if not isinstance(given, dict) or given.get("weights") is None:
            return given
        implied = "matched" if SEED in str(given["weights"]) else "shared"
        if given.get("sharing", implied) != implied:
            found = f"sharing: {quoted(given['sharing'])}"
            raise ValueError(f"{found}: by the name of the weights, it is {implied}; leave it out")
        return {**given, "sharing": implied}


OWN_FILE = "A .safetensors file, or a .pt with a state dict; {seed} and {cell} in its name: "


class GivenParams(Strict):
    """Weights that another program unlearned; they are evaluated like those of a method."""

    weights: WeightsPath = Field(description=f"{OWN_FILE}one for each.")
    rename: dict[str, str] = Field(default_factory=dict, description=RENAME)
    rte: float | None = Field(
        None, ge=0, description="Seconds that unlearning took, as you state them; empty if unknown."
    )


class RetrainParams(Strict):
    """Retrain: trained like the base model, or the user's weights, or published numbers."""

    weights: WeightsPath | None = Field(
        None, description=f"Your own retrained model. {OWN_FILE}one for each."
    )
    rename: dict[str, str] = Field(default_factory=dict, description=RENAME)
    rte: float | None = Field(
        None, ge=0, description="Seconds that its training took, as you state them."
    )
    printed: str | None = Field(
        None,
        description="Nothing is retrained: Retrain's means are those that a publication prints "
        "(`paper`). Everything that needs more than means is as with `none`.",
    )

    @model_validator(mode="after")
    def _check_weights(self) -> "RetrainParams":
        if self.weights is not None and self.printed is not None:
            raise ValueError("`weights` and `printed` are two references; leave one of them out")
        return self


def _none_or_params(value: Any) -> Any:
    """Return None for the word `none`; refuse an empty value, because it is ambiguous."""
    if isinstance(value, str) and value == NONE:
        return None
    if not isinstance(value, dict | RetrainParams):
        raise ValueError(
            f"should be {NONE}, or a mapping with `weights` or `printed`, or be left out"
        )
    return value


def _none_for_null(schema: dict[str, Any]) -> None:
    """Replace null by `none` in the JSON schema, because users write `none`."""
    schema["anyOf"] = [
        {"const": NONE} if one == {"type": "null"} else one for one in schema["anyOf"]
    ]


Reference = Annotated[
    RetrainParams | None,
    BeforeValidator(_none_or_params),
    Field(json_schema_extra=_none_for_null),
]
