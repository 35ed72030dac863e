"""Train a model: the base on everything, or the reference without the forget set.

From scratch, or from weights of the user's own; a model that is the user's own is taken as it is.
"""

import argparse
import logging
from pathlib import Path
from typing import Any, cast

from torch import nn

from collateral.contract.params import TrainingParams
from collateral.contract.plugins import MODEL
from collateral.contract.seeds import seed_of
from collateral.models._classifier import Classifier
from collateral.models._facts import UNKNOWN, WORK, declared_work
from collateral.results.split import Split, ids_hash
from collateral.stages.options import (
    add_job_options,
    add_weights_options,
    job_checkpoints,
    record_of,
    state_cost,
)
from collateral.training.examples import Examples
from collateral.training.fit import fit
from collateral.training.inference import accuracy
from collateral.training.run import Run
from collateral.training.session import Session, open_session, write_results
from collateral.training.weights import about, names_in_file, naming, start_from, take_over

LOG = logging.getLogger(__name__)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("--data", type=Path, required=True, help="dataset.npz")
    parser.add_argument("--split", type=Path, help="split.json; without it, train on everything")
    parser.add_argument("--model", required=True, help="name of the architecture")
    parser.add_argument("--params", required=True, help="training parameters, as JSON")
    parser.add_argument("--init", type=Path, help="weights to start from")
    add_weights_options(parser, required=False, help="weights of a model that is trained already")
    add_job_options(parser)


def run(args: argparse.Namespace) -> None:
    """Train, and write weights, outputs, history, record and cost."""
    role = "retrain" if args.split else "base"
    _tell_of_limits(args.model)
    params = TrainingParams.model_validate_json(args.params)
    record = {"run": role, "kind": "reference", **record_of(args, params), **_started(args)}
    session = open_session(args.data, args.threads)
    examples = session.train
    if args.split:
        examples = session.task(Split.load(args.split, session.folder)).retain
    if not args.weights:
        # With a held-out share among them, by which `best_validation` chooses the epoch.
        record["trained_on"] = ids_hash(examples.rows.cpu().numpy())
    checkpoints = job_checkpoints(args, record)
    this = Run(session.device, seed_of(role, args.seed), checkpoints=checkpoints)
    model = _model(args, session, examples)
    if args.weights:
        record |= names_in_file(args.weights, args.rename)
        state_cost(args, this.clock.seconds)
    else:
        with this.phase("train"):
            model = fit(model, examples, session.test, params, this)
    write_results(args.out, model, session, this, record, with_embeddings=role == "base")
    checkpoints.clear()


def _started(args: argparse.Namespace) -> dict[str, Any]:
    """Return what the record says of a user's file; how their model was trained, it cannot."""
    if args.weights:
        return {"weights": about(args.weights, args.rename), "params": {}}
    return {"init": about(args.init, args.rename)} if args.init else {}


def _model(args: argparse.Namespace, session: Session, examples: Examples) -> nn.Module:
    """Return the model to train, or the user's own if it knows what it was trained on."""
    model = session.new_model(args.model)
    if args.init:
        with naming("init.weights"):
            start_from(cast(Classifier, model), args.init, args.rename)
    if args.weights:
        with naming("retrain.weights" if args.split else "base.weights"):
            take_over(cast(Classifier, model), args.weights, args.rename)
            _check_accuracy(accuracy(model, examples), session.data.info.num_classes)
    return model


def _check_accuracy(found: float, num_classes: int) -> None:
    """Refuse a model that hardly knows its train set: something is not as it was when trained."""
    # Of two classes, twice guessing would be perfect: there, half the way to it.
    least = min(2 / num_classes, (1 + 1 / num_classes) / 2)
    if found < least:
        raise ValueError(
            f"train accuracy {100 * found:.1f} %, below {100 * least:.1f} %, so hardly more than "
            "guessing: state the normalisation that the model was trained with (data.mean, "
            "data.std), and the classes in its order (data.classes)"
        )


def _tell_of_limits(model: str) -> None:
    """Name the default that stands in where a model of the user's own does not say its work."""
    if MODEL.is_plugged_in(model) and declared_work(model) is None:
        LOG.info("model: %s has no %s: its time limits are those of %s", model, WORK, UNKNOWN)
