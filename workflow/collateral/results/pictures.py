"""The images that the page of a cell may show: pictures.npz."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from collateral.contract.showing import Showing
from collateral.results.arrays import ArrayFile


@dataclass(frozen=True)
class Pictures(ArrayFile):
    """Images of those examples listed in neighbours.npz whose pictures may be shown."""

    keep: Showing  # the config's choice
    place: NDArray[np.int64]  # (P,), places among the listed examples, ascending
    images: NDArray[np.uint8]  # (P, H, W, C)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Pictures:
        """Return the pictures whose `to_arrays` returned these arrays."""
        return cls(cast(Showing, str(arrays["keep"])), arrays["place"], arrays["images"])
