"""Choose a forget set by its kind in the config."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from collateral.contract.plugins import FORGET

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from collateral.results.dataset import Labels


def choose_forget_set(
    labels: Labels, kind: str, params: Mapping[str, Any]
) -> tuple[NDArray[np.int64], dict[str, Any]]:
    """Return the forget set and its description; refuse one that contains all train examples."""
    module = FORGET.load(kind)
    given = module.Params.model_validate(params)
    forget = module.select(labels, given)
    chosen = {"kind": kind, **module.chosen(labels, given)}
    if len(forget) == len(labels.train):
        raise ValueError(f"forget set {chosen}: all {len(forget)} train examples, none is retained")
    return forget, chosen
