"""A random share of the train set, whatever the classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pydantic import Field

from collateral.contract.params import Seed, Strict
from collateral.contract.seeds import seed_of
from collateral.contract.shares import share_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from collateral.contract.data import DatasetSize
    from collateral.results.dataset import Labels


class Params(Strict):
    """How much, and which draw."""

    fraction: float = Field(
        gt=0, lt=1, description="The share of all train examples, rounded down."
    )
    split_seed: Seed = Field(0, description="Seed of the random choice.")


def unfit(size: DatasetSize, params: Params) -> Iterator[tuple[str, str]]:
    """Yield a key and what is wrong with its value, as far as the size of the data can tell."""
    if not count(size, params):
        yield "fraction", _no_example(params, size.num_train)


def _no_example(params: Params, total: int) -> str:
    found = f"{params.fraction:g} of the {total} train examples"
    return f"{found} is no example; expected at least one"


def select(labels: Labels, params: Params) -> NDArray[np.int64]:
    """Return the train examples to forget, ascending.

    A smaller share is part of a larger one of the same split seed.
    """
    import numpy as np

    total = len(labels.train)
    count = share_of(total, params.fraction)
    if not count:
        raise ValueError(f"fraction: {_no_example(params, total)}")
    rng = np.random.default_rng(seed_of("forget", params.split_seed))
    return np.sort(rng.permutation(total)[:count])


def count(size: DatasetSize, params: Params) -> int:
    """Return how many examples `select` returns."""
    return share_of(size.num_train, params.fraction)


def chosen(_labels: Labels, params: Params) -> dict[str, Any]:
    """Return `params` for the record."""
    return params.model_dump()
