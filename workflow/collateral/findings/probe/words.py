"""In which model most is left, by each of the probes: a cell in some sentences."""

from collections.abc import Iterator

import numpy as np

from collateral.findings._shared.captions import joined
from collateral.findings.catalogue import metric_of
from collateral.results.table import REFERENCE, CellTable, mean

TOLD = {
    "relearn_gap": "Fine-tuned on half of the forget set, {most} regains most of the other half "
    "({gap} points against Retrain's curve){floor}",
    "residual_gap": "Under noise, most of the forget set is left in {most} ({gap} points against "
    "Retrain){floor}",
}
FLOOR = "; retraining again differs by {floor}"
ZRF = "ZRF: Retrain's is {own}, and {nearest} comes nearest ({value})."
ONE_SEED = "One seed, so no claim."


def words(cell: CellTable) -> str:
    """Say it of the methods; nothing where no model was probed."""
    sentences = list(_sentences(cell))
    return joined(*sentences, ONE_SEED if sentences and len(cell.seeds) == 1 else "")


def _sentences(cell: CellTable) -> Iterator[str]:
    for name, text in TOLD.items():
        gaps = _means(cell, name)
        if gaps:
            most = max(gaps, key=lambda run: gaps[run])
            gap = metric_of(name).text(gaps[most], sign=True)
            yield f"{text.format(most=cell.labels[most], gap=gap, floor=_floor(cell, name))}."
    retrained, found = mean(cell.values(REFERENCE, "zrf")), _means(cell, "zrf")
    if found and not np.isnan(retrained):
        nearest = min(found, key=lambda run: abs(found[run] - retrained))
        own, value = (metric_of("zrf").text(one) for one in (retrained, found[nearest]))
        yield ZRF.format(own=own, nearest=cell.labels[nearest], value=value)


def _means(cell: CellTable, metric: str) -> dict[str, float]:
    """Return the means over seeds of the methods that have some."""
    found = {run: mean(cell.values(run, metric)) for run in cell.runs("method")}
    return {run: value for run, value in found.items() if not np.isnan(value)}


def _floor(cell: CellTable, metric: str) -> str:
    """Say how far Retrains of two seeds are apart, on average."""
    floor = mean(np.abs(cell.values(REFERENCE, metric)))
    return "" if np.isnan(floor) else FLOOR.format(floor=metric_of(metric).text(floor))
