"""Run one unlearning method, or a control, from the base model; write what it makes of it."""

import argparse
import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from collateral.contract.params import MethodParams
from collateral.contract.plugins import kind_of, params_class, prepared_name
from collateral.findings.accuracy.numbers import accuracies
from collateral.results import layout
from collateral.results.chain import INPUTS, checked, hashes
from collateral.results.epochs import answers_in
from collateral.results.outputs import StoredOutputs
from collateral.results.split import Split
from collateral.stages.options import (
    add_job_options,
    add_method_options,
    job_checkpoints,
    preparation_record,
    record_of,
)
from collateral.training.checkpoints import Checkpoints
from collateral.training.execution import Method, Prepared, chosen_params, method_of, prepared_in
from collateral.training.inference import outputs_of
from collateral.training.run import Tracker
from collateral.training.session import Session, open_session, write_results


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("--run", required=True, help="the run's name")
    parser.add_argument("--selected", type=Path, nargs="*", default=[], help="the tuning's choice")
    parser.add_argument("--vary", default="{}", help="what a sweep varies, as JSON")
    parser.add_argument("--retrained", type=Path, nargs="*", default=[], help="Retrain's outputs")
    parser.add_argument("--track", action="store_true", help="evaluate after every epoch")
    add_method_options(parser)
    add_job_options(parser)


def run(args: argparse.Namespace) -> None:
    """Unlearn, and write weights, outputs, history, record and cost."""
    params = chosen_params(args, params_class(args.method), **json.loads(args.vary))
    args.retrained = args.retrained[0] if args.retrained else None
    kind = kind_of(args.method).what
    record = {"run": args.run, "kind": kind, "method": args.method, **record_of(args, params)}
    session = open_session(args.data, args.threads)
    split = Split.load(args.split, session.folder)
    method = method_of(args, session, split)
    # The history of a run that was not tracked is of no use to one that is.
    checkpoints = job_checkpoints(args, {**record, "tracked": args.track})
    tracker = tracker_of(session, split) if args.track else None
    inputs: list[Any] = []
    prepared = None
    if method.has_prepare:
        prepared, taken = preparation(args, session, method, params, checkpoints)
        record[INPUTS] |= hashes(taken, session.folder)
        inputs = [prepared.tensors]
    elif args.retrained:
        retrained = checked(args.retrained, session.folder)
        inputs = [soft_labels(retrained, split).to(session.device)]
    model, this = method.unlearn(params, *inputs, checkpoints=checkpoints, tracker=tracker)
    if prepared:
        prepared.add_to(this)
    (args.out / layout.EPOCHS).unlink(missing_ok=True)  # of the run when it was tracked
    write_results(args.out, model, session, this, record)
    checkpoints.clear()


def preparation(
    args: argparse.Namespace,
    session: Session,
    method: Method,
    params: MethodParams,
    checkpoints: Checkpoints,
) -> tuple[Prepared, list[Path]]:
    """Return what another job prepared, and its file; where none did, prepare, and keep it."""
    own = args.out / layout.PREPARED
    shutil.rmtree(own, ignore_errors=True)
    if shared := prepared_in(args.prepared, args.method, params, session.folder):
        folder, prepared = shared
        return prepared, [folder / layout.PREPARED_TENSORS]
    prepared = method.prepare(params, checkpoints.within("prepare"))
    folder = own / prepared_name(args.method, params)
    record = preparation_record(args, params)
    prepared.save(folder, session.device, session.folder, record)
    return prepared, []


def tracker_of(session: Session, split: Split) -> Tracker:
    """Return a function: a model in, its accuracies and what it says of every example out."""
    labels = session.data.labels

    def measure(model: nn.Module) -> dict[str, float | Tensor]:
        seen, _ = outputs_of(model, session.train, session.test)
        found = accuracies(seen.train.prediction, seen.test.prediction, labels, split)
        is_defined = all(np.isfinite(part.confidence).all() for part in (seen.train, seen.test))
        numbers = found if is_defined else dict.fromkeys(found, math.nan)
        kept = {name: torch.from_numpy(array) for name, array in answers_in(seen).items()}
        return {**numbers, **kept}

    return measure


def soft_labels(retrained: Path, split: Split) -> Tensor:
    """Return the class probabilities that Retrain gives the forget set."""
    logits = StoredOutputs(retrained, "train").logits[split.forget]
    return torch.from_numpy(logits).float().softmax(1)
