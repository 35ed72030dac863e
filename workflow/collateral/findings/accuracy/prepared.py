"""What figure and chart of the affected classes are drawn from."""

import numpy as np
import pandas as pd

from collateral.findings._shared.captions import joined
from collateral.findings._shared.compare import chance
from collateral.findings._shared.scale import reach, sets_scale
from collateral.findings._shared.statistics import half_width
from collateral.findings.catalogue import metric_of
from collateral.findings.gap import TERMS
from collateral.results.table import CellTable, mean, standard_error

RATES = TERMS["avg_gap_affected"]
LEAST_REACH = 5.0  # points on either side of zero, so that noise alone does not fill the panel
CAPTION = (
    "Accuracy on the affected classes, those that have a forgotten example, minus Retrain's: on "
    "their retained (RA), forgotten (UA) and test examples (TA). RA is undefined where all of them "
    "is forgotten."
)
NOISE_CAPTION = "Grey: where 95 % of differences between retrainings lie."


def caption(cell: CellTable) -> str:
    """Return what is shown, with the name of the reference; of noise where there is Retrain."""
    return joined(cell.said(CAPTION), NOISE_CAPTION if cell.has_retrain else "")


def differences(cell: CellTable, runs: list[str]) -> pd.DataFrame:
    """Return a row a run and rate, in points: mean, standard error, half its 95 % interval."""
    rows = [_row(cell, run, metric) for run in runs for metric in RATES]
    return pd.DataFrame(rows)


def ends(cell: CellTable, found: pd.DataFrame) -> tuple[float, float]:
    """Return the ends of the axis, which runs that collapsed do not set."""
    sound = [sets_scale(cell, run) for run in found["run"]]
    shown = found[sound] if any(sound) else found
    return reach(shown["mean"], (-LEAST_REACH, LEAST_REACH))


def bounds(cell: CellTable) -> list[float]:
    """Return what 95 % of differences between retrainings stay below, rate by rate."""
    return [metric_of(metric).factor * chance(cell, metric) for metric in RATES]


def titles(cell: CellTable) -> list[str]:
    """Return what the rates are called, and which is undefined."""
    lost = [np.isnan(cell.values(cell.reference, metric)).all() for metric in RATES]
    names = [metric_of(metric).label for metric in RATES]
    return [
        f"{name}\n(undefined)" if gone else name for name, gone in zip(names, lost, strict=True)
    ]


def _row(cell: CellTable, run: str, metric: str) -> dict[str, object]:
    own, retrained = cell.values(run, metric), cell.values(cell.reference, metric)
    factor = metric_of(metric).factor
    return {
        "run": run,
        "label": cell.labels[run],
        "metric": metric,
        "mean": factor * (mean(own) - mean(retrained)),
        "error": factor * standard_error(own - retrained),
        "half": factor * half_width(own - retrained),
        "n": int(np.count_nonzero(~np.isnan(own - retrained))),
    }
