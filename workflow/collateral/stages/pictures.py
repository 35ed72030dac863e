"""Store the images of the neighbours of the forget set, if the config allows images in results."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from collateral.contract.conventions import NO_PICTURES, Showing
from collateral.metrics.copies import are_copies
from collateral.results import layout
from collateral.results.dataset import Dataset, Neighbours, Pictures
from collateral.results.provenance import INPUTS, hash_files, verify, write_record
from collateral.results.split import Split
from collateral.stages._options import Code, DataFile


def pictures(
    *,
    data: DataFile,
    neighbours: Annotated[Path, "neighbours.npz"],
    withheld: Annotated[
        Sequence[Path], "split.json of each cell whose forgotten examples no cell may show"
    ] = (),
    keep: Annotated[Showing, "images to keep: the config's key `pictures`"],
    code: Code = "",
    out: Annotated[Path, "pictures.npz"],
) -> None:
    """Write the images of the examples that `neighbours` lists, unless withheld, and a record."""
    root = data.parent
    dataset = Dataset.load(verify(data, root))
    nearest = Neighbours.load(verify(neighbours, root))
    forget = [Split.load(path, root).forget for path in withheld]
    forgotten = np.unique(np.concatenate([np.array([], np.int64), *forget]))
    select_pictures(dataset, nearest, forgotten, keep).save(out)
    about = {"keep": keep, "code": code, INPUTS: hash_files([data, neighbours, *withheld], root)}
    write_record(layout.record_path(out), about, root=root, files=[out])


def select_pictures(
    data: Dataset, neighbours: Neighbours, withheld: NDArray[np.int64], keep: Showing
) -> Pictures:
    """Return the images of the listed examples, without withheld images and their copies."""
    index, is_test = neighbours.shown_index, neighbours.shown_set == "test"
    images = np.empty((len(index), *data.train_images.shape[1:]), np.uint8)
    images[is_test] = data.test_images[index[is_test]]
    images[~is_test] = data.train_images[index[~is_test]]
    is_kept = np.full(len(index), keep != NO_PICTURES)
    if len(withheld):
        # This also drops the withheld images themselves, because each image is a copy of itself.
        is_kept &= ~are_copies(images, data.train_images[withheld])
    return Pictures(keep, np.flatnonzero(is_kept), images[is_kept])
