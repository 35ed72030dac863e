"""Look at a model that somebody else unlearned; what it cost is what the user states."""

import argparse
from pathlib import Path
from typing import cast

from collateral.contract.params import Strict
from collateral.contract.plugins import METHOD
from collateral.contract.seeds import seed_of
from collateral.models._classifier import Classifier
from collateral.stages.options import (
    add_job_options,
    add_weights_options,
    record_of,
    state_cost,
)
from collateral.training.run import Run
from collateral.training.session import open_session, write_results
from collateral.training.weights import about, names_in_file, naming, take_over

GIVEN = "given"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("--run", required=True, help="the run's name")
    parser.add_argument("--data", type=Path, required=True, help="dataset.npz")
    parser.add_argument("--split", type=Path, required=True, help="split.json")
    parser.add_argument("--model", required=True, help="name of the architecture")
    add_weights_options(parser, required=True, help="weights that somebody else unlearned")
    add_job_options(parser)


def run(args: argparse.Namespace) -> None:
    """Take the weights over, and write weights, outputs, record and cost as of a run."""
    record = {
        **{"run": args.run, "kind": METHOD.what, "method": GIVEN},
        **record_of(args, Strict()),
        "weights": about(args.weights, args.rename),
    }
    session = open_session(args.data, args.threads)
    this = Run(session.device, seed_of(GIVEN, args.seed))
    model = session.new_model(args.model)
    with naming(f"given.{args.run}.weights"):
        take_over(cast(Classifier, model), args.weights, args.rename)
    record |= names_in_file(args.weights, args.rename)
    state_cost(args, this.clock.seconds)
    write_results(args.out, model, session, this, record)
