"""A finished atlas on disk: seven classes, half of each forgotten in turn; no model is trained.

GA hurts those retained examples that are hard and similar to the forgotten ones; RL hurts nobody.
The base model's outputs and features differ little between seeds, Retrain differs from the base
by noise alone.
"""

from pathlib import Path

import numpy as np
from fake_cell import fake_neighbours
from sealing import seal

from collateral.results import layout
from collateral.results.dataset import Labels
from collateral.results.files import write_json
from collateral.results.outputs import Embeddings, ModelOutputs, Outputs
from collateral.results.plan import BenchmarkPlan, CellNumbers, CellPlan
from collateral.results.split import Split

NUM_CLASSES, TRAIN, TEST, SEEDS = 7, 40, 10, (3, 8)
CLASSES = tuple(f"kind_{letter}" for letter in "abcdefg")


def made_labels() -> Labels:
    """Return labels in which classes alternate, and a column that is not the class."""
    train = np.arange(NUM_CLASSES * TRAIN) % NUM_CLASSES
    site = np.where(np.arange(len(train)) % 3 == 0, "north", "south")
    return Labels(train, np.arange(NUM_CLASSES * TEST) % NUM_CLASSES, CLASSES, {"site": site})


def probabilities(logits: np.ndarray) -> np.ndarray:
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def as_outputs(logits: np.ndarray, label: np.ndarray, lost: np.ndarray | float = 0.0) -> Outputs:
    true = probabilities(logits)[np.arange(len(label)), label]
    confidence = np.clip(true - lost, 0.001, 0.999).astype(np.float32)
    return Outputs(logits.astype(np.float16), confidence, logits.argmax(axis=1))


def draw_base(seed: int, labels: Labels) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return features and logits of train and test images: classes lie on a ring."""
    found = {}
    for name, label in (("train", labels.train), ("test", labels.test)):
        # An example is as hard for all seeds; seeds differ a little.
        own = np.random.default_rng([0, name == "test"]).normal(0, 0.35, len(label))
        own += np.random.default_rng([seed, name == "test"]).normal(0, 0.01, len(label))
        angle = 2 * np.pi * (label + own) / NUM_CLASSES
        features = np.column_stack([1.2 + np.cos(angle), 1.2 + np.sin(angle)])
        centres = 2 * np.pi * np.arange(NUM_CLASSES) / NUM_CLASSES
        logits = 6 * np.cos(angle[:, None] - centres[None, :])
        found[name] = (features.astype(np.float32), logits)
    return found


def write_base(root: Path, seed: int, labels: Labels) -> None:
    """Write outputs and features of the base model of a seed."""
    drawn, folder = draw_base(seed, labels), root / layout.BASE.format(seed=seed)
    outputs = [as_outputs(drawn[n][1], getattr(labels, n)) for n in ("train", "test")]
    ModelOutputs(*outputs).save(folder / layout.OUTPUTS)
    Embeddings(drawn["train"][0], drawn["test"][0]).save(folder / layout.EMBEDDINGS)
    write_json(folder / layout.RECORD, {"run": "base", "status": "ok"})


def write_atlas(root: Path, emitters: int = NUM_CLASSES, seeds: tuple[int, ...] = SEEDS) -> Path:
    """Write an atlas with as many emitters into a benchmark's folder, and return the folder."""
    labels, plans = made_labels(), {}
    labels.save(root / layout.LABELS)
    for seed in seeds:
        write_base(root, seed, labels)
    for place in range(emitters):
        name = f"{CLASSES[place]}-50"
        members = np.flatnonzero(labels.train == place)
        chosen = {"kind": "class_part", "class": CLASSES[place], "fraction": 0.5}
        split = Split(members[: TRAIN // 2], len(labels.train), (place,), chosen)
        split.save(root / layout.SPLIT.format(cell=name), labels, root / layout.LABELS)
        fake_neighbours(
            seeds, np.zeros(len(labels.train)), np.zeros(len(labels.test)), NUM_CLASSES
        ).save(root / layout.NEIGHBOURS.format(cell=name))
        for seed in seeds:
            write_runs(root, name, place, seed, labels)
        about = {"each": "class", "part": "50", "emitter": CLASSES[place]}
        numbers = CellNumbers(
            seeds=seeds, base_seeds=seeds, methods=("ga", "rl"), controls=("original",), atlas=about
        )
        plans[name] = CellPlan(numbers=numbers)
    runs = {"ga": "GA", "rl": "RL", "original": "Original"}
    plan = BenchmarkPlan(runs, "matched", plans, {"name": "digits"}, "resnet8")
    plan.save(root / layout.PLAN)
    seal(root)
    return root


def write_runs(root: Path, cell: str, emitter: int, seed: int, labels: Labels) -> None:
    """Write Retrain, GA and RL of a cell and seed."""
    drawn, rng = draw_base(seed, labels), np.random.default_rng([seed, emitter])
    train, test = drawn["train"][1], drawn["test"][1]
    similar = probabilities(train)[:, emitter]  # how much an example leans to the forgotten class
    is_hurt = (similar > 0.08) & (similar < 0.5) & (rng.random(len(similar)) < 0.8)
    for run, loss in {"retrain": 0.0, "ga": 0.3 * is_hurt, "rl": 0.0}.items():
        noise = 0.01 * rng.normal(size=train.shape)
        outputs = ModelOutputs(
            as_outputs(train + noise, labels.train, loss), as_outputs(test, labels.test)
        )
        folder = root / layout.RUN.format(cell=cell, seed=seed, run=run)
        outputs.save(folder / layout.OUTPUTS)
        record = {"run": run, "status": "ok", "params": {"lr": 0.1}, "extra": {}}
        write_json(folder / layout.RECORD, record)
