"""Every n-th train example."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from collateral.contract.data import DatasetSize
    from collateral.results.dataset import Labels

EXAMPLES = ({"step": 2}, {"step": 5})


class Params(BaseModel):
    """How many are left out between two."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    step: int = Field(ge=2, description="From one to the next.")


def select(labels: Labels, params: Params) -> NDArray[np.int64]:
    """Return the train examples to forget, ascending."""
    import numpy as np  # noqa: PLC0415

    return np.arange(0, len(labels.train), params.step)


def count(size: DatasetSize, params: Params) -> int:
    """Return how many examples `select` returns."""
    return -(-size.num_train // params.step)


def chosen(_labels: Labels, params: Params) -> dict[str, Any]:
    """Return `params` for the record."""
    return params.model_dump()
