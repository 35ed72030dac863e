"""Linear algebra over a leading axis of runs; vectors are the last axis, matrices the last two."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]  # float64; numpy's own types do not follow it through `solve` and powers


def solve(A: Array, b: Array) -> Array:
    """Return A^-1 b for each run."""
    return np.linalg.solve(A, b[..., None])[..., 0]


def square_norm(x: Array) -> Array:
    """Return |x|^2 along the last axis."""
    return np.vecdot(x, x)


def join(a: Array, b: Array) -> Array:
    """Concatenate vectors, (..., m) and (..., n), whose leading axes broadcast."""
    leading = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    parts = [np.broadcast_to(part, (*leading, part.shape[-1])) for part in (a, b)]
    return np.concatenate(parts, axis=-1)


def at_step(values: Array, like: Array) -> Array:
    """Give one value per step, (T,), as many axes as a trajectory, (T, ..., d)."""
    return np.expand_dims(values, tuple(range(1, like.ndim)))
