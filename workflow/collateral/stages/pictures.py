"""Keep the images of the listed neighbours, as far as the config lets results contain them."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from collateral.contract.showing import NO_PICTURES, SHOWINGS, Showing
from collateral.findings.gates.copies import are_copies
from collateral.results import layout
from collateral.results.chain import INPUTS, checked, hashes, write_record
from collateral.results.dataset import Dataset
from collateral.results.neighbours import Neighbours
from collateral.results.pictures import Pictures
from collateral.results.split import Split


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the files that go in and come out."""
    parser.add_argument("--data", type=Path, required=True, help="dataset.npz")
    parser.add_argument("--neighbours", type=Path, required=True, help="neighbours.npz")
    parser.add_argument(
        "--withheld",
        type=Path,
        nargs="*",
        default=[],
        help="split.json of each cell whose forgotten examples no cell may show",
    )
    parser.add_argument("--keep", choices=SHOWINGS, required=True, help="the key `pictures`")
    parser.add_argument("--code", default="", help="fingerprint of the code, for the record")
    parser.add_argument("--out", type=Path, required=True, help="pictures.npz")


def run(args: Namespace) -> None:
    """Read data, neighbours and forget sets; write the pictures and their record."""
    root = args.data.parent
    data = Dataset.load(checked(args.data, root))
    neighbours = Neighbours.load(checked(args.neighbours, root))
    forget = [Split.load(path, root).forget for path in args.withheld]
    withheld = np.unique(np.concatenate([np.array([], np.int64), *forget]))
    pictures_of(data, neighbours, withheld, args.keep).save(args.out)
    inputs = hashes([args.data, args.neighbours, *args.withheld], root)
    about = {"keep": args.keep, "code": args.code, INPUTS: inputs}
    write_record(layout.record_of(args.out), about, root=root, files=[args.out])


def pictures_of(
    data: Dataset, neighbours: Neighbours, withheld: NDArray[np.int64], keep: Showing
) -> Pictures:
    """Take the images of the listed examples, without withheld ones and copies of these."""
    index, is_test = neighbours.shown_index, neighbours.shown_set == "test"
    images = np.empty((len(index), *data.train_images.shape[1:]), np.uint8)
    images[is_test] = data.test_images[index[is_test]]
    images[~is_test] = data.train_images[index[~is_test]]
    is_kept = np.full(len(index), keep != NO_PICTURES)
    if len(withheld):
        is_kept &= ~are_copies(images, data.train_images[withheld])  # each is a copy of itself
    return Pictures(keep, np.flatnonzero(is_kept), images[is_kept])
