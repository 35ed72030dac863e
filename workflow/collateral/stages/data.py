"""Write a data set, cut as its options say: images and labels, and the labels alone."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from collateral.contract.plugins import DATA
from collateral.data._cut import cut
from collateral.data._facts import STATE, state_of
from collateral.data._forget import choose
from collateral.results import layout
from collateral.results.chain import write_record
from collateral.results.dataset import Labels
from collateral.results.record import versions


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this stage."""
    parser.add_argument("--name", required=True, help="data set")
    parser.add_argument("--options", required=True, help="its options, JSON")
    parser.add_argument(
        "--forget",
        type=json.loads,
        nargs="*",
        default=[],
        help='forget sets that must be sound, JSON: {"cell": "", "kind": "", "params": {}}, '
        'and "asked", how many examples must be retained, by the key that asks',
    )
    parser.add_argument("--code", default="", help="fingerprint of the code, for the record")
    parser.add_argument("--out", type=Path, required=True, help="dataset.npz to write")
    parser.add_argument("--labels", type=Path, required=True, help="labels.npz to write")


def run(args: Namespace) -> None:
    """Load the data set, cut it and write it, unless a forget set is not sound."""
    module = DATA.load(args.name)
    options = module.Options.model_validate_json(args.options)
    dataset = cut(module.load(options), options)
    check_forget_sets(dataset.labels, args.forget)
    dataset.save(args.out)
    dataset.labels.save(args.labels)
    about = {"name": args.name, "options": json.loads(args.options), "code": args.code}
    about["versions"] = versions()
    if state := state_of(args.name, options):
        about[STATE] = state
    root = args.out.parent
    write_record(root / layout.DATA_RECORD, about, root=root, files=[args.out, args.labels])


def check_forget_sets(labels: Labels, given: Iterable[Mapping[str, Any]]) -> None:
    """Choose every forget set once: what is wrong with one is said before anything is trained."""
    for one in given:
        try:
            forget, _ = choose(labels, one["kind"], one["params"])
        except ValueError as error:
            raise ValueError(f"cell {one['cell']}: {error}") from None
        retained = len(labels.train) - len(forget)
        for key, count in one.get("asked", {}).items():
            if count > retained:
                found = f"only {retained} examples are retained in {one['cell']}"
                raise ValueError(f"{key}: {count}: {found}")
