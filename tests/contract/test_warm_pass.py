"""A pass of noise before the first step: what it moves, for whom, and that it is drawn once."""

import pytest

torch = pytest.importorskip("torch")

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim.optimizer import register_optimizer_step_post_hook

from collateral.methods._shared.training import show_noise
from collateral.plugins.find import params_class
from collateral.training.checkpoints import Checkpoints
from collateral.training.run import Run

CPU = torch.device("cpu")
METHODS = ("ft", "ga", "rl", "ltd", "neighbor", "ideal")
QUICK = {"epochs": 2, "batch_size": 32}
WARM = {**QUICK, "warm_pass": True}


def unlearned(small, name: str, checkpoints=None, **changes) -> nn.Module:
    """Run the second phase on soft labels that say nothing."""
    method, params = small.method(name), params_class(name).model_validate(changes)
    soft = torch.full((len(method.task.forget), method.task.num_classes), 0.25)
    inputs = {"ltd": [{"soft_labels": soft}], "neighbor": [{"soft_labels": soft}], "ideal": [soft]}
    return method.unlearn(params, *inputs.get(name, []), checkpoints=checkpoints)[0]


def statistics(model: nn.Module) -> torch.Tensor:
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    return torch.cat([tensor for norm in norms for tensor in (norm.running_mean, norm.running_var)])


def weights(model: nn.Module) -> torch.Tensor:
    return torch.cat([weight.detach().flatten() for weight in model.parameters()])


def test_the_noise_is_standard_normal_after_normalisation(small):
    task, shown = small.task([0]), []
    show_noise(shown.append, task, Run(CPU, seed=3))
    height, width, channels = task.info.shape
    mean, std = (torch.tensor(of)[:, None, None] for of in (task.info.mean, task.info.std))
    generator = torch.Generator().manual_seed(3)
    expected = torch.randn(1, channels, height, width, generator=generator)
    torch.testing.assert_close((shown[0] - mean) / std, expected)


def test_the_statistics_go_a_tenth_of_the_way(small):
    norm, task = nn.BatchNorm2d(1), small.task([0])
    shown = []
    norm.register_forward_pre_hook(lambda _, inputs: shown.append(inputs[0]))
    show_noise(norm, task, Run(CPU, seed=3))
    assert norm.running_mean.item() == pytest.approx(0.1 * shown[0].mean().item())
    assert norm.running_var.item() == pytest.approx(0.9 + 0.1 * shown[0].var().item())


@pytest.mark.parametrize("name", METHODS)
def test_the_warm_pass_updates_batch_norm_statistics_and_no_weight(small, name):
    warmed = unlearned(small, name, epochs=0, warm_pass=True)
    assert torch.equal(weights(warmed), weights(small.base))
    assert not (statistics(warmed) == statistics(small.base)).any()


@pytest.mark.parametrize("name", METHODS)
def test_by_default_nothing_moves_before_the_first_step(small, name):
    assert torch.equal(statistics(unlearned(small, name, epochs=0)), statistics(small.base))


def test_frozen_statistics_stay(small):
    frozen = unlearned(small, "ft", epochs=0, warm_pass=True, batchnorm="frozen")
    assert torch.equal(statistics(frozen), statistics(small.base))


def test_a_run_that_was_killed_ends_in_the_same_bits(small, tmp_path):
    undisturbed, steps = unlearned(small, "ft", **WARM), []

    def kill(*_) -> None:
        steps.append(None)
        if len(steps) == 8:  # of ten: in the second epoch
            raise KeyboardInterrupt

    hook = register_optimizer_step_post_hook(kill)
    with pytest.raises(KeyboardInterrupt):
        unlearned(small, "ft", Checkpoints(tmp_path, "job", interval_seconds=0), **WARM)
    hook.remove()
    again = unlearned(small, "ft", Checkpoints(tmp_path, "job", interval_seconds=0), **WARM)
    assert torch.equal(weights(again), weights(undisturbed))
    assert torch.equal(statistics(again), statistics(undisturbed))
    assert not torch.equal(weights(again), weights(unlearned(small, "ft", **QUICK)))
