"""Models in the config, trained here or by the user: `init`, `base`, `retrain`, `given`."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from collateral.contract.messages import quoted
from collateral.contract.params import Strict, TrainingParams, UserPath

SEED, CELL = "{seed}", "{cell}"  # wildcards in file names: one file per seed, one file per cell
NONE = "none"  # value of the key `retrain` for a benchmark without Retrain
SUFFIXES = (".safetensors", ".pt", ".pth", ".pth.tar")  # endings of the names of weight files
RENAME = (
    "Renaming of weights, if names in the file differ from the model's: prefixes in the file, and "
    'the prefixes that replace them, e.g. {"module.": ""}. Default: no renaming.'
)


def _check_suffix(file: Path) -> Path:
    if not file.name.endswith(SUFFIXES):
        raise ValueError(f"should end with one of {', '.join(SUFFIXES)}")
    return file


WeightsPath = Annotated[UserPath, AfterValidator(_check_suffix)]


class InitParams(Strict):
    """Weights from which the training of base and retrained models starts."""

    weights: WeightsPath = Field(
        description="File with the initial weights: .safetensors, or .pt or .pth with a state dict."
    )
    rename: dict[str, str] = Field(default_factory=dict, description=RENAME)


class BaseParams(TrainingParams):
    """Training of base and retrained models, and whether all seeds share one base model."""

    weights: WeightsPath | None = Field(
        None,
        description="Weights of your trained model, used as the base model. The other keys of "
        "`base` then only train Retrain. If the file name contains {seed}, there is one file per "
        "seed.",
    )
    rename: dict[str, str] = Field(default_factory=dict, description=RENAME)

    sharing: Literal["matched", "shared"] = Field(
        "matched",
        description="`matched`: one base model per seed. `shared`: one base model, that of the "
        "first seed, for all seeds (the paper's protocol). With `weights`, this follows from the "
        "file name: `matched` if it contains {seed}, else `shared`.",
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


OWN_FILE = (
    "A .safetensors file, or a .pt or .pth file with a state dict. If its name contains {seed} or "
    "{cell}, there is one file per seed or per cell."
)


class GivenParams(Strict):
    """Weights that another program unlearned; they are evaluated like those of a method."""

    weights: WeightsPath = Field(description=f"Weights that another program unlearned. {OWN_FILE}")
    rename: dict[str, str] = Field(default_factory=dict, description=RENAME)
    rte: float | None = Field(
        None,
        ge=0,
        description="Time that unlearning took, in seconds, as measured by you. Default: unknown.",
    )


class RetrainParams(Strict):
    """Retrain: trained like the base model, or the user's weights, or published numbers."""

    weights: WeightsPath | None = Field(
        None, description=f"Weights of your own retrained model. {OWN_FILE}"
    )
    rename: dict[str, str] = Field(default_factory=dict, description=RENAME)
    rte: float | None = Field(
        None,
        ge=0,
        description="Time that retraining took, in seconds, as measured by you. Default: unknown.",
    )
    printed: str | None = Field(
        None,
        description="Publication whose printed means of Retrain are the reference; `paper` is the "
        "only one. Nothing is retrained, and results that need more than means are left out, as "
        "with `none`.",
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
