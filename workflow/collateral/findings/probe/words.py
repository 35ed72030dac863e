"""In which model most is left, by each of the probes: a cell in some sentences."""

from collections.abc import Iterator

import numpy as np

from collateral.contract.rows import At
from collateral.findings._shared.captions import joined
from collateral.findings.catalogue import metric_of
from collateral.findings.probe.table import chance
from collateral.results.table import REFERENCE, CellTable, mean

TOLD = {
    "relearn_gap": "Fine-tuned on half of the forget set, most of the other half is known by "
    "{most} ({gap} points against Retrain's curve{floor}).",
    "residual_gap": "Under noise, most of the forget set is left in {most} ({gap} points against "
    "Retrain{floor}).",
}
NONE = {
    "relearn_gap": "Fine-tuned on half of the forget set, no method knows more of the other half "
    "than retraining again gives.",
    "residual_gap": "Under noise, no method has more of the forget set left than retraining again "
    "gives.",
}
FLOOR = "; retraining again differs by {floor}"
EVEN = "Of those that start below Retrain, {first} comes level first, by step {step} (in {seeds})."
ZRF = "ZRF: Retrain's is {own}, and {nearest} comes nearest ({value})."
ONE_SEED = "One seed, so no claim."


def words(cell: CellTable) -> str:
    """Say it of the methods; nothing where no model was probed."""
    sentences = [sentence for sentence in _sentences(cell) if sentence]
    return joined(*sentences, ONE_SEED if sentences and len(cell.seeds) == 1 else "")


def _sentences(cell: CellTable) -> Iterator[str]:
    for name, text in TOLD.items():
        gaps = _means(cell, name)
        if gaps:
            gap = metric_of(name).text(max(gaps.values()), sign=True)
            most = [run for run in gaps if metric_of(name).text(gaps[run], sign=True) == gap]
            told = NONE[name] if max(gaps.values()) <= chance(cell, name) else text
            yield told.format(most=_named(cell, most), gap=gap, floor=_floor(cell, name))
        if name == "relearn_gap":
            yield _even(cell)
    retrained, found = mean(cell.values(REFERENCE, "zrf")), _means(cell, "zrf")
    if found and not np.isnan(retrained):
        nearest = min(found, key=lambda run: abs(found[run] - retrained))
        own, value = (metric_of("zrf").text(one) for one in (retrained, found[nearest]))
        yield ZRF.format(own=own, nearest=cell.labels[nearest], value=value)


def _even(cell: CellTable) -> str:
    """Say which method that starts below Retrain has hidden most of what it lost."""
    begin = mean(cell.values(REFERENCE, "relearn_accuracy", at=0))
    below = {run for run, own in _means(cell, "relearn_accuracy", at=0).items() if own < begin}
    found = {run: step for run, step in _means(cell, "relearn_even").items() if run in below}
    level = {run: _level(cell, run) for run in found}
    found = {run: step for run, step in found.items() if level[run][0]}
    if not found:
        return ""
    step = metric_of("relearn_even").text(min(found.values()))
    first = [run for run in found if metric_of("relearn_even").text(found[run]) == step]
    seeds = ", ".join(dict.fromkeys("{} of {} seeds".format(*level[run]) for run in first))
    return EVEN.format(first=_named(cell, first), step=step, seeds=seeds)


def _level(cell: CellTable, run: str) -> tuple[int, int]:
    """Return in how many seeds a method came level with Retrain, and of how many."""
    last = max(int(at) for at in cell.indices(REFERENCE, "relearn_accuracy"))
    steps = cell.values(run, "relearn_even")
    return int((steps <= last).sum()), int((~np.isnan(steps)).sum())


def _named(cell: CellTable, runs: list[str]) -> str:
    return " and ".join(cell.labels[run] for run in runs)


def _means(cell: CellTable, metric: str, at: At = None) -> dict[str, float]:
    """Return the means over seeds of the methods that have some."""
    found = {run: mean(cell.values(run, metric, at=at)) for run in cell.runs("method")}
    return {run: value for run, value in found.items() if not np.isnan(value)}


def _floor(cell: CellTable, metric: str) -> str:
    """Say how far Retrains of two seeds are apart, on average."""
    floor = mean(np.abs(cell.values(REFERENCE, metric)))
    return "" if np.isnan(floor) else FLOOR.format(floor=metric_of(metric).text(floor))
