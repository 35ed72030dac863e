"""Choose the forget set of a cell and write its split."""

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path

import numpy as np

from collateral.data._forget import choose
from collateral.results.chain import checked
from collateral.results.dataset import Labels
from collateral.results.split import Split


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this stage."""
    parser.add_argument("--labels", type=Path, required=True, help="labels.npz")
    parser.add_argument("--kind", required=True, help="kind of forget set")
    parser.add_argument("--params", required=True, help="its parameters, JSON")
    parser.add_argument("--code", default="", help="fingerprint of the code, for the record")
    parser.add_argument("--out", type=Path, required=True, help="split.json to write")


def run(args: Namespace) -> None:
    """Choose the forget set and write it."""
    labels = Labels.load(checked(args.labels, args.labels.parent))
    forget, chosen = choose(labels, args.kind, json.loads(args.params))
    affected = tuple(np.unique(labels.train[forget]).tolist())
    split = Split(forget, len(labels.train), affected, chosen)
    split.save(args.out, labels, args.labels, args.code)
