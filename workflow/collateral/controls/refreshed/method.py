"""One more epoch on retained examples, at the last learning rate of the base model's training."""

from torch import Tensor, nn

from collateral.contract.params import TrainingParams
from collateral.controls.refreshed.params import Params
from collateral.training.examples import Task
from collateral.training.fit import fit
from collateral.training.optimizers import cosine_rate
from collateral.training.run import Run


def unlearn(
    model: nn.Module, task: Task, params: Params, run: Run, retrained: Tensor | None = None
) -> nn.Module:
    """Return `model`, trained for one epoch."""
    is_cosine = params.schedule == "cosine"
    factor = cosine_rate(params.epochs - 1, params.epochs) if is_cosine else 1.0
    values = params.model_dump(include=set(TrainingParams.model_fields))
    once = {"epochs": 1, "lr": params.lr * factor, "schedule": "constant", "warmup": 0}
    once |= {"checkpoint": "last"}
    training = TrainingParams.model_validate({**values, **once})
    return fit(model, task.retain, task.forget, training, run)
