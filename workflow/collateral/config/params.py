"""The base of every method's parameters: validated, documented, free of numpy and torch."""

from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field


class MethodParams(BaseModel):
    """Parameters of a method; the subclass's docstring cites the source and says what it does."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    label: ClassVar[str]  # as tables and figures print it
    touches: ClassVar[frozenset[str]]  # of "retain", "forget images", "forget labels"
    # Controls only: whether they are given Retrain's soft labels, and whose parameters they take.
    needs_retrain: ClassVar[bool] = False
    inherits: ClassVar[str | None] = None


class TrainedParams(MethodParams):
    """What all methods that train with an optimiser share."""

    lr: float = Field(ge=0, description="Learning rate, constant.")
    batch_size: int = Field(256, ge=1, description="Examples a step; public code: 256.")
    optimizer: Literal["sgd", "adam", "adamw"] = Field("sgd", description="Paper: SGD.")
    momentum: float = Field(0.9, ge=0, lt=1, description="Of SGD; paper, appendix B.2.")
    weight_decay: float = Field(1e-6, ge=0, description="Paper, appendix B.2.")
    augment: bool = Field(True, description="Augment as the data set does; public code: yes.")
    batchnorm: Literal["train", "frozen"] = Field(
        "train", description="`frozen` keeps the running statistics; published methods train them."
    )
