"""Speed of AMUN's attack on 64 digits: two versions of the public loop against ours, one thread.

    python benchmarks/bench_amun.py [--quick]

One version of the public code drops an image from the batch once its prediction flips; another one
keeps the whole batch until the last image flips. Ours drops images too, and leaves a radius that is
too small early; with all steps at every radius (`patient`) it computes the same as the public code.
Every repeat uses other images.
"""

from functools import partial

import torch
from measure import Row, Seconds, ratio, run, timed
from plain.attack import attack as plain_attack
from plain.attack import one_by_one, whole_batch
from torch import nn

from collateral.contract.data import ImageInfo
from collateral.contract.params import TrainingParams
from collateral.data import digits
from collateral.methods.amun.attack import attack
from collateral.methods.amun.params import Prepare
from collateral.models._build import build_model
from collateral.training.examples import Examples, train_examples
from collateral.training.fit import fit
from collateral.training.run import Run

CPU = torch.device("cpu")
PARAMS, PATIENT = Prepare(), Prepare(give_up=False)


def trained_model(examples: Examples, info: ImageInfo, epochs: int) -> nn.Module:
    """Train a ResNet-8 until it classifies every digit correctly."""
    torch.manual_seed(0)
    model = build_model("resnet8", info).to(memory_format=torch.channels_last)
    params = TrainingParams(epochs=epochs, batch_size=128, lr=0.1)
    return fit(model, examples, examples, params, Run(CPU, seed=0)).eval()


def compare(model: nn.Module, some: Examples) -> tuple[dict[str, Seconds], float, float]:
    """Return the seconds of each attack, and the share of images with equal labels and radii."""
    pixels, labels, found = some.pixels(), some.labels, {}
    contestants = {
        "plain": partial(plain_attack, model, pixels, labels, PARAMS),
        "ours": partial(attack, model, some, PARAMS),
        "whole": partial(whole_batch, model, pixels, labels, PARAMS),
        "one by one": partial(one_by_one, model, pixels, labels, PARAMS),
        "patient": partial(attack, model, some, PATIENT),
    }

    def run_one(name: str) -> None:
        found[name] = contestants[name]()

    seconds = {name: timed(partial(run_one, name)) for name in contestants}
    plain, ours = found["plain"], found["ours"]
    is_same = plain["labels"][ours["index"]] == ours["labels"]
    is_same &= plain["epsilon"][ours["index"]].isclose(ours["epsilon"])
    return seconds, 100 * len(is_same) / len(labels), 100 * int(is_same.sum()) / len(labels)


def measure(quick: bool) -> list[Row]:
    """Compare the attacks on other images in each repeat."""
    count, repeats, epochs = (2, 1, 1) if quick else (64, 3, 15)
    torch.set_num_threads(1)
    data = digits.load(digits.Options())
    train = train_examples(data, CPU)
    model = trained_model(train, data.info, epochs)
    order = torch.randperm(len(train), generator=torch.Generator().manual_seed(0))
    rounds = [compare(model, train.select(index)) for index in order.split(count)[:repeats]]
    plain, ours, whole, single, patient = (
        [seconds[name] for seconds, _, _ in rounds]
        for name in ("plain", "ours", "whole", "one by one", "patient")
    )
    flipped, same = [each[1] for each in rounds], [each[2] for each in rounds]
    what = f"AMUN's attack on {count} images"
    return [
        ratio(f"{what}: shrinking batch / ours", plain, ours, at_least=3),
        ratio(f"{what}: whole batch / ours", whole, ours, at_least=3),
        Row(f"{what}: flipped by ours, %", flipped, at_least=100, note="the plain ones flip all"),
        Row(f"{what}: to the plain one's label and radius, %", same),
        ratio(f"{what}: one by one / ours", single, ours),
        ratio(f"{what}: shrinking batch / ours", plain, patient, note="all steps at every radius"),
    ]


if __name__ == "__main__":
    run(measure, __doc__)
