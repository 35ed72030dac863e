"""The base of every method's parameters: validated, documented, free of numpy and torch."""

from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from collateral.config.work import Sizes, Work, training


class MethodParams(BaseModel):
    """Parameters of a method; the subclass's docstring cites the source and says what it does."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    label: ClassVar[str]  # as tables and figures print it
    touches: ClassVar[frozenset[str]]  # of "retain", "forget images", "forget labels"
    # Controls only: whether they are given Retrain's soft labels, and whose parameters they take.
    needs_retrain: ClassVar[bool] = False
    inherits: ClassVar[str | None] = None

    def prepare_work(self, sizes: Sizes) -> Work:
        """Return what `prepare` computes; unless told, a pass over all that the method touches.

        Time limits and `collateral estimate` follow from this and from `unlearn_work`.
        """
        return training(self._touched(sizes))

    def prepared_numbers(self, sizes: Sizes) -> int:
        """Return how many float32 numbers `prepare` keeps; unless told, one for each weight."""
        return sizes.weights

    def unlearn_work(self, sizes: Sizes) -> Work:
        """Return what `unlearn` computes; unless told, its epochs over all that it touches."""
        return training(getattr(self, "epochs", 0) * self._touched(sizes))

    def _touched(self, sizes: Sizes) -> int:
        retain = sizes.retain if "retain" in self.touches else 0
        return retain + (sizes.forget if "forget images" in self.touches else 0)


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

    def images_in(self, examples: int, epochs: int, steps: int | None) -> int:
        """Return how many images there are in so many steps or, where they are None, epochs."""
        if steps is None:
            return epochs * examples
        return steps * min(self.batch_size, examples)
