"""Similarity of models' logits: equal rows, which base a model comes from, unexplained rest.

A model that was made from a base model keeps what distinguishes this base from those of other
seeds, so that the base it came from can be recognised. Logits are centred: each row has mean 0 over
the classes, because a constant that is added to all logits of an example changes no probability.
"""

import numpy as np
from scipy.optimize import linear_sum_assignment

from collateral.metrics.arrays import AnyFloats, Floats, Mask, Singles


def equal_rows(first: AnyFloats, second: AnyFloats) -> Mask:
    """Tell for each example whether two models have the same logits, bit by bit in float16."""
    one, other = first.astype(np.float16, copy=False), second.astype(np.float16, copy=False)
    same: Mask = (one == other).all(axis=1)
    return same


def centre(logits: AnyFloats) -> Singles:
    """Return the centred logits of all examples as one vector."""
    found = logits.astype(np.float32)
    found -= found.mean(axis=1, keepdims=True)
    return found.ravel()


def explain(vector: Singles, others: list[Singles]) -> tuple[float, Floats]:
    """Return the part of a vector's square norm that other vectors leave, and their weights.

    The weights are those of least squares.
    """
    columns = np.stack(others, axis=1).astype(np.float64)
    target = vector.astype(np.float64)
    # Normal equations, because there are few columns and up to millions of rows.
    weights = np.linalg.lstsq(columns.T @ columns, columns.T @ target, rcond=1e-12)[0].astype(
        np.float64
    )
    left = target - columns @ weights
    total = float(target @ target)
    return (float(left @ left) / total if total else 0.0), weights


def seed_parts(models: list[Singles]) -> Floats:
    """Return what each seed's model does not share with those of other seeds, as unit vectors.

    Models of all seeds agree on most examples. Without this common part, only models that come from
    the same base have parts that are alike. Shape: (seeds, values).
    """
    found = _unit_rows(np.stack(models).astype(np.float64))
    return _unit_rows(found - found.mean(axis=0))


def _unit_rows(vectors: Floats) -> Floats:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)


def match(parts: Floats, others: Floats) -> tuple[float, float, list[int]]:
    """Return the mean cosine with the models of the same seeds, and that of the best assignment.

    The assignment is a list: for each seed the position of the seed whose model it is like.
    """
    cosines = parts @ others.T
    rows, columns = linear_sum_assignment(-cosines)
    return float(np.diag(cosines).mean()), float(cosines[rows, columns].mean()), columns.tolist()


def paired_excess(only: Mask, lost: Mask) -> float:
    """Return by how many deviations one model is right alone more often than it is wrong alone.

    Both arrays have shape (seeds, examples). Seeds of one example are counted together, because the
    models of all seeds err on the same examples: k examples give at most the square root of k.
    """
    surplus = only.sum(axis=0, dtype=np.int64) - lost.sum(axis=0, dtype=np.int64)
    deviation = float(np.sqrt((surplus**2).sum()))
    return float(surplus.sum()) / deviation if deviation else 0.0
