"""The control `original`: the base model's outputs, taken over as they are; no torch needed."""

import argparse
import shutil
from pathlib import Path

from collateral import paths
from collateral.core.files import atomic, read_json, write_json, write_rows
from collateral.core.record import cost, file_hash


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("--base", type=Path, required=True, help="the base model's folder")
    parser.add_argument("--seed", type=int, required=True, help="the seed of the run")
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")


def run(args: argparse.Namespace) -> None:
    """Copy weights and outputs; write a record of their own."""
    for name in (paths.MODEL, paths.OUTPUTS):
        with atomic(args.out / name) as temporary:
            shutil.copyfile(args.base / name, temporary)
    write_rows(args.out / paths.HISTORY, ["loop", "epoch"], [])
    base = read_json(args.base / paths.RECORD)
    record = {
        **{key: base[key] for key in ("model", "status", "versions")},
        "run": "original",
        "kind": "control",
        "method": "original",
        "params": {},
        "seed": args.seed,
        "extra": {},
        "inputs": {"base": file_hash(args.base / paths.MODEL)},
    }
    write_json(args.out / paths.RECORD, record)
    write_json(args.out / paths.COST, cost({}, device="none", threads=1, peak_device_mb=None))
