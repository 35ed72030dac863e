"""The images that the page of a cell may show: pictures.npz."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from collateral.contract.showing import Showing
from collateral.results.arrays import reading
from collateral.results.files import atomic


@dataclass(frozen=True)
class Pictures:
    """Images of those examples listed in neighbours.npz whose pictures may be shown."""

    keep: Showing  # the config's choice
    place: NDArray[np.int64]  # (P,), places among the listed examples, ascending
    images: NDArray[np.uint8]  # (P, H, W, C)

    def save(self, path: Path) -> None:
        """Write `path`, an .npz."""
        with atomic(path) as temporary:
            np.savez(temporary, keep=self.keep, place=self.place, images=self.images)

    @staticmethod
    def load(path: Path) -> Pictures:
        """Read what `save` wrote."""
        with reading(path) as file:
            return Pictures(cast(Showing, str(file["keep"])), file["place"], file["images"])
