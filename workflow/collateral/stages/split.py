"""Choose the forget set of a cell and write its split."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from collateral.data._subset import choose_forget_set
from collateral.metrics.klom import margins
from collateral.metrics.memorisation import memorisation
from collateral.plugins.find import FORGET
from collateral.results.dataset import Labels
from collateral.results.experiments import ShadowMargins
from collateral.results.outputs import StoredOutputs
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
    code: Code = "",
    out: Annotated[Path, "split.json to write"],
) -> None:
    """Choose the forget set and write split.json."""
    root = labels.parent
    known = Labels.load(verify(labels, root))
    files = [verify(path, root) for path in models]
    read = {"base": read_losses, "shadows": read_memorisation}
    needs = getattr(FORGET.load(kind), "NEEDS", None)
    values, measured = read[needs](files, known) if needs else (None, {})
    forget, chosen = choose_forget_set(known, kind, json.loads(params), values)
    for name, by_example in measured.items():
        chosen |= {name: mean(by_example[forget]), f"{name}_of_all": mean(by_example)}
    affected = tuple(np.unique(known.train[forget]).tolist())
    Split(forget, len(known.train), affected, chosen).save(out, known, labels, code, files)


def read_losses(files: Sequence[Path], labels: Labels) -> tuple[Floats, dict[str, Floats]]:
    """Return the losses of the base by which examples are chosen, and again to report means."""
    # From logits, because stored probabilities of many examples are rounded to 1.
    loss: Floats = np.logaddexp(0, -margins(StoredOutputs(files[0], "train").logits, labels.train))
    return loss, {"mean_loss": loss}


def read_memorisation(files: Sequence[Path], _: Labels) -> tuple[Floats, dict[str, Floats]]:
    """Return memorisation by the first half of the pool to choose, by the second to report."""
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
