"""Store the images of the neighbours of the forget set, if the config allows images in results."""

import numpy as np
from numpy.typing import NDArray

from collateral.contract.conventions import NO_PICTURES, Showing
from collateral.jobs.pictures import PicturesJob
from collateral.metrics.copies import are_copies
from collateral.results.dataset import Dataset, Neighbours, Pictures
from collateral.results.record import Made
from collateral.results.split import Split
from collateral.stages._workspace import Workspace


def run(job: PicturesJob, place: Workspace) -> Made:
    """Write the images of the examples that `neighbours` lists, unless they are withheld."""
    dataset = Dataset.load(place.input("data"))
    nearest = Neighbours.load(place.input("neighbours"))
    forget = [Split.load(path, place.root).forget for path in place.inputs("withheld")]
    forgotten = np.unique(np.concatenate([np.array([], np.int64), *forget]))
    select_pictures(dataset, nearest, forgotten, job.keep).save(place.output("pictures"))
    return Made({})


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
