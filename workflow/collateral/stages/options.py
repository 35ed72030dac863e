"""Options that the stages with a model share, and what they make of them."""

import argparse
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from collateral.contract.params import MethodParams
from collateral.contract.plugins import prepare_values
from collateral.results.chain import INPUTS, hashes
from collateral.results.record import STATED, versions
from collateral.training.checkpoints import INTERVAL_SECONDS, Checkpoints

# Options with files that go in.
READ = ("data", "split", "base", "selected", "teacher", "retrained")


def add_job_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of a job that makes a model."""
    parser.add_argument("--seed", type=int, required=True, help="the seed of the run")
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--checkpoints", type=Path, required=True, help="folder to resume from")
    parser.add_argument(
        "--checkpoint-seconds",
        type=float,
        default=os.environ.get("COLLATERAL_CHECKPOINT_SECONDS", INTERVAL_SECONDS),
        help="how often to save; the default is COLLATERAL_CHECKPOINT_SECONDS, or a minute",
    )
    parser.add_argument("--code", default="", help="fingerprint of the code, for the record")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads")


def add_weights_options(parser: argparse.ArgumentParser, *, required: bool, help: str) -> None:
    """Declare the options of a job that takes a user's own model as it is."""
    parser.add_argument("--weights", type=Path, required=required, help=help)
    parser.add_argument("--rename", type=json.loads, default={}, help="prefixes of names, as JSON")
    parser.add_argument("--rte", type=float, help="seconds that it took, as the user states them")


def state_cost(args: argparse.Namespace, seconds: dict[str, float]) -> None:
    """Put the time that the user states, if they do, in place of one that nobody took."""
    if args.rte is not None:
        seconds[STATED] = args.rte


def add_method_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of a job that runs a method."""
    parser.add_argument("--method", required=True, help="folder of the method")
    parser.add_argument("--params", required=True, help="its parameters, as JSON")
    parser.add_argument("--data", type=Path, required=True, help="dataset.npz")
    parser.add_argument("--split", type=Path, required=True, help="split.json")
    parser.add_argument("--model", required=True, help="name of the architecture")
    parser.add_argument("--base", type=Path, required=True, help="the base model's weights")
    parser.add_argument(
        "--prepared", type=Path, nargs="*", default=[], help="where others keep what they prepared"
    )


def record_of(args: argparse.Namespace, params: BaseModel) -> dict[str, Any]:
    """Return what this job is: parameters, seed, code, versions, and hashes of what it reads."""
    given = [getattr(args, name, None) for name in READ]
    files = [path for one in given for path in (one if isinstance(one, list) else [one]) if path]
    return {
        "model": args.model,
        "params": params.model_dump(mode="json"),
        "seed": args.seed,
        "code": args.code,
        "versions": versions(),
        INPUTS: hashes(files, args.data.parent),
    }


def preparation_record(args: argparse.Namespace, params: MethodParams) -> dict[str, Any]:
    """Return what the first phase of this job's method is."""
    return {
        "method": args.method,
        "model": args.model,
        "params": prepare_values(args.method, params),
        "seed": args.seed,
        "code": args.code,
        "versions": versions(),
        INPUTS: hashes([args.data, args.split, args.base], args.data.parent),
    }


def job_checkpoints(args: argparse.Namespace, record: Mapping[str, Any]) -> Checkpoints:
    """Return this job's checkpoints: those written by the same code for the same record."""
    identity = hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
    return Checkpoints(args.checkpoints, identity, args.checkpoint_seconds)
