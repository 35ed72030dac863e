"""Train a new model on the retained examples and a random share of the forget set."""

import torch
from torch import nn

from collateral.contract.params import TrainingParams
from collateral.controls.trained.params import Params
from collateral.models._build import build_model
from collateral.training.examples import Task, move_to
from collateral.training.fit import fit
from collateral.training.run import Run


def unlearn(model: nn.Module, task: Task, params: Params, run: Run) -> nn.Module:
    """Return a new model; all runs of a seed have the same initial weights and the same order."""
    order = torch.randperm(len(task.forget), generator=run.generator)
    seen = order[: round(params.share * len(order))].sort().values
    examples = task.retain.joined(task.forget.select(move_to(seen, run.device)))
    with run.seeded():
        new = build_model(params.model, task.info)
    new = new.to(run.device).to(memory_format=torch.channels_last)
    training = TrainingParams.model_validate(
        params.model_dump(include=set(TrainingParams.model_fields))
    )
    return fit(new, examples, task.forget, training, run)
