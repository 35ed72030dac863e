"""Memorisation of single examples (Feldman and Zhang, 2020), from a pool of models."""

import numpy as np

from collateral.metrics.arrays import Floats, Mask


def memorisation(is_in: Mask, values: Floats) -> Floats:
    """Return each example's mean value over models that saw it, minus that over the others.

    `is_in` and `values` are (models, examples); the values are correctness or probabilities. NaN
    for an example that every model saw, or that no model saw.
    """
    seen, unseen = is_in.sum(axis=0), (~is_in).sum(axis=0)
    with np.errstate(invalid="ignore"):
        return (values * is_in).sum(axis=0) / seen - (values * ~is_in).sum(axis=0) / unseen
