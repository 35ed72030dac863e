"""Choose the forget set of a cell and write its split."""

import json
from pathlib import Path
from typing import Annotated

import numpy as np

from collateral.data._subset import choose_forget_set
from collateral.results.dataset import Labels
from collateral.results.provenance import verify
from collateral.results.split import Split
from collateral.stages._options import Code


def split(
    *,
    labels: Annotated[Path, "labels.npz"],
    kind: Annotated[str, "kind of forget set"],
    params: Annotated[str, "parameters of the forget set, as JSON"],
    code: Code = "",
    out: Annotated[Path, "split.json to write"],
) -> None:
    """Choose the forget set and write split.json."""
    known = Labels.load(verify(labels, labels.parent))
    forget, chosen = choose_forget_set(known, kind, json.loads(params))
    affected = tuple(np.unique(known.train[forget]).tolist())
    Split(forget, len(known.train), affected, chosen).save(out, known, labels, code)
