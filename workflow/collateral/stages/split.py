"""Choose the forget set of a cell."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from collateral.data._subset import choose_forget_set, make_split
from collateral.jobs.split import SplitJob
from collateral.metrics.margins import margins, memorisation
from collateral.metrics.pixel_values import distance_from_class_mean
from collateral.results.dataset import Dataset, Labels
from collateral.results.outputs import ShadowMargins, StoredOutputs
from collateral.results.record import Made
from collateral.results.split import Split
from collateral.stages._workspace import Workspace

Floats = NDArray[np.float64]
DIGITS = 6  # decimal places of memorisation in split.json


def run(job: SplitJob, place: Workspace) -> Made:
    """Choose the forget set, which is the record of the job."""
    known = Labels.load(place.input("labels"))
    read = {"base": read_losses, "shadows": read_memorisation, "images": read_distances}
    by_example, measured = (
        read[job.needs](place.inputs("needed"), known) if job.needs else (None, {})
    )
    before = [Split.load(path, place.root).forget for path in place.inputs("earlier")]
    if by_example is not None:
        # Examples of earlier requests get the value NaN, so that they are ranked last.
        by_example = by_example.copy()
        by_example[np.concatenate([np.array([], dtype=np.int64), *before])] = np.nan
    forget, chosen = choose_forget_set(known, job.forget, job.params, by_example)
    found = make_split(known, forget, chosen, before)
    if job.needs == "shadows" and by_example is not None:
        memorised = np.nan_to_num(by_example[found.forget]).round(DIGITS)
        found = replace(found, memorised=memorised)
    for name, values in measured.items():
        found.chosen.update({name: mean(values[found.forget]), f"{name}_of_all": mean(values)})
    return Made(found.content(known))


def read_losses(files: Sequence[Path], labels: Labels) -> tuple[Floats, dict[str, Floats]]:
    """Return the base model's loss on each example, and a dict from `mean_loss` to these losses."""
    # The loss is computed from logits, because many stored probabilities are rounded to 1.
    loss: Floats = np.logaddexp(0, -margins(StoredOutputs(files[0], "train").logits, labels.train))
    return loss, {"mean_loss": loss}


def read_distances(files: Sequence[Path], labels: Labels) -> tuple[Floats, dict[str, Floats]]:
    """Return each image's distance from the mean image of its class, and a dict with its name."""
    distance = distance_from_class_mean(Dataset.load(files[0]).train_images, labels.train)
    return distance, {"mean_distance": distance}


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
