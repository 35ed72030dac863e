"""Accuracy of every receiver in every cell of an atlas; tests of who hurts whom over all cells."""

from collections.abc import Iterator, Mapping
from math import nan

import numpy as np

from collateral.contract.conventions import derive_seed
from collateral.contract.rows import Row
from collateral.findings.atlas import MEASURES
from collateral.findings.atlas.matrices import Atlas, find_atlases
from collateral.findings.inputs import CellResults, Result
from collateral.metrics import emitters
from collateral.metrics.arrays import Floats, Mask
from collateral.metrics.differences import holm
from collateral.metrics.statistics import mean
from collateral.results.layout import is_sweep
from collateral.results.table import BenchmarkTable

CLASS = "class"


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield each run's accuracy and confidence by receiver; nothing if the cell is in no atlas."""
    if not cell.atlas:
        return
    masks = _mask_receivers(cell)
    for name, mask in masks.items():
        yield Row(cell.reference, "atlas_images", float(mask.sum()), set="test", at=name)
        for seed, value in zip(cell.seeds, _measure_similarity(cell, name), strict=True):
            yield Row(cell.reference, "atlas_similarity", float(value), seed, "test", name)
    for result in cell.all_results():
        if not is_sweep(result.run):
            yield from _measure_receivers(cell, result, masks)


def _measure_receivers(
    cell: CellResults, result: Result, masks: Mapping[str, Mask]
) -> Iterator[Row]:
    """Yield a run's accuracy and confidence by receiver; NaN if the run diverged."""
    found = dict.fromkeys(MEASURES.values(), np.full(len(cell.labels.test), nan))
    if not result.is_diverged:
        is_correct = result.test.prediction == cell.labels.test
        confidence = result.test.confidence.astype(float)
        found = {"accuracy": is_correct.astype(float), "confidence": confidence}
    for name, mask in masks.items():
        for measure, values in found.items():
            value = float(values[mask].mean())
            yield Row(result.run, f"atlas_{measure}", value, result.seed, "test", name)


def _mask_receivers(cell: CellResults) -> dict[str, Mask]:
    """Return a mask of the test images of each class or group that has some, by name."""
    labels, each = cell.labels, cell.atlas["each"]
    if each == CLASS:
        masks = {name: labels.test == c for c, name in enumerate(labels.class_names)}
    elif each in labels.test_columns:
        texts = labels.test_columns[each].astype(str)
        masks = {str(value): texts == value for value in np.unique(texts) if str(value).strip()}
    else:
        masks = {}
    return {name: mask for name, mask in masks.items() if mask.any()}


def _measure_similarity(cell: CellResults, name: str) -> Floats:
    """Return the similarity of a class or group to the forget set, by seed; NaN if undefined.

    A class is represented by its mean features. A group's value is the mean over its examples.
    """
    labels, each = cell.labels, cell.atlas["each"]
    if each == CLASS:
        return cell.neighbours.class_similarity[:, labels.class_names.index(name)].astype(float)
    is_member = labels.columns[each].astype(str) == name
    if not is_member.any():
        return np.full(len(cell.seeds), nan)
    means: Floats = cell.neighbours.train_similarity[:, is_member].mean(axis=1, dtype=float)
    return means


def across(table: BenchmarkTable) -> Iterator[Row]:
    """Yield, for each atlas and method, losses, tests and asymmetry."""
    for atlas in find_atlases(table):
        for ending, measure in MEASURES.items():
            yield from _test_methods(atlas, measure, f"{atlas.part} {ending}".strip())


def _test_methods(atlas: Atlas, measure: str, at: str) -> Iterator[Row]:
    used, reference = atlas.used, atlas.reference
    retrained = atlas.values(reference, f"atlas_{measure}")
    floor = emitters.floor_rate(retrained, used, atlas.step)
    yield Row(reference, "atlas_pairs", float(np.count_nonzero(used)), set="test", at=at)
    yield Row(reference, "atlas_floor", floor, set="test", at=at)
    if atlas.has_base:
        legitimate = mean(atlas.legitimate(measure)[used])
        yield Row(reference, "atlas_legitimate", legitimate, set="test", at=at)
    slopes = {}
    for run in atlas.methods:
        loss = atlas.loss(run, measure)
        found = float(np.count_nonzero(atlas.found(run, measure)))
        is_tested = not np.isnan(atlas.contrast(run, measure).p[used]).all()
        yield Row(run, "atlas_loss", mean(loss[used]), set="test", at=at)
        yield Row(run, "atlas_found", found if is_tested else nan, set="test", at=at)
        # The random numbers of a method depend on its name alone, not on the other methods.
        rng = np.random.default_rng(derive_seed("atlas", at, run))
        own = loss[:, : len(atlas.emitters)]
        slopes[run] = emitters.find_slope(own, atlas.similarity[:, : len(atlas.emitters)], rng)
        share = emitters.asymmetry(own)
        low, high = emitters.asymmetry_interval(own, rng)
        for ending, value in (("", share), ("_low", low), ("_high", high)):
            yield Row(run, f"atlas_asymmetry{ending}", value, set="test", at=at)
    adjusted = holm(np.array([slope.p for slope in slopes.values()]))
    for (run, slope), p in zip(slopes.items(), adjusted, strict=True):
        for ending, value in (("", slope.slope), ("_low", slope.low), ("_high", slope.high)):
            yield Row(run, f"atlas_slope{ending}", value, set="test", at=at)
        yield Row(run, "atlas_correlation", slope.correlation, set="test", at=at)
        yield Row(run, "atlas_p", float(p), set="test", at=at)
