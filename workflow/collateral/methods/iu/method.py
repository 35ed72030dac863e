"""IU: one step along F^-1 v: the inverse Fisher matrix times the gradient of removing data.

v = (n_f / n) (mean gradient of D_f - mean gradient of D_r): ascent on the forget set, descent on
the retained set. Public code: `Wfisher` in OPTML-Group/Unlearn-Saliency (a6e89fd). Deviations:
images are clean unless `augment` is set, as in the paper's code; retained examples are in data-set
order, while that code puts those of the affected class last.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from collateral.methods._shared.gradients import by_parameter, summed_gradient, trainable
from collateral.methods.iu.fisher import run_woodfisher, solve
from collateral.methods.iu.params import Params, Prepare
from collateral.training.examples import Examples, Task
from collateral.training.run import Run

# n_f / n in the paper if half of the class couch is forgotten: 250 of 50,000 examples. With
# `relative`, alpha has the same effect for any n_f / n as it has for this one.
PAPER_SHARE = 0.005

# Function that returns the clean or augmented images of examples.
View = Callable[[Examples], Examples]


def prepare(model: nn.Module, task: Task, params: Prepare, run: Run) -> dict[str, Tensor]:
    """Return the direction of the step; it does not depend on alpha."""
    view = _augment(run) if params.augment else _keep_clean
    v = removal_gradient(model, task, view)
    if params.mode == "exact":
        drawn = torch.randperm(len(task.retain), generator=run.generator)[: params.samples]
        direction = solve(model, view(task.retain.select(drawn)), v, params.damping)
    else:
        first = torch.arange(min(params.samples + 2, len(task.retain)))
        direction = run_woodfisher(model, view(task.retain.select(first)), v, params)
    # Relative change of the step that the Fisher matrix causes; 0 means a plain gradient step.
    plain = v / params.damping
    run.report(curvature_correction=((direction - plain).norm() / plain.norm()).item())
    return by_parameter(model, direction)


def _keep_clean(examples: Examples) -> Examples:
    return examples


def _augment(run: Run) -> View:
    """Return a function that augments each example once per pass, as data loaders do."""
    return lambda examples: examples.viewed(run.generator)


def removal_gradient(model: nn.Module, task: Task, view: View = _keep_clean) -> Tensor:
    """Return v, the gradient of removing the forget set, from one pass over all examples."""
    forget_gradient = summed_gradient(model, view(task.forget)) / len(task.forget)
    retain_gradient = summed_gradient(model, view(task.retain)) / len(task.retain)
    return forget_share(task) * (forget_gradient - retain_gradient)


def forget_share(task: Task) -> float:
    """Return n_f / n, the fraction of the train set that is forgotten."""
    return len(task.forget) / (len(task.forget) + len(task.retain))


@torch.no_grad()
def unlearn(
    model: nn.Module, task: Task, params: Params, run: Run, prepared: Mapping[str, Tensor]
) -> nn.Module:
    """Return `model`, to whose weights a multiple of the prepared direction was added in place."""
    # The direction is linear in v, so the factor n_f / n can be divided out here.
    unit = PAPER_SHARE / forget_share(task) if params.relative else 1.0
    for name, weight in trainable(model).items():
        weight.add_(prepared[name].to(weight), alpha=params.alpha * unit)
    return model
