"""`k: auto`: choose the size of the support by one step of gradient ascent on the forget set.

The step is taken in eval mode on a copy of the base model; the base model's predictions replace
the labels of the forget set. Its learning rate is the first of a doubling series that costs the
most similar bin of retained examples MIN_DROP of its accuracy. The support then consists of the
consecutive bins, from the most similar one down, that lose at least HALF of the largest loss. The
first bin always belongs to it, and an empty bin does not end the sequence.
"""

import copy
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from collateral.methods._shared.gradients import by_parameter, summed_gradient
from collateral.training.examples import Examples
from collateral.training.inference import infer

NUM_BINS = 10  # number of bins of equal width, by similarity to the forget set
# The first learning rate is chosen that lowers the accuracy by at least this much.
# The accuracy is that on the retained examples most similar to the forget set (the last bin).
MIN_DROP = 0.05
# Every further bin of the support loses at least this fraction of the largest accuracy drop.
HALF = 0.5
RATES = [1e-6 * 2**i for i in range(31)]  # learning rates to try, each twice the one before


@dataclass(frozen=True)
class AscentStep:
    """The learning rate of the gradient ascent step, and the accuracy drop per similarity bin."""

    rate: float
    edges: Tensor  # (NUM_BINS + 1,), edges of the similarity bins
    counts: Tensor  # (NUM_BINS,), number of retained examples per bin
    drop: Tensor  # (NUM_BINS,), accuracy lost per bin; NaN in an empty bin

    @property
    def least(self) -> float:
        """Minimum similarity of the support: the lower edge of the support's least similar bin."""
        is_hurt = (self.drop > 0) & (self.drop >= HALF * self.drop.nan_to_num().max())
        in_run = (is_hurt | (self.counts == 0)).flip(0).cumprod(0).flip(0).bool()
        in_run[-1] = True
        return self.edges[:-1][in_run][0].item()


def take_ascent_step(
    base: nn.Module, retain: Examples, forget: Examples, similarity: Tensor, was_right: Tensor
) -> AscentStep:
    """Take a gradient ascent step on the forget set; measure the accuracy drop in similarity bins.

    The labels of `forget` are the base model's predictions. `similarity` and `was_right` (whether
    the base model is correct) have one value per retained example.
    """
    edges = torch.linspace(similarity.min().item(), similarity.max().item(), NUM_BINS + 1)
    # A similarity equal to an edge belongs to the bin above the edge.
    bins = torch.bucketize(similarity, edges[1:-1], right=True)
    top = (bins == NUM_BINS - 1).nonzero().squeeze(1)
    nearest = retain.select(top.to(retain.rows.device))
    slope = by_parameter(base, summed_gradient(base, forget) / len(forget)).values()
    stepped = copy.deepcopy(base)
    for rate in RATES:
        _step(stepped, base, slope, rate)
        # To save time, learning rates are tried only on retained examples like the forget set.
        lost = was_right[top].double() - _is_right(stepped, nearest).double()
        if lost.mean() >= MIN_DROP:
            break
    lost = was_right.double() - _is_right(stepped, retain).double()
    counts = torch.bincount(bins, minlength=NUM_BINS)
    drop = torch.bincount(bins, weights=lost, minlength=NUM_BINS) / counts
    return AscentStep(rate, edges, counts, drop)


def _step(model: nn.Module, base: nn.Module, slope: Iterable[Tensor], rate: float) -> None:
    """Set the weights of `model` to those of `base` plus `rate` times the gradient."""
    with torch.no_grad():
        for weight, start, g in zip(model.parameters(), base.parameters(), slope, strict=True):
            weight.copy_(start + rate * g)


def _is_right(model: nn.Module, examples: Examples) -> Tensor:
    return infer(model, examples)[1].argmax(1) == examples.labels.cpu()
