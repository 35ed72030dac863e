"""What is done with finished models once more, and with which values; off unless a config asks."""

from typing import Any

from pydantic import Field, model_validator

from collateral.contract.messages import quoted
from collateral.contract.params import Strict, Whole
from collateral.contract.work import (
    NO_WORK,
    Sizes,
    Work,
    count_cycled_images,
    inference_work,
    training_work,
)


class Relearn(Strict):
    """Fine-tune on one half of the forget set, and measure on the other after every step.

    ERASURE counts epochs back to the base's accuracy; nobody published steps, rate or batch size
    for a curve against Retrain's. With these, all curves on digits move and none ends at once.
    """

    steps: Whole = Field(20, ge=1, description="Steps of SGD; nobody published a number.")
    lr: float = Field(3e-4, ge=0, description="Learning rate; nobody published one.")
    batch_size: Whole = Field(32, ge=1, description="Examples a step; nobody published a number.")
    momentum: float = Field(0.9, ge=0, lt=1, description="Of SGD; nobody published one.")

    def work(self, forget: int) -> Work:
        """Return what one model takes."""
        learnt = forget - forget // 2
        stepped = training_work(count_cycled_images(self.steps, learnt, self.batch_size))
        return stepped + inference_work((self.steps + 1) * (forget // 2))


class Residual(Strict):
    """Is a forgotten image still known when noise is added to it (residual knowledge, RURK)?"""

    count: Whole = Field(100, ge=1, description="Perturbations of each image; RURK: 100.")
    std: float = Field(
        0.03, ge=0, description="Of the Gaussian noise, for pixels from 0 to 1; RURK: 0.03."
    )

    def work(self, forget: int) -> Work:
        """Return what one model takes."""
        return inference_work(self.count * forget)


class Zrf(Strict):
    """How near to an untrained net's is what is said of the forget set (Chundawat et al., 2023)?"""


class Probes(Strict):
    """What is asked of the models of a cell and seed."""

    relearn: Relearn | None = Field(None, description="Fine-tune on half of the forget set.")
    residual: Residual | None = Field(None, description="Add noise to the forget set.")
    zrf: Zrf | None = Field(None, description="Compare with an untrained net.")

    @model_validator(mode="before")
    @classmethod
    def _listed_or_empty_means_defaults(cls, given: Any) -> Any:
        known = ", ".join(cls.model_fields)
        if isinstance(given, list | tuple):
            if not all(isinstance(name, str) for name in given):
                raise ValueError(f"{quoted(given)}: should be some of {known}")
            if len({*given}) < len(given):
                raise ValueError("a value stands there twice")
            given = dict.fromkeys(given)
        if isinstance(given, dict):
            if not given:
                raise ValueError(f"nothing is asked: give some of {known}, or leave it out")
            return {name: {} if value is None else value for name, value in given.items()}
        return given

    @property
    def names(self) -> tuple[str, ...]:
        """What is asked for."""
        return tuple(name for name in type(self).model_fields if getattr(self, name) is not None)

    def asked(self) -> dict[str, Any]:
        """Return the requested probes with all their parameters, as JSON types."""
        return self.model_dump(mode="json", exclude_none=True)

    def work(self, sizes: Sizes, models: int) -> Work:
        """Return what so many models of a cell and seed take."""
        asked = (one for one in (self.relearn, self.residual) if one is not None)
        of_each = sum((one.work(sizes.forget) for one in asked), NO_WORK)
        return of_each * models + (inference_work(sizes.forget) if self.zrf else NO_WORK)
