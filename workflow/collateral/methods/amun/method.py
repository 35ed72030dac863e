"""AMUN: train on adversarial forget images, labelled with the wrong classes the model predicts.

As in the public code, the adversarial images stay floats and are not augmented: they lie just
beyond the decision boundary, and rounding to 256 levels alone moves some of them back (15 of 62 on
a subset of CIFAR-100).
"""

from torch import Tensor, nn
from torch.nn import functional as F

from collateral.methods._shared.training import mix_batches
from collateral.methods.amun.attack import attack
from collateral.methods.amun.params import Params, Prepare
from collateral.training.examples import Task, Tensors
from collateral.training.optimizers import descend, set_learning_rate, start_training
from collateral.training.run import Run


def prepare(model: nn.Module, task: Task, params: Prepare, run: Run) -> dict[str, Tensor]:
    """Return the result of `attack`; report mean radius and number of predictions not flipped."""
    with run.phase("attack"):
        flips = attack(model, task.forget, params)
    run.report(
        amun_unflipped=len(task.forget) - len(flips["index"]),
        amun_epsilon_mean=flips["epsilon"].mean().item(),
    )
    return flips


def unlearn(model: nn.Module, task: Task, params: Params, run: Run, prepared: Tensors) -> nn.Module:
    """Return `model`, updated in place."""
    adversarial = prepared["images"].to(run.device), prepared["labels"].to(run.device)
    clean = task.retain.joined(task.forget) if params.variant == "standard" else task.retain
    optimizer = start_training(model, params)
    for epoch in run.epochs(params.epochs, model, optimizer):
        if params.lr_decay_epochs:
            set_learning_rate(optimizer, params.lr * 0.1 ** (epoch // params.lr_decay_epochs))
        for x, y in mix_batches(clean, adversarial, params, run.generator):
            loss = F.cross_entropy(model(x), y)
            descend(optimizer, loss)
        run.log(epoch=epoch, loss=loss.item())
    return model
