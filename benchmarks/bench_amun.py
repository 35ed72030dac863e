"""AMUN's attack on 64 digits: plain loops against ours, on one thread, in one process.

    python benchmarks/bench_amun.py [--images 64] [--repeats 3]

The plain loops keep a whole batch until its last image has flipped, or take the images one by one.
Ours works on the images still standing alone, once with all steps at every radius (`patient`), and
once as by default, where a radius that would not do is given up early. Each repeat draws images.
"""

from argparse import ArgumentParser
from collections.abc import Callable
from statistics import median
from time import process_time

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from collateral.config.schema import TrainingParams
from collateral.data import digits
from collateral.methods.amun.attack import attack
from collateral.methods.amun.params import Prepare
from collateral.models.build import build_model
from collateral.training.examples import Examples, train_examples
from collateral.training.fit import fit
from collateral.training.run import Run

CPU = torch.device("cpu")
PARAMS = Prepare()
Flips = dict[str, Tensor]
Attack = Callable[[nn.Module, Examples], Flips]


def trained_model(examples: Examples, info) -> nn.Module:
    """Train a ResNet-8 that gets every digit right."""
    torch.manual_seed(0)
    model = build_model("resnet8", info).to(memory_format=torch.channels_last)
    params = TrainingParams(epochs=15, batch_size=128, lr=0.1)
    return fit(model, examples, examples, params, Run(CPU, seed=0)).eval()


def whole_batch(model: nn.Module, examples: Examples) -> Flips:
    """Attack in one batch that holds every image until all have flipped; there is no cap."""
    clean, labels = examples.pixels(), examples.labels
    x, epsilon = clean, torch.full((len(labels),), PARAMS.epsilon0)
    while True:
        for _ in range(PARAMS.steps):
            x = x.detach().requires_grad_()
            logits = model(x)
            is_standing = logits.argmax(1) == labels
            if not is_standing.any():
                return {"labels": logits.argmax(1), "epsilon": epsilon}
            (gradient,) = torch.autograd.grad(F.cross_entropy(logits, labels), x)
            direction = gradient / (norm(gradient) + 1e-10) * column(is_standing)
            delta = x.detach() + column(PARAMS.step_share * epsilon) * direction - clean
            x = (clean + delta * (column(epsilon) / norm(delta)).clamp(max=1)).clamp(0, 1)
        with torch.no_grad():
            is_standing = model(x).argmax(1) == labels
        epsilon = torch.where(is_standing, 2 * epsilon, epsilon)


def one_by_one(model: nn.Module, examples: Examples) -> Flips:
    """Attack each image alone."""
    rows = torch.arange(len(examples)).split(1)
    found = [whole_batch(model, examples.select(row)) for row in rows]
    return {name: torch.cat([flips[name] for flips in found]) for name in found[0]}


def patient(model: nn.Module, examples: Examples) -> Flips:
    """Attack as ours does, with all steps at every radius."""
    return attack(model, examples, Prepare(give_up=False))


def ours(model: nn.Module, examples: Examples) -> Flips:
    """Attack as ours does by default."""
    return attack(model, examples, PARAMS)


def timed(method: Attack, model: nn.Module, examples: Examples) -> tuple[Flips, float]:
    """Return what flipped and the CPU seconds it took, which other processes do not stretch."""
    start = process_time()
    flips = method(model, examples)
    return flips, process_time() - start


def compare(model: nn.Module, examples: Examples, seconds: dict[str, list[float]]) -> None:
    """Run all on the same images; print how far they agree with the whole batch's flips."""
    reference, took = timed(whole_batch, model, examples)
    seconds["whole_batch"].append(took)
    print(f"whole_batch: {took:.2f} s, {len(reference['labels'])} flips")
    for method in (one_by_one, patient, ours):
        flips, took = timed(method, model, examples)
        seconds[method.__name__].append(took)
        is_same_set = len(flips["labels"]) == len(reference["labels"])
        same = {name: int((flips[name] == reference[name]).sum()) for name in reference}
        print(
            f"{method.__name__}: {took:.2f} s, the {'same' if is_same_set else 'WRONG'} flips, "
            f"{same['epsilon']} at the same radius, {same['labels']} to the same class"
        )


def main() -> None:
    """Compare on fresh images in each repeat; print the ratios and their spread."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    data = digits.load(digits.Options())
    train = train_examples(data, CPU)
    model = trained_model(train, data.info)
    order = torch.randperm(len(train), generator=torch.Generator().manual_seed(0))
    seconds: dict[str, list[float]] = {
        method.__name__: [] for method in (whole_batch, one_by_one, patient, ours)
    }
    for index in order.split(args.images)[: args.repeats]:
        compare(model, train.select(index), seconds)
    for plain in ("whole_batch", "one_by_one"):
        for fast in ("patient", "ours"):
            ratios = [a / b for a, b in zip(seconds[plain], seconds[fast], strict=True)]
            low, high = min(ratios), max(ratios)
            print(f"{plain} / {fast}: {median(ratios):.1f} (median), from {low:.1f} to {high:.1f}")


def norm(images: Tensor) -> Tensor:
    """Return the L2 norm of each image, (n, 1, 1, 1)."""
    return images.flatten(1).norm(dim=1)[:, None, None, None]


def column(values: Tensor) -> Tensor:
    """Return one value an image, (n, 1, 1, 1)."""
    return values[:, None, None, None]


if __name__ == "__main__":
    main()
