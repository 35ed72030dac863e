"""Speed of IU's products with 256 per-example gradients against a loop over single examples.

    python benchmarks/bench_iu.py [--quick]

ResNet-20 on random images, one thread each. The plain loop is the public recursion over a
DataLoader with batches of one. A second comparison: five values of alpha against one value.
"""

import copy
from functools import partial

import torch
from measure import Row, in_turns, ratio, run
from plain.data import INFO, loader, plain_images, random_examples
from plain.methods import recursion
from torch import nn

from collateral.methods._shared.gradients import per_sample_gradients
from collateral.methods.iu.method import prepare, run_woodfisher, unlearn
from collateral.methods.iu.params import Params
from collateral.methods.iu.products import BATCH_SIZE, _backward
from collateral.models._build import build_model
from collateral.models._classifier import eval_mode
from collateral.training.examples import Examples, Task
from collateral.training.run import Run

ALPHAS = (1.0, 2.0, 5.0, 10.0, 20.0)


def stepped(model: nn.Module, task: Task, params: Params, alphas: tuple[float, ...]) -> None:
    """Run IU for every alpha: one direction, then one step from a copy of the model per alpha."""
    run = Run(torch.device("cpu"), seed=0)
    prepared = prepare(model, task, params, run)
    for alpha in alphas:
        chosen = params.model_copy(update={"alpha": alpha})
        unlearn(copy.deepcopy(model), task, chosen, run, prepared)


def arithmetic(model: nn.Module, examples: Examples) -> None:
    """Run the minimum for the products: forward and backward, and one pass per direction."""
    with eval_mode(model):
        for batch in examples.in_order(BATCH_SIZE):
            _backward(model, *batch)
            for _ in range(2):
                model(batch[0].detach())


def measure(quick: bool) -> list[Row]:
    """Compare the products with gradients, then several values of alpha with one."""
    samples, repeats = (8, 1) if quick else (256, 5)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    plain_model = build_model("resnet20", INFO).eval()
    model = copy.deepcopy(plain_model).to(memory_format=torch.channels_last)
    examples = random_examples(samples + 2)
    v = torch.randn(sum(weight.numel() for weight in model.parameters()))
    ones = loader(plain_images(examples), None, 1)
    params = Params(samples=samples)
    contestants = {
        "plain": partial(recursion, plain_model, ones, v, samples),
        "ours": partial(run_woodfisher, model, examples, v, params),
        "gradients": partial(per_sample_gradients, model, examples),
        "limit": partial(arithmetic, model, examples),
    }
    seconds = in_turns(contestants, repeats)
    task = Task(examples, random_examples(max(2, samples // 8)), INFO)
    alphas = in_turns(
        {"five": partial(stepped, model, task, params, ALPHAS),
         "one": partial(stepped, model, task, params, ALPHAS[:1])},
        repeats,
    )  # fmt: skip
    return [
        ratio(
            "IU, products with examples' gradients: batches of one / ours",
            seconds["plain"],
            seconds["ours"],
            at_least=2.5,
            note="what the recursion needs",
        ),
        ratio(
            "IU, products: share of the hardware limit (bare passes / ours)",
            seconds["limit"],
            seconds["ours"],
            note="one forward and backward pass, two forward passes for the two directions",
        ),
        ratio("IU, products: batches of one / bare passes", seconds["plain"], seconds["limit"]),
        ratio(
            "IU, examples' gradients: batches of one / ours",
            seconds["plain"],
            seconds["gradients"],
            at_least=2.5,
            note="gradients kept (mode: exact)",
        ),
        ratio("IU: five alphas / one", alphas["five"], alphas["one"], at_most=1.1),
    ]


if __name__ == "__main__":
    run(measure, __doc__)
