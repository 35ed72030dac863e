"""The known part of the train examples that `data.patched` or `data.mislabelled` corrupted.

The others stay among the retained examples, since nobody knows them; Retrain alone is trained
without all corrupted examples, so that it is what a method should reach (corrective unlearning).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from collateral.contract.conventions import derive_seed
from collateral.contract.params import Seed, Strict
from collateral.data._corruption import COLUMN, YES
from collateral.data.forget.random_part import count_part

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from collateral.contract.data import DatasetSize
    from collateral.results.dataset import Labels


class Params(Strict):
    """Parameters: the share of the corrupted examples that is known, and the seed of the choice."""

    known: float = Field(
        1.0,
        gt=0,
        le=1,
        description="Share of the corrupted examples that is known and forgotten, rounded down. "
        "Goel et al.: 0.1 to 1.",
    )
    split_seed: Seed = Field(0, description="Seed of the random choice.")


def select(labels: Labels, params: Params) -> NDArray[np.int64]:
    """Return the indices of the known corrupted examples, ascending.

    A smaller share is a subset of a larger one with the same split seed.
    """
    import numpy as np

    members = unknown(labels)
    rng = np.random.default_rng(derive_seed("forget", params.split_seed, COLUMN))
    chosen = rng.permutation(members)[: _count(len(members), params)]
    return np.sort(chosen)


def unknown(labels: Labels) -> NDArray[np.int64]:
    """Return all corrupted examples, ascending: Retrain is trained without those not known, too."""
    import numpy as np

    if COLUMN not in labels.columns:
        return np.array([], dtype=np.int64)
    return np.flatnonzero(labels.columns[COLUMN] == YES)


def count(size: DatasetSize, params: Params) -> int:
    """Return the number of examples that `select` returns; raise if it would return none."""
    return _count(size.corrupted, params)


def _count(total: int, params: Params) -> int:
    if not total:
        raise ValueError("known: no train example is corrupted; give data.patched or mislabelled")
    return count_part("known", total, params.known, " that are corrupted")


def chosen(_labels: Labels, params: Params) -> dict[str, Any]:
    """Return the parameters of the forget set, which are stored in split.json."""
    return params.model_dump()
