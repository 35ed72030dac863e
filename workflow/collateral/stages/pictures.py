"""Store images of the neighbours of the forget set, and of those that a method hurts most.

No image is stored that the config does not allow in results.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from collateral.contract.conventions import NO_PICTURES, Showing
from collateral.metrics.copies import are_copies
from collateral.results import layout
from collateral.results.dataset import Dataset, Neighbours, Pictures
from collateral.results.hurt import NUM_WORST, find_hurt, mean_confidence
from collateral.results.provenance import INPUTS, hash_files, verify, write_record
from collateral.results.split import Split
from collateral.stages._options import Code, DataFile, SplitFile


def pictures(
    *,
    data: DataFile,
    split: SplitFile,
    neighbours: Annotated[Path, "neighbours.npz"],
    reference: Annotated[Sequence[Path], "outputs.npz of Retrain or the base, one per seed"] = (),
    outputs: Annotated[Sequence[Path], "outputs.npz of all methods and seeds"] = (),
    withheld: Annotated[
        Sequence[Path], "split.json of each cell whose forgotten examples no cell may show"
    ] = (),
    keep: Annotated[Showing, "images to keep: the config's key `pictures`"],
    code: Code = "",
    out: Annotated[Path, "pictures.npz"],
) -> None:
    """Write the images of nearest and most hurt examples, unless withheld, and a record."""
    root = data.parent
    dataset = Dataset.load(verify(data, root))
    nearest = Neighbours.load(verify(neighbours, root))
    forget = [Split.load(path, root).forget for path in withheld]
    forgotten = np.unique(np.concatenate([np.array([], np.int64), *forget]))
    for path in (*reference, *outputs):
        verify(path, root)
    hurt = _find_worst(Split.load(split, root), reference, outputs)
    listed = set(zip(nearest.shown_set.tolist(), nearest.shown_index.tolist(), strict=True))
    more = [one for one in dict.fromkeys(hurt) if one not in listed]
    select_pictures(dataset, nearest, more, forgotten, keep).save(out)
    files = [data, split, neighbours, *withheld, *reference, *outputs]
    about = {"keep": keep, "code": code, INPUTS: hash_files(files, root)}
    write_record(layout.record_path(out), about, root=root, files=[out])


def _find_worst(
    split: Split, reference: Sequence[Path], outputs: Sequence[Path]
) -> Iterator[tuple[str, int]]:
    """Yield subset and index of the examples that each method hurts most."""
    by_run = defaultdict(list)
    for path in outputs:
        by_run[path.parent.name].append(path)
    if by_run:
        before = mean_confidence(reference)
        for files in by_run.values():
            for name, index in find_hurt(split, before, mean_confidence(files)).items():
                yield from ((name, k) for k in index[:NUM_WORST].tolist())


def select_pictures(
    data: Dataset,
    neighbours: Neighbours,
    hurt: Sequence[tuple[str, int]],
    withheld: NDArray[np.int64],
    keep: Showing,
) -> Pictures:
    """Return the images of the listed and hurt examples, without withheld ones and their copies."""
    hurt_set = np.array([name for name, _ in hurt], dtype=neighbours.shown_set.dtype)
    hurt_index = np.array([k for _, k in hurt], dtype=np.int64)
    index = np.concatenate([neighbours.shown_index, hurt_index])
    is_test = np.concatenate([neighbours.shown_set, hurt_set]) == "test"
    images = np.empty((len(index), *data.train_images.shape[1:]), np.uint8)
    images[is_test] = data.test_images[index[is_test]]
    images[~is_test] = data.train_images[index[~is_test]]
    is_kept = np.full(len(index), keep != NO_PICTURES)
    if len(withheld):
        # This also drops the withheld images themselves, because each image is a copy of itself.
        is_kept &= ~are_copies(images, data.train_images[withheld])
    return Pictures(keep, np.flatnonzero(is_kept), images[is_kept], hurt_set, hurt_index)
