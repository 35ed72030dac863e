"""Choose the forget set of a cell and write its split."""

import json
from collections.abc import Sequence
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
    earlier: Annotated[Sequence[Path], "split.json of every earlier round"] = (),
    code: Code = "",
    out: Annotated[Path, "split.json to write"],
) -> None:
    """Choose the forget set and write split.json."""
    known = Labels.load(verify(labels, labels.parent))
    forget, chosen = choose_forget_set(known, kind, json.loads(params))
    before = np.array([], dtype=np.int64)
    for path in earlier:
        before = np.union1d(before, Split.load(path, labels.parent).forget)
    if count := np.count_nonzero(np.isin(forget, before)):
        forget, chosen = np.setdiff1d(forget, before), {**chosen, "requested_before": int(count)}
    if not len(forget):
        raise ValueError(f"forget set {chosen}: all of it was requested in earlier rounds")
    affected = tuple(np.unique(known.train[forget]).tolist())
    found = Split(forget, len(known.train), affected, chosen, before)
    if not len(found.retain):
        raise ValueError(f"forget set {chosen}: with earlier rounds, no example is retained")
    found.save(out, known, labels, code, earlier)
