"""Train a model from scratch: the base on everything, or the reference without the forget set."""

import argparse
import logging
from pathlib import Path

from collateral.contract.params import TrainingParams
from collateral.contract.plugins import MODEL
from collateral.contract.seeds import seed_of
from collateral.models._facts import UNKNOWN, WORK, declared_work
from collateral.results.split import Split, ids_hash
from collateral.stages.options import add_job_options, job_checkpoints, record_of
from collateral.training.fit import fit
from collateral.training.run import Run
from collateral.training.session import open_session, write_results

LOG = logging.getLogger(__name__)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("--data", type=Path, required=True, help="dataset.npz")
    parser.add_argument("--split", type=Path, help="split.json; without it, train on everything")
    parser.add_argument("--model", required=True, help="name of the architecture")
    parser.add_argument("--params", required=True, help="training parameters, as JSON")
    add_job_options(parser)


def run(args: argparse.Namespace) -> None:
    """Train, and write weights, outputs, history, record and cost."""
    role = "retrain" if args.split else "base"
    _tell_of_limits(args.model)
    params = TrainingParams.model_validate_json(args.params)
    record = {"run": role, "kind": "reference", **record_of(args, params)}
    session = open_session(args.data, args.threads)
    examples = session.train
    if args.split:
        examples = session.task(Split.load(args.split, session.folder)).retain
    record["trained_on"] = ids_hash(examples.rows.cpu().numpy())
    checkpoints = job_checkpoints(args, record)
    this = Run(session.device, seed_of(role, args.seed), checkpoints=checkpoints)
    with this.phase("train"):
        model = fit(session.new_model(args.model), examples, session.test, params, this)
    write_results(args.out, model, session, this, record, with_embeddings=role == "base")
    checkpoints.clear()


def _tell_of_limits(model: str) -> None:
    """Name the default that stands in where a model of the user's own does not say its work."""
    if MODEL.is_plugged_in(model) and declared_work(model) is None:
        LOG.info("model: %s has no %s: its time limits are those of %s", model, WORK, UNKNOWN)
