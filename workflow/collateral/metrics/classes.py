"""Who else gets hurt where a whole class is deleted: the other classes, by similarity to it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from collateral.core.dataset import Labels
from collateral.core.split import Split
from collateral.metrics.gaps import student_95

Floats = NDArray[np.floating]


def kept_classes(labels: Labels, split: Split) -> tuple[int, ...]:
    """Return the classes that are not deleted; none where an affected class is only part gone."""
    if np.isin(labels.train[split.retain], split.affected).any():
        return ()
    return tuple(c for c in range(len(labels.class_names)) if c not in split.affected)


def class_accuracy(
    prediction: NDArray[np.int64], label: NDArray[np.int64], num_classes: int
) -> NDArray[np.float64]:
    """Return the share of right predictions of each class's examples; NaN where it has none."""
    rates = np.full(num_classes, np.nan)
    counts = np.bincount(label, minlength=num_classes)
    right = np.bincount(label[prediction == label], minlength=num_classes)
    np.divide(right, counts, out=rates, where=counts > 0)
    return rates


def slope(x: Sequence[float] | Floats, y: Sequence[float] | Floats) -> float:
    """Return the slope of the least-squares line through what is defined; NaN without one."""
    points = np.array([x, y], dtype=np.float64)
    points = points[:, ~np.isnan(points).any(axis=0)]
    if points.shape[1] < 2 or np.ptp(points[0]) == 0:
        return float("nan")
    return float(np.polyfit(points[0], points[1], 1)[0])


def half_width(values: Floats) -> float:
    """Return half the 95 % Student-t interval of the mean of what is defined; NaN for n < 2."""
    defined = values[~np.isnan(values)]
    if len(defined) < 2:
        return float("nan")
    return student_95(len(defined)) * float(defined.std(ddof=1)) / float(np.sqrt(len(defined)))


def slope_numbers(slopes: Floats) -> dict[str, float]:
    """Return the mean of the seeds' slopes and its 95 % interval; NaN where undefined."""
    defined = slopes[~np.isnan(slopes)]
    mean = float(defined.mean()) if len(defined) else float("nan")
    reach = half_width(slopes)
    return {
        "class_slope": mean,
        "class_slope_low": mean - reach,
        "class_slope_high": mean + reach,
    }
