"""A random fraction of the train set, independent of the classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from collateral.contract.conventions import count_share, derive_seed
from collateral.contract.params import Seed, Strict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from collateral.contract.data import DatasetSize
    from collateral.results.dataset import Labels


class Params(Strict):
    """Parameters: the fraction of the train set to forget, and the seed of the random choice."""

    fraction: float = Field(
        gt=0,
        lt=1,
        description="Share of all train examples to forget. The number of examples is rounded "
        "down.",
    )
    split_seed: Seed = Field(0, description="Seed of the random choice.")


def select(labels: Labels, params: Params) -> NDArray[np.int64]:
    """Return the indices of the train examples to forget, ascending.

    A smaller fraction is a subset of a larger one with the same split seed.
    """
    import numpy as np

    count = count_part("fraction", len(labels.train), params.fraction)
    rng = np.random.default_rng(derive_seed("forget", params.split_seed))
    return np.sort(rng.permutation(len(labels.train))[:count])


def count(size: DatasetSize, params: Params) -> int:
    """Return the number of examples that `select` returns; raise if it would return none."""
    return count_part("fraction", size.num_train, params.fraction)


def count_part(key: str, total: int, share: float, of: str = "") -> int:
    """Return the number of examples in the fraction `share` of `total`; raise if it is 0."""
    if not (count := count_share(total, share)):
        found = f"{share:g} of the {total} train examples{of}"
        raise ValueError(f"{key}: {found} is no example; expected at least one")
    return count


def chosen(_labels: Labels, params: Params) -> dict[str, Any]:
    """Return the parameters of the forget set, which are stored in split.json."""
    return params.model_dump()
