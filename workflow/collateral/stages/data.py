"""Write a data set, cut as its options say: images and labels, and the labels alone."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from collateral.contract.plugins import DATA
from collateral.data._cut import cut


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this stage."""
    parser.add_argument("--name", required=True, help="data set")
    parser.add_argument("--options", required=True, help="its options, JSON")
    parser.add_argument("--out", type=Path, required=True, help="dataset.npz to write")
    parser.add_argument("--labels", type=Path, required=True, help="labels.npz to write")


def run(args: Namespace) -> None:
    """Load the data set, cut it and write it."""
    module = DATA.load(args.name)
    options = module.Options.model_validate_json(args.options)
    dataset = cut(module.load(options), options)
    dataset.save(args.out)
    dataset.labels.save(args.labels)
