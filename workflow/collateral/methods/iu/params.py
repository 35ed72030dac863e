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
        description="`public`: the public code's recursion, a rank-one correction of the plain "
        "gradient, which the paper used; `exact`: the inverse Fisher matrix that it stands for.",
    )
    samples: Whole = Field(
        1000,
        ge=1,
        description="N, retained examples in the Fisher matrix; public code: 1000. `exact` draws "
        "min(N, |D_r|); `public` divides by N and reads the first N + 2, as the public code does.",
    )
    damping: float = Field(
        1.0, gt=0, description="lambda of lambda I + Fisher; 1 is implied in the public code."
    )
    augment: bool = Field(
        False,
        description="Take all gradients of augmented views, where the data set has them, drawn "
        "anew for each pass, as the paper's code does; false: of clean images.",
    )

    def prepare_work(self, sizes: Sizes) -> Work:
        """Return the amount of computation of mean gradients and of per-example gradients."""
        single = min(self.samples, sizes.retain)
        return training_work(sizes.examples + PER_SAMPLE * single)


class Params(Prepare):
    """IU, influence unlearning (Koh and Liang, ICML 2017; Jia et al., NeurIPS 2023: WoodFisher).

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
        2.0, ge=0, description="Length of the step; paper tunes it in [1, 20], its public code: 2."
    )
    relative: bool = Field(
        False,
        description="v grows with n_f / n, the share that is forgotten. true: alpha is in units of "
        "0.005 / (n_f / n), so that it means the same for any share, and what it means in the "
        "paper where half of couch is forgotten (250 of 50,000).",
    )
