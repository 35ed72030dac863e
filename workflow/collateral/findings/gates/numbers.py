"""Numbers that the sanity checks use: about the split, Retrain's training and copied images."""

import math
from collections.abc import Iterator

import numpy as np

from collateral.contract.conventions import batch_sizes
from collateral.contract.rows import Row
from collateral.findings.inputs import CellResults, Result
from collateral.metrics.accuracy import accuracy, guessing
from collateral.metrics.copies import EXACT, LEAST_SIDE
from collateral.results.layout import ORIGINAL


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield numbers about the split, Retrain in each seed, copied images and the test set."""
    yield Row(cell.reference, "split_faults", float(count_split_faults(cell)))
    if cell.has_retrain:
        yield from _describe_retrain(cell)
    for metric, value in (count_copies(cell) | describe_images(cell)).items():
        yield Row(cell.reference, metric, value)
    yield from compare_with_guessing(cell)
    column = cell.labels.test_columns.get(cell.split.chosen.get("column", ""))
    if column is not None:
        is_same = np.isin(
            column.astype(str), [str(value) for value in cell.split.chosen.get("is", ())]
        )
        yield Row(cell.reference, "forgotten_in_test", float(is_same.sum()))


def _describe_retrain(cell: CellResults) -> Iterator[Row]:
    bases = {result.seed: result for result in cell.results() if result.run == ORIGINAL}
    for retrained in cell.retrained():
        run, seed, base = retrained.run, retrained.seed, bases.get(retrained.seed)
        yield Row(run, "trained_on_split", is_trained_on_split(cell, retrained), seed)
        # If the user gave the weights, the batch size of training is not recorded.
        if retrained.record.get("params", {}).get("batch_size"):
            yield Row(run, "smallest_batch", float(smallest_batch(cell, retrained)), seed)
        yield Row(run, "base_distance", confidence_distance(base, retrained), seed)
        if base and base.record.get("weights"):
            gap, error = unaffected_gap(cell, base, retrained)
            yield Row(run, "base_ta_gap", gap, seed)
            yield Row(run, "base_ta_error", error, seed)


def count_split_faults(cell: CellResults) -> int:
    """Return the number of train examples that are not in exactly one of three sets.

    The sets are: the forget set, the examples forgotten in earlier rounds, and the retained set. An
    index that is out of range is counted as well.
    """
    split, total = cell.split, len(cell.labels.train)
    ids = np.concatenate([split.forget, split.earlier, split.retain])
    is_id = (ids >= 0) & (ids < total)
    counts = np.bincount(ids[is_id], minlength=total)
    return int(np.count_nonzero(counts != 1) + np.count_nonzero(~is_id))


def is_trained_on_split(cell: CellResults, retrained: Result) -> float:
    """Return 1 if the training set in Retrain's record is that of the split, else 0.

    It is the retained set, without corrupted examples that are not known. The sets are compared by
    a hash of their ids. The result is NaN if the record has no hash.
    """
    known = retrained.record.get("trained_on")
    return math.nan if known is None else float(known == cell.split.retain_hash)


def smallest_batch(cell: CellResults, retrained: Result) -> int:
    """Return the size of Retrain's smallest batch, computed from the recorded parameters."""
    params, count = retrained.record["params"], len(cell.split.trained_on)
    if params["checkpoint"] == "best_validation":
        count -= max(1, round(params["validation_share"] * count))
    return min(batch_sizes(count, params["batch_size"]))


def confidence_distance(base: Result | None, retrained: Result) -> float:
    """Return the mean absolute difference between the confidences of base model and Retrain.

    The result is NaN if there is no base model or one of the two diverged.
    """
    if base is None or base.is_diverged or retrained.is_diverged:
        return math.nan
    sets = ((base.train, retrained.train), (base.test, retrained.test))
    return float(np.mean(np.concatenate([np.abs(a.confidence - b.confidence) for a, b in sets])))


def unaffected_gap(cell: CellResults, base: Result, retrained: Result) -> tuple[float, float]:
    """Return Retrain's accuracy minus the base model's, and the standard error of the difference.

    It is the accuracy on test examples of unaffected classes.
    """
    is_unaffected = ~np.isin(cell.labels.test, cell.split.affected)
    if base.is_diverged or retrained.is_diverged or not is_unaffected.any():
        return math.nan, math.nan
    label = cell.labels.test[is_unaffected]
    own, other = (
        (result.test.prediction[is_unaffected] == label).astype(float)
        for result in (retrained, base)
    )
    gaps = own - other  # by example
    return float(gaps.mean()), float(gaps.std() / math.sqrt(len(gaps)))


def compare_with_guessing(cell: CellResults) -> Iterator[Row]:
    """Yield the test accuracy of the reference and the base model, and that of guessing.

    A test set with examples of a single class is left out: naming this class is no guess.
    """
    label = cell.labels.test
    is_kept = np.isin(label, cell.labels.train[cell.split.retain])
    if len(np.unique(label[is_kept])) < 2:
        return
    share, by_chance = guessing(label[is_kept])
    yield Row(cell.reference, "guessing", share)
    yield Row(cell.reference, "guessing_by_chance", by_chance)
    for result in cell.all_results():
        if result.run in (cell.reference, ORIGINAL) and not result.is_diverged:
            known = accuracy(result.test.prediction[is_kept], label[is_kept])
            yield Row(result.run, "known_ta", known, result.seed)


def describe_images(cell: CellResults) -> dict[str, float]:
    """Return numbers about copies in the test set and about pixel values; empty if unknown."""
    copies, pixels = cell.neighbours.test_copies, cell.neighbours.pixels
    found = dict[str, float]()
    if copies is not None:
        is_forgotten = np.isin(copies[:, 1], cell.split.forget)
        found |= {"test_copies": len(copies), "test_copies_forgotten": float(is_forgotten.sum())}
    if pixels is not None:
        low, high, num_constant = pixels.tolist()
        found |= {"pixel_range": high - low, "constant_images": num_constant}
    return {name: float(value) for name, value in found.items()}


def count_copies(cell: CellResults) -> dict[str, float]:
    """Return how many forgotten images have an exact copy, or a near copy, in the retained set.

    A number is NaN if copies were not searched for. The images' shorter side is also returned.
    """
    found, size = cell.neighbours.copies, cell.neighbours.image_size
    side = math.nan if size is None else float(min(size))
    if found is None:
        return {"exact_copies": math.nan, "near_copies": math.nan, "image_side": side}
    is_exact = found[:, 2] == EXACT
    return {
        "exact_copies": float(len(np.unique(found[is_exact, 0]))),
        "near_copies": math.nan if side < LEAST_SIDE else float((~is_exact).sum()),
        "image_side": side,
    }
