"""Options that all stages with a model share."""

import argparse
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from collateral.training.checkpoints import Checkpoints


def add_job_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of a job that makes a model."""
    parser.add_argument("--seed", type=int, required=True, help="the seed of the run")
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--checkpoints", type=Path, required=True, help="folder to resume from")
    parser.add_argument("--code", default="", help="fingerprint of the code, for the record")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads")
    parser.add_argument("--plugins", type=Path, nargs="*", default=[], help="folders of methods")


def job_checkpoints(args: argparse.Namespace, record: Mapping[str, Any]) -> Checkpoints:
    """Return this job's checkpoints: those written by the same code for the same record."""
    identity = hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
    return Checkpoints(args.checkpoints, identity)
