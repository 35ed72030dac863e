"""Choose the forget set of a cell and write its split."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from collateral.data._subset import choose_forget_set, make_split
from collateral.metrics.margins import margins, memorisation
from collateral.plugins.find import FORGET
from collateral.results.dataset import Labels
from collateral.results.outputs import ShadowMargins, StoredOutputs
from collateral.results.provenance import verify
from collateral.results.split import Split
from collateral.stages._options import Code

Floats = NDArray[np.float64]


def split(
    *,
    labels: Annotated[Path, "labels.npz"],
    kind: Annotated[str, "kind of forget set"],
    params: Annotated[str, "parameters of the forget set, as JSON"],
    models: Annotated[Sequence[Path], "outputs of the base, or margins of the shadow models"] = (),
    earlier: Annotated[Sequence[Path], "split.json of every earlier round"] = (),
    code: Code = "",
    out: Annotated[Path, "split.json to write"],
) -> None:
    """Choose the forget set and write split.json."""
    root = labels.parent
    known = Labels.load(verify(labels, root))
    files = [verify(path, root) for path in models]
    read = {"base": read_losses, "shadows": read_memorisation}
    needs = getattr(FORGET.load(kind), "NEEDS", None)
    by_example, measured = read[needs](files, known) if needs else (None, {})
    before = [Split.load(path, root).forget for path in earlier]
    if by_example is not None:
        # Examples of earlier requests get the value NaN, so that they are ranked last.
        by_example = by_example.copy()
        by_example[np.concatenate([np.array([], dtype=np.int64), *before])] = np.nan
    forget, chosen = choose_forget_set(known, kind, json.loads(params), by_example)
    found = make_split(known, forget, chosen, before)
    for name, values in measured.items():
        found.chosen.update({name: mean(values[found.forget]), f"{name}_of_all": mean(values)})
    found.save(out, known, labels, code, [*files, *earlier])


def read_losses(files: Sequence[Path], labels: Labels) -> tuple[Floats, dict[str, Floats]]:
    """Return the base model's loss on each example, and a dict from `mean_loss` to these losses."""
    # The loss is computed from logits, because many stored probabilities are rounded to 1.
    loss: Floats = np.logaddexp(0, -margins(StoredOutputs(files[0], "train").logits, labels.train))
    return loss, {"mean_loss": loss}


def read_memorisation(files: Sequence[Path], _: Labels) -> tuple[Floats, dict[str, Floats]]:
    """Return the memorisation of each example, estimated with each half of the shadow models.

    The first half is used to choose examples, and the second half for the reported mean.
    """
    pool = [ShadowMargins.load(file) for file in files]
    is_in = np.stack([one.is_in for one in pool])
    probability = expit(np.stack([one.margin for one in pool]).astype(np.float64))
    half = len(pool) // 2
    choosing, other = (
        memorisation(is_in[part], probability[part]) for part in (slice(half), slice(half, None))
    )
    return choosing, {"memorisation": other}


def mean(values: Floats) -> float:
    """Return the mean of the defined values to four significant digits."""
    return float(f"{np.nanmean(values):.4g}")
