"""Parameters of selective synaptic dampening."""

from typing import Literal

from pydantic import Field

from collateral.contract.params import MethodParams, Whole
from collateral.contract.work import PER_SAMPLE, Sizes, Work, training_work


class Prepare(MethodParams):
    """Parameters of the importance of weights for the forget set and for all examples."""

    label = "SSD"
    paper = "https://arxiv.org/abs/2308.07707"
    touches = frozenset({"retain", "forget images", "forget labels"})

    loss: Literal["cross_entropy", "output_norm"] = Field(
        "cross_entropy",
        description="How the importance of a weight is measured. `cross_entropy`: mean squared "
        "gradient of the loss. `output_norm`: mean absolute gradient of the squared norm of the "
        "logits, which needs no labels.",
    )
    gradients: Literal["example", "batch"] = Field(
        "example",
        description="Which gradients importance averages over. `example`: the gradient of each "
        "example, as in the publication. `batch`: the gradient of the mean loss of each batch, as "
        "in the authors' code; its result depends on the batch size.",
    )
    batch_size: Whole = Field(
        128,
        ge=1,
        description="Number of examples per batch; used only with `gradients: batch`. Authors' "
        "code: 128, for whole classes 64.",
    )

    def prepare_work(self, sizes: Sizes) -> Work:
        """Return the amount of computation; gradients of forget examples are computed twice."""
        seen = sizes.examples + sizes.forget
        return training_work(seen * (PER_SAMPLE if self.gradients == "example" else 1))

    def prepared_numbers(self, sizes: Sizes) -> int:
        """Return the number of stored floats: two importances per weight."""
        return 2 * sizes.weights


class Params(Prepare):
    """SSD, selective synaptic dampening (Foster et al., AAAI 2024): shrink the weights that matter
    much more for the forget set than for all examples.

    No training. A weight whose importance to the forget set, I_f, is above alpha times that to all
    examples, I, is multiplied by min(dampening I / I_f, 1). I is n_f I_f / n at least, so that an
    alpha of n / n_f or more does nothing. For the label-free form (Foster et al., ICLR 2024, tiny
    papers) no values are published.

    Formula: w <- w min(dampening I / I_f, 1) where I_f > alpha I.
    """

    published = {
        "text": {"gradients": "example"},
        "authors' code": {"alpha": 10, "dampening": 1}
        | {"gradients": "batch", "batch_size": [128, 64]},
        "authors' code, ViT, subclass": {"alpha": 25},
        "authors' code, ViT, class": {"alpha": 5},
        "authors' code, ViT, random": {"alpha": 10},
        "authors' code, Pins": {"alpha": 50, "dampening": 0.1},
        "DEL": {"alpha": 1},
        "DEL, two classes": {"alpha": 16},
    }

    alpha: float = Field(
        10.0,
        ge=0,
        description="Threshold for dampening a weight: its importance for the forget set must "
        "exceed alpha times its importance for all examples. Authors' code: 10.",
    )
    dampening: float = Field(
        1.0,
        ge=0,
        description="Strength lambda of dampening: a selected weight is multiplied by min(lambda "
        "I / I_f, 1), where I is its importance for all examples and I_f that for the forget set. "
        "Authors' code: 1.",
    )
