"""What shadow models say of every training example, before a method unlearned and after."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collateral.results.arrays import reading
from collateral.results.files import atomic


@dataclass(frozen=True)
class ShadowMargins:
    """A shadow model: which training examples it saw, and its margin of each of them all."""

    is_in: NDArray[np.bool_]  # (N,)
    margin: NDArray[np.float32]  # (N,), log p - log(1 - p) of the true class

    def save(self, path: Path) -> None:
        """Write `path`, an .npz."""
        _save(path, self)

    @staticmethod
    def load(path: Path) -> ShadowMargins:
        """Read what `save` wrote."""
        with reading(path) as file:
            return ShadowMargins(file["is_in"], file["margin"])


@dataclass(frozen=True)
class Exposure:
    """All shadow models, member by member; the margins of one that diverged are not finite."""

    is_in: NDArray[np.bool_]  # (K, N)
    before: NDArray[np.float32]  # (K, N), as trained
    after: NDArray[np.float32]  # (K, N), when each has unlearned what it saw of the forget set

    def save(self, path: Path) -> None:
        """Write `path`, an .npz."""
        _save(path, self)

    @staticmethod
    def load(path: Path) -> Exposure:
        """Read what `save` wrote."""
        with reading(path) as file:
            return Exposure(file["is_in"], file["before"], file["after"])


def _save(path: Path, content: Any) -> None:
    with atomic(path) as temporary:
        arrays = {field.name: getattr(content, field.name) for field in fields(content)}
        np.savez_compressed(temporary, **arrays)
