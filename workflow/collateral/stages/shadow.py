"""Train a model of the shadow pool: as the base is, on a random share of the train set."""

import argparse
import json
from pathlib import Path
from typing import Any, cast

import torch

from collateral.contract.params import TrainingParams
from collateral.contract.seeds import seed_of
from collateral.models._classifier import Classifier
from collateral.results import layout
from collateral.results.chain import content_hash, write_record
from collateral.results.experiments import ShadowMargins
from collateral.results.files import write_rows
from collateral.results.split import ids_hash
from collateral.stages.options import add_job_options, job_checkpoints, record_of
from collateral.training.fit import fit
from collateral.training.numerics import numerics_of
from collateral.training.run import Run
from collateral.training.session import open_session, write_cost, write_tensors
from collateral.training.shadows import margins_of, membership
from collateral.training.weights import start_from

PLACE = ("loop", "epoch")  # the first columns of a history


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line; the seed is the number of the model in its pool."""
    parser.add_argument("--count", type=int, required=True, help="models in the pool")
    parser.add_argument("--share", type=float, required=True, help="of them that see an example")
    parser.add_argument("--data", type=Path, required=True, help="dataset.npz")
    parser.add_argument("--model", required=True, help="name of the architecture")
    parser.add_argument("--params", required=True, help="training parameters, as JSON")
    parser.add_argument("--init", type=Path, help="weights to start from")
    parser.add_argument("--rename", type=json.loads, default={}, help="prefixes of names, as JSON")
    add_job_options(parser)


def run(args: argparse.Namespace) -> None:
    """Train, and write weights, margins of the train set, history, record and cost."""
    params = TrainingParams.model_validate_json(args.params)
    session = open_session(args.data, args.threads)
    is_in = membership(len(session.train), args.count, args.share)[args.seed]
    examples = session.train.select(torch.from_numpy(is_in.nonzero()[0]).to(session.device))
    record = {
        "run": "shadow",
        **record_of(args, params),
        **_started(args),
        "pool": {"count": args.count, "share": args.share},
        "trained_on": ids_hash(examples.rows.cpu().numpy()),
    }
    checkpoints = job_checkpoints(args, record)
    this = Run(session.device, seed_of("shadow", args.seed), checkpoints=checkpoints)
    model = session.new_model(args.model)
    if args.init:
        start_from(cast(Classifier, model), args.init, args.rename)
    with this.phase("train"):
        model = fit(model, examples, session.test, params, this)
    files = [args.out / name for name in (layout.MODEL, layout.MARGINS, layout.HISTORY)]
    write_tensors(files[0], {k: v.cpu().contiguous() for k, v in model.state_dict().items()})
    ShadowMargins(is_in, margins_of(model, session.train)).save(files[1])
    columns = sorted({name for row in this.history for name in row}.difference(PLACE))
    write_rows(files[2], [*PLACE, *columns], this.history)
    record["numerics"] = numerics_of(this.devices)
    write_record(args.out / layout.RECORD, record, root=session.folder, files=files)
    write_cost(args.out, this.clock.seconds, session.device, session.folder)
    checkpoints.clear()


def _started(args: argparse.Namespace) -> dict[str, Any]:
    """Return what the record says of the file that training starts from."""
    if not args.init:
        return {}
    file = {"name": args.init.name, "hash": content_hash(args.init), "rename": args.rename}
    return {"init": file}
