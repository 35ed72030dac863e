"""Choose the forget set of a cell and write its split."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

import numpy as np

from collateral.contract.plugins import FORGET
from collateral.results.dataset import Labels
from collateral.results.split import Split


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this stage."""
    parser.add_argument("--labels", type=Path, required=True, help="labels.npz")
    parser.add_argument("--kind", required=True, help="kind of forget set")
    parser.add_argument("--params", required=True, help="its parameters, JSON")
    parser.add_argument("--out", type=Path, required=True, help="split.json to write")


def run(args: Namespace) -> None:
    """Choose the forget set and write it; refuse one that leaves nothing to retain."""
    labels = Labels.load(args.labels)
    kind = FORGET.load(args.kind)
    params = kind.Params.model_validate_json(args.params)
    forget = kind.select(labels, params)
    chosen = {"kind": args.kind, **kind.chosen(labels, params)}
    if len(forget) == len(labels.train):
        raise ValueError(f"forget set {chosen}: all {len(forget)} train examples, none is retained")
    affected = tuple(np.unique(labels.train[forget]).tolist())
    Split(forget, len(labels.train), affected, chosen).save(args.out, labels)
