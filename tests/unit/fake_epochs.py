"""A cell with a tracked run, whose models are made up: right and wrong by hand."""

import numpy as np
from fake_cell import FakeCell, FakeRun

from collateral.results.dataset import Labels
from collateral.results.neighbours import Neighbours
from collateral.results.outputs import ModelOutputs, Outputs
from collateral.results.split import Split

# 80 examples of two classes, of which the first 10 of class 0 are forgotten. The next 20 are near.
NUM, FORGET = 80, np.arange(10)
LABELS = Labels(np.repeat([0, 1], NUM // 2), np.repeat([0, 1], NUM // 2), ("a", "b"))
SPLIT = Split(FORGET, NUM, (0,), {"class": "a"})
IS_NEAR = np.isin(np.arange(NUM), np.arange(10, 30))


def model(
    wrong_near: int = 0, wrong_far: int = 0, forgotten: float = 1.0, member: float = 1.0
) -> ModelOutputs:
    """Return a model that is wrong about so many retained ones, and so sure of what it saw."""
    right = LABELS.train.copy()
    near, far = np.flatnonzero(IS_NEAR), np.flatnonzero(~IS_NEAR)[len(FORGET) :]
    wrong = [*near[:wrong_near], *far[:wrong_far]]
    right[wrong] = 1 - right[wrong]
    confidence = np.full(NUM, member, dtype=np.float32)
    confidence[FORGET] = forgotten
    train = Outputs(np.eye(2)[right].astype(np.float16), confidence, right)
    unseen = np.zeros(NUM, dtype=np.float32)
    test = Outputs(np.eye(2)[LABELS.test].astype(np.float16), unseen, LABELS.test)
    return ModelOutputs(train, test)


BASE, FIRST, SECOND = model(), model(10, 5, forgotten=0.2), model(4, 5, forgotten=0.4)
LOST = model(forgotten=np.nan, member=np.nan)


def cell(*epochs: ModelOutputs, seeds: tuple[int, ...] = (0,)) -> FakeCell:
    """Return a cell in which `ft` is tracked and `ga`, of the same end, is not."""
    similarity = np.tile(np.where(IS_NEAR, 0.95, 0.05).astype(np.float32), (len(seeds), 1))
    nothing = np.array([], dtype=np.int64)
    neighbours = Neighbours(
        seeds=np.array(seeds),
        train_similarity=similarity,
        test_similarity=similarity,
        class_similarity=np.ones((len(seeds), 2), dtype=np.float32),
        shown_set=nothing.astype(str),
        shown_index=nothing,
    )
    reference, last = model(2, 1, forgotten=0.2), epochs[-1]
    runs = {("retrain", seed): FakeRun(reference.train, reference.test) for seed in seeds}
    runs |= {("ft", seed): FakeRun(last.train, last.test, epochs=epochs) for seed in seeds}
    runs |= {("ga", seed): FakeRun(last.train, last.test) for seed in seeds}
    return FakeCell(LABELS, SPLIT, neighbours, runs)
