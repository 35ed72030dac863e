"""Parameters of influence unlearning."""

from typing import Literal

from pydantic import Field

from collateral.contract.params import Between, MethodParams, Whole
from collateral.contract.work import PER_SAMPLE, Sizes, Work, training_work


class Prepare(MethodParams):
    """Parameters of the direction of the step, without `alpha`, the length of the step."""

    label = "IU"
    paper = "https://arxiv.org/abs/1703.04730"
    touches = frozenset({"retain", "forget images", "forget labels"})

    mode: Literal["public", "exact"] = Field(
        "public",
        description="How the inverse Fisher matrix is applied to the gradient. `public`: by the "
        "recursion of the public code, which the paper used; it only adds a rank-one correction "
        "to the gradient. `exact`: exactly, by solving a linear system.",
    )
    samples: Whole = Field(
        1000,
        ge=1,
        description="Number N of retained examples from which the Fisher matrix is computed. "
        "`exact` draws N at random. `public` reads the first N + 2 and divides by N, as the "
        "public code does. Public code: 1000.",
    )
    damping: float = Field(
        1.0,
        gt=0,
        description="Factor lambda of the identity matrix that is added to the Fisher matrix, so "
        "that it can be inverted. Public code: 1.",
    )
    augment: bool = Field(
        False,
        description="Whether gradients are computed on augmented images, drawn anew in each pass, "
        "as in the paper's code. false: on clean images.",
    )

    def prepare_work(self, sizes: Sizes) -> Work:
        """Return the amount of computation of mean gradients and of per-example gradients."""
        single = min(self.samples, sizes.retain)
        return training_work(sizes.examples + PER_SAMPLE * single)


class Params(Prepare):
    """IU, influence unlearning (Koh and Liang, ICML 2017; Jia et al., NeurIPS 2023): take one step
    that removes the estimated influence of the forget set on the weights.

    One step of length alpha along F^-1 v in eval mode, no epochs: v is the change of the mean loss
    gradient when D_f is removed, F the damped Fisher matrix of the retained examples.

    Formula: w = w0 + alpha (damping I + F)^-1 v, with v = (n_f / n) (grad CE(D_f) - grad CE(D_r))
    and F the mean of g g^T over retained examples.
    """

    published = {
        "paper": {"alpha": Between(1, 20)},
        "paper's code": {"alpha": 2, "mode": "public", "samples": 1000, "augment": True},
        "Unlearn-Saliency": {"alpha": 0.2, "mode": "public", "samples": 1000},
    }

    alpha: float = Field(
        2.0,
        ge=0,
        description="Length of the step: factor by which its direction is multiplied before it is "
        "added to the weights. Paper: tuned in [1, 20]; its public code: 2.",
    )
    relative: bool = Field(
        False,
        description="Whether alpha has the same effect for forget sets of every size. The step's "
        "direction grows with the forgotten share n_f / n; `true` divides it by this share and "
        "multiplies it by 0.005, the share in the paper if half of a class is forgotten (250 of "
        "50,000 images).",
    )
