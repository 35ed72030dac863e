"""Probes: optional tests of finished models, and their parameters."""

from typing import Any

from pydantic import Field, model_validator

from collateral.contract.params import Increasing, Strict, Whole
from collateral.contract.work import NO_WORK, Sizes, Work, inference_work, training_work

PARTS = ("forget", "near", "far", "test")  # groups of examples on which CKA is computed


class Relearn(Strict):
    """Fine-tune on one half of the forget set; measure accuracy on the other half at every step.

    ERASURE counts the epochs until the base model's accuracy is reached again. Nobody published
    steps, learning rate or batch size for a comparison with Retrain. With these defaults, the
    accuracy of every model on digits changes over several steps.
    """

    steps: Whole = Field(
        20,
        ge=1,
        description="Number of SGD steps in the probe `relearn`, which trains a finished model on "
        "one half of the forget set. No published value.",
    )
    lr: float = Field(
        3e-4,
        ge=0,
        description="Learning rate of SGD in the probe `relearn`, which trains a finished model on "
        "one half of the forget set. No published value.",
    )
    batch_size: Whole = Field(
        32,
        ge=1,
        description="Number of forget examples per SGD step in the probe `relearn`, which trains a "
        "finished model on one half of the forget set. No published value.",
    )
    momentum: float = Field(
        0.9,
        ge=0,
        lt=1,
        description="Momentum of SGD in the probe `relearn`, which trains a finished model on one "
        "half of the forget set. No published value.",
    )

    def work(self, sizes: Sizes) -> Work:
        """Return the estimated amount of computation of this probe on one model."""
        learnt = sizes.forget - sizes.forget // 2
        stepped = training_work(self.steps * min(self.batch_size, learnt))
        return stepped + inference_work((self.steps + 1) * (sizes.forget // 2))


class Residual(Strict):
    """Does a model still recognise a forgotten image with added noise (residual knowledge)?"""

    count: Whole = Field(
        100,
        ge=1,
        description="Number of noisy copies of each forgotten image that the unlearned model "
        "classifies in the probe `residual`. RURK, which proposed this test: 100.",
    )
    std: float = Field(
        0.03,
        ge=0,
        description="Standard deviation of the Gaussian noise that the probe `residual` adds to "
        "forgotten images, for pixel values from 0 to 1. RURK, the method that proposed this "
        "test: 0.03.",
    )

    def work(self, sizes: Sizes) -> Work:
        """Return the estimated amount of computation of this probe on one model."""
        return inference_work(self.count * sizes.forget)


class Zrf(Strict):
    """Are predictions on the forget set like an untrained network's (Chundawat et al., 2023)?"""


class Linear(Strict):
    """Fit a new linear head on retained examples' features; measure accuracy on the forget set."""

    examples: Whole = Field(
        5000,
        ge=1,
        description="The probe `linear` fits a new linear head on the features of retained "
        "examples. This is the maximum number of these examples, drawn in the same "
        "share from each class. Our choice: 5000.",
    )
    c: float = Field(
        1.0,
        gt=0,
        description="Inverse strength of the L2 penalty of the logistic regression that the probe "
        "`linear` fits on features of retained examples: a smaller value is a stronger penalty. "
        "Default: 1, as in scikit-learn.",
    )

    def work(self, sizes: Sizes) -> Work:
        """Return the estimated amount of computation of this probe on one model."""
        return inference_work(min(self.examples, sizes.retain) + 2 * sizes.forget)


class Cka(Strict):
    """Compare a model's features with Retrain's and the base model's (debiased linear CKA)."""

    examples: Whole = Field(
        200,
        ge=4,
        description="Maximum number of examples per group on which the probe `cka` compares "
        "features. The groups: forgotten examples, retained examples near the forget set, "
        "retained examples far from it, and test examples. Ours: 200.",
    )

    def work(self, sizes: Sizes) -> Work:
        """Return the estimated amount of computation of this probe on one model."""
        return inference_work(3 * self.examples + min(self.examples, sizes.forget))


class Resurface(Strict):
    """Fine-tune on retained examples: does accuracy on the forget set rise (arXiv:2505.22310)?

    That paper takes 3,910 steps of Adam at 1e-5; the defaults here are the optimiser and rate of
    FT.
    """

    steps: Increasing = Field(
        (10, 20, 50, 100, 200),
        min_length=1,
        description="Numbers of SGD steps, in increasing order, after which accuracies are "
        "measured in the probe `resurface`, which fine-tunes a finished model on retained "
        "examples. Ours: 10 to 200 steps.",
    )
    lr: float = Field(
        0.01,
        ge=0,
        description="Learning rate of SGD in the probe `resurface`, which fine-tunes a finished "
        "model on retained examples. Default: that of the method FT.",
    )
    batch_size: Whole = Field(
        128,
        ge=1,
        description="Number of retained examples per SGD step in the probe `resurface`, which "
        "fine-tunes a finished model on retained examples. Ours: 128.",
    )
    momentum: float = Field(
        0.9,
        ge=0,
        lt=1,
        description="Momentum of SGD in the probe `resurface`, which fine-tunes a finished model "
        "on retained examples. Default: that of the method FT.",
    )
    weight_decay: float = Field(
        5e-4,
        ge=0,
        description="Weight decay of SGD in the probe `resurface`, which fine-tunes a finished "
        "model on retained examples. Ours: 5e-4.",
    )
    examples: Whole = Field(
        1000,
        ge=1,
        description="Maximum number of examples per group on which accuracy is measured in the "
        "probe `resurface`, which fine-tunes a finished model on retained examples. The groups: "
        "retained examples near the forget set, and test examples. Accuracy on the forget set is "
        "measured on all its examples. Ours: 1000.",
    )

    def work(self, sizes: Sizes) -> Work:
        """Return the estimated amount of computation of this probe on one model."""
        measured = sizes.forget + 2 * self.examples
        stepped = training_work(self.steps[-1] * min(self.batch_size, sizes.retain))
        return stepped + inference_work((len(self.steps) + 1) * measured)


class Patch(Strict):
    """Evaluate on the test images with the square of `data.patched` (corrective unlearning)."""


class Probes(Strict):
    """Probes that the config requests for every model; None for a probe that is not requested."""

    relearn: Relearn | None = Field(
        None,
        description="Probe relearning: fine-tune on one half of the forget set, and measure "
        "accuracy on the other half after each step.",
    )
    residual: Residual | None = Field(
        None,
        description="Residual knowledge: add noise to the forgotten images, and measure how often "
        "the model still classifies them correctly.",
    )
    zrf: Zrf | None = Field(
        None,
        description="Probe zero retrain forgetting (ZRF): measure how similar the model's "
        "predictions on the forget set are to those of an untrained network.",
    )
    linear: Linear | None = Field(
        None,
        description="Linear probe: fit a new linear head on features of retained examples, and "
        "measure its accuracy on the forget set.",
    )
    cka: Cka | None = Field(
        None,
        description="Feature similarity: compare the model's features with those of Retrain and of "
        "the base model by CKA (centred kernel alignment).",
    )
    resurface: Resurface | None = Field(
        None,
        description="Resurfacing: fine-tune on retained examples, and measure whether accuracy on "
        "the forget set rises.",
    )
    patch: Patch | None = Field(
        None,
        description="Backdoor: add the white square of `data.patched` to all test images. Measure "
        "the accuracy on them, and the share of images of other classes that are classified as "
        "the class of the backdoor.",
    )

    @model_validator(mode="before")
    @classmethod
    def _listed_or_empty_means_defaults(cls, given: Any) -> Any:
        if isinstance(given, list | tuple):
            if len({*map(str, given)}) < len(given):
                raise ValueError("a value stands there twice")
            given = {str(name): None for name in given}
        if given == {}:
            known = ", ".join(cls.model_fields)
            raise ValueError(f"nothing is asked: give some of {known}, or leave it out")
        if not isinstance(given, dict):
            return given
        return {name: {} if value is None else value for name, value in given.items()}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the requested probes."""
        return tuple(name for name in type(self).model_fields if getattr(self, name) is not None)

    def requested(self) -> dict[str, Any]:
        """Return the requested probes with all their parameters, as JSON types."""
        return self.model_dump(mode="json", exclude_none=True)

    @property
    def needs_near(self) -> bool:
        """Whether a probe must know which examples are near the forget set."""
        return self.cka is not None or self.resurface is not None

    def work(self, sizes: Sizes, models: int) -> Work:
        """Return the estimated amount of computation of all requested probes on `models` models."""
        probes = (self.relearn, self.residual, self.linear, self.cka, self.resurface)
        of_each = sum((one.work(sizes) for one in probes if one is not None), NO_WORK)
        return of_each * models + (inference_work(sizes.forget) if self.zrf else NO_WORK)
