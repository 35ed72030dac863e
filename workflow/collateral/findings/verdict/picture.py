"""What the picture of a cell shows, as one tidy table: figure, page and CSV file are made of it.

Rates and losses in points; the price as a share of Retrain's RTE.
"""

import math
from typing import Any

import numpy as np
import pandas as pd

from collateral.findings._shared.compare import noise_floor
from collateral.findings.checks import red_gates
from collateral.findings.gap import FORGETTING
from collateral.findings.metric_index import find_metric
from collateral.findings.verdict import COLLAPSED, DAMAGED
from collateral.findings.verdict.sentences import find_verdicts
from collateral.metrics.statistics import mean, mean_of_defined, t_quantile
from collateral.results.table import CellTable

COLUMNS = (
    *("run", "label", "kind", "verdict", "sentence", "n"),
    *("forgetting_error", "damage", "damage_low", "damage_high"),
    *("ua_difference", "ua_low", "ua_high", "price"),
    *("floor_error", "floor_damage", "margin_ua", "margin_damage"),
)
DRAWN = ("is_edge", "x", "y", "area", "box_error", "box_damage")
LEAST_REACH = 5.0  # points that the picture covers at least
ROOM = 1.15  # of the largest number
LEAST_SIDE = 0.01  # of the box in the corner, of what the picture covers
AREA = 220.0  # of a run that takes as long as Retrain, in square points
LEAST_AREA = 18.0
MOST_SHARE = 1.5  # of Retrain's time: what takes longer is drawn no larger


def points(cell: CellTable) -> pd.DataFrame:
    """Return a row for each method and control: its numbers, and where it is drawn.

    `is_edge`: it collapsed, does not set the scale, and is drawn no further than the others reach;
    `x` and `y` are NaN where there is nothing to draw, as with a red check. `box_error` and
    `box_damage` are the floors, large enough to be seen.
    """
    said = {one.run: one for one in find_verdicts(cell)}
    runs = [run for run in cell.labels if cell.kinds[run] != "reference"]
    rows = [
        {
            "verdict": said[run].verdict if run in said else "",
            "sentence": said[run].sentence if run in said else "",
            **_numbers(cell, run),
            **_floors(cell),
        }
        for run in runs
    ]
    frame = pd.DataFrame(rows, columns=COLUMNS)
    frame["is_edge"] = frame["verdict"] == COLLAPSED
    low, high, right = limits(frame)
    shown = np.nan if red_gates(cell) else 1.0
    frame["x"] = shown * frame["forgetting_error"].clip(upper=right)
    frame["y"] = shown * frame["damage"].clip(low, high)
    frame["area"] = frame["price"].map(area)
    frame["box_error"] = frame["floor_error"].clip(lower=LEAST_SIDE * right)
    frame["box_damage"] = frame["floor_damage"].clip(lower=LEAST_SIDE * (high - low))
    return frame[[*COLUMNS, *DRAWN]]


def area(price: float) -> float:
    """Return the area of a run's mark; the least where no time is known."""
    share = 0.0 if math.isnan(price) else min(price, MOST_SHARE)
    return max(AREA * share, LEAST_AREA)


def limits(frame: pd.DataFrame) -> tuple[float, float, float]:
    """Return the least and largest damage, and the largest error, that the picture covers."""
    shown = frame[~frame["is_edge"]] if (~frame["is_edge"]).any() else frame
    damages = [*shown["damage"], *frame["floor_damage"], *-frame["floor_damage"]]
    errors = [*shown["forgetting_error"], *frame["floor_error"]]
    return (
        ROOM * min(_least(damages), -LEAST_REACH),
        ROOM * max(-_least(-d for d in damages), LEAST_REACH),
        ROOM * max(-_least(-e for e in errors), LEAST_REACH),
    )


def _least(values: Any) -> float:
    return min((value for value in values if not math.isnan(value)), default=0.0)


def _numbers(cell: CellTable, run: str) -> dict[str, Any]:
    factor = find_metric("difference").factor

    def number(metric: str, at: str | None = None) -> float:
        return factor * cell.number(run, metric, at=at)

    damages = cell.values(run, "damage", DAMAGED)
    return {
        "run": run,
        "label": cell.labels[run],
        "kind": cell.kinds[run],
        "n": int(np.count_nonzero(~np.isnan(damages))),
        "forgetting_error": number("forgetting_error"),
        "damage": factor * mean(damages),
        "damage_low": number("difference_low", "damage"),
        "damage_high": number("difference_high", "damage"),
        "ua_difference": number("difference", "ua"),
        "ua_low": number("difference_low", "ua"),
        "ua_high": number("difference_high", "ua"),
        "price": cell.number(run, "rte_share"),
    }


def _floors(cell: CellTable) -> dict[str, float]:
    """Return how far retraining again stays from Retrain in error and in damage; the margins."""
    factor = find_metric("difference").factor
    spread = t_quantile(len(cell.seeds)) * cell.number(cell.reference, "damage_sd", DAMAGED)
    return {
        "floor_error": factor * mean_of_defined(noise_floor(cell, name) for name in FORGETTING),
        "floor_damage": factor * spread,
        "margin_ua": factor * cell.number(cell.reference, "margin", at="ua"),
        "margin_damage": factor * cell.number(cell.reference, "margin", at="damage"),
    }
