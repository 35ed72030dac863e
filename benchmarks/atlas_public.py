"""Atlas of the paper's public base: forget half of each class of CIFAR-100 in turn, by one method.

    python benchmarks/atlas_public.py ga WEIGHTS DATA [--classes couch bed ...] [--out FOLDER]

WEIGHTS is cifar100_resnet56-f2eff4c8.pt (docs/results.md), DATA the folder that holds
cifar-100-python/. The parameters are those that configs/paper-public-base.yaml states for half of
couch. There is no Retrain: drops are the base minus the run, on test images, with one seed. After
every ten classes, equally many random train images are forgotten, which gives the floor.
Rows are appended to METHOD.csv, and emitters that it has are skipped, so that the command can be
repeated; similarity.csv has the cosines of the mean features of the classes in the base.
"""

import argparse
import csv
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import torch
import yaml

from collateral.data import cifar100
from collateral.metrics.arrays import Floats
from collateral.metrics.similarity import class_means, cosines
from collateral.models._classifier import Classifier
from collateral.plugins.find import params_class
from collateral.results.split import Split
from collateral.training.devices import make_deterministic
from collateral.training.examples import Examples, test_examples, train_examples
from collateral.training.inference import infer
from collateral.training.job_io import Session
from collateral.training.run_method import Method
from collateral.training.weights import load_trained

ROOT = Path(__file__).parents[1]
CONFIG = ROOT / "configs/paper-public-base.yaml"
SHARE, STEP = 0.5, 10  # share of a class that is forgotten; classes per random set
EVERY = 5  # one of so many train images counts for the mean features
HEADER = ["method", "emitter", "receiver", "accuracy_drop", "confidence_drop", "n"]


def open_data(folder: Path) -> Session:
    """Load CIFAR-100 for one thread of the CPU."""
    torch.set_num_threads(1)
    make_deterministic()
    device = torch.device("cpu")
    data = cifar100.load(cifar100.Options(root=folder, download=False))
    train, test = train_examples(data, device), test_examples(data, device)
    return Session(device, data, train, test, folder)


def load_base(session: Session, weights: Path) -> Classifier:
    """Return the public base model."""
    model = session.new_model("resnet56")
    load_trained(model, weights, {})
    return model


def measure(model: torch.nn.Module, test: Examples, num_classes: int) -> Floats:
    """Return accuracy and mean true-class confidence, by class: (2, classes)."""
    logits, labels = infer(model, test)[1], test.labels
    confidence = logits.softmax(1)[torch.arange(len(labels)), labels]
    values = torch.stack([(logits.argmax(1) == labels).float(), confidence]).double().numpy()
    return np.stack([values[:, labels.numpy() == c].mean(axis=1) for c in range(num_classes)], 1)


def list_forget_sets(session: Session, classes: list[str]) -> Iterator[tuple[str, Split]]:
    """Yield the first half of each class in data-set order, and random sets of the same size."""
    labels = session.data.labels
    num_train = len(labels.train)
    for place, name in enumerate(classes or labels.class_names):
        index = labels.class_names.index(name)
        members = np.flatnonzero(labels.train == index)
        forget = members[: int(SHARE * len(members))]
        yield name, Split(forget, num_train, (index,), {})
        if (place + 1) % STEP == 0:
            number = place // STEP
            drawn = np.random.default_rng(number).choice(num_train, len(forget), replace=False)
            affected = tuple(int(c) for c in np.unique(labels.train[drawn]))
            yield f"random {number}", Split(np.sort(drawn), num_train, affected, {})


def unlearn(name: str, session: Session, weights: Path, split: Split) -> torch.nn.Module:
    """Run a method from the base model, with the parameters of half of couch."""
    stated = yaml.safe_load(CONFIG.read_text())["benchmarks"]["couch_50"]["methods"][name]
    params = params_class(name)(**stated)
    load = partial(load_base, session, weights)
    method = Method(name, session.task(split), load, 0, split.hash, session.device)
    inputs = [method.prepare(params, None).tensors] if method.has_prepare else []
    return method.unlearn(params, *inputs)[0]


def write_similarity(path: Path, session: Session, base: Classifier) -> None:
    """Write the cosines of the mean features of the classes, over every fifth train image."""
    names = session.data.labels.class_names
    train = session.train.select(torch.arange(0, len(session.train), EVERY))
    means = class_means(infer(base, train)[0].numpy(), train.labels.numpy(), len(names))
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["class", *names])
        for name, row in zip(names, cosines(means, means), strict=True):
            writer.writerow([name, *(f"{value:.4f}" for value in row)])


def append_rows(path: Path, method: str, emitter: str, drops: Floats, session: Session) -> None:
    """Append one row per receiver; a drop is positive where the run is worse than the base."""
    names, labels = session.data.labels.class_names, session.data.labels.test
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([HEADER] if is_new else [])
        for index, name in enumerate(names):
            values = [f"{drop:.6f}" for drop in drops[:, index]]
            writer.writerow([method, emitter, name, *values, np.count_nonzero(labels == index)])


def main() -> None:
    """Forget every class that METHOD.csv does not have yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("method", choices=["ga", "iu"])
    parser.add_argument("weights", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--classes", nargs="+", default=[], help="default: all 100")
    parser.add_argument("--out", type=Path, default=ROOT / "docs/data/atlas-public")
    wanted = parser.parse_args()
    session = open_data(wanted.data)
    wanted.out.mkdir(parents=True, exist_ok=True)
    path, similarity = wanted.out / f"{wanted.method}.csv", wanted.out / "similarity.csv"
    base, count = load_base(session, wanted.weights), len(session.data.labels.class_names)
    before = measure(base, session.test, count)
    print(f"base: test accuracy {100 * before[0].mean():.2f} %", flush=True)
    if not similarity.exists():
        write_similarity(similarity, session, base)
    known = {line.split(",")[1] for line in path.read_text().splitlines()} if path.exists() else ()
    for emitter, split in list_forget_sets(session, wanted.classes):
        if emitter not in known:
            run = unlearn(wanted.method, session, wanted.weights, split)
            after = measure(run, session.test, count)
            append_rows(path, wanted.method, emitter, before - after, session)
            print(f"{emitter}: {100 * (before[0] - after[0]).mean():+.2f} points", flush=True)


if __name__ == "__main__":
    main()
