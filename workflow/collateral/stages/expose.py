"""Unlearn from every shadow model what it saw of the forget set; keep its margins of all examples.

Published U-LiRA (Hayes et al., 2024) compares, example by example, models that trained on it and
unlearned it with models that never saw it. Here the former are the members whose share has the
example, the latter the members whose share has not, both after the method unlearned from each what
its share has of the forget set. Not members that never saw it and unlearned nothing: these know
its fellows in the forget set, so that even retraining could be told from them. Of two laws over
members that went the same way, exact unlearning leaves one, and what is left is the example's own.
A member whose share has nothing of the forget set stays as it is.

Margins are kept of all training examples: those of the forget set, and of all others, by how near
they are to it, are read from one file.
"""

import argparse
import logging
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from collateral.contract.plugins import params_class
from collateral.contract.seeds import seed_of
from collateral.results import layout
from collateral.results.chain import INPUTS, checked, hashes, write_record
from collateral.results.experiments import ShadowMargins
from collateral.results.split import Split, ids_hash
from collateral.stages.options import add_job_options, job_checkpoints, record_of
from collateral.training import exposure
from collateral.training.examples import Task
from collateral.training.execution import Method, chosen_params
from collateral.training.numerics import numerics_of
from collateral.training.session import Session, open_session, write_cost

LOG = logging.getLogger(__name__)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line; it has no option for anything of Retrain."""
    parser.add_argument("--run", required=True, help="the run's name")
    parser.add_argument("--method", required=True, help="folder of the method")
    parser.add_argument("--params", required=True, help="its parameters, as JSON")
    parser.add_argument("--selected", type=Path, nargs="*", default=[], help="the tuning's choice")
    parser.add_argument("--data", type=Path, required=True, help="dataset.npz")
    parser.add_argument("--split", type=Path, required=True, help="split.json")
    parser.add_argument("--model", required=True, help="name of the architecture")
    parser.add_argument(
        "--shadows", type=Path, nargs="+", required=True, help="weights of all shadow models"
    )
    add_job_options(parser)


def run(args: argparse.Namespace) -> None:
    """Unlearn from one model after another, a finished one never again; write all margins."""
    params = chosen_params(args, params_class(args.method))
    session = open_session(args.data, args.threads)
    split = Split.load(args.split, session.folder)
    record = {"run": args.run, "method": args.method, **record_of(args, params)}
    places = [path.parent / layout.MARGINS for path in args.shadows]
    record[INPUTS] |= hashes([*args.shadows, *places], session.folder)
    checkpoints = job_checkpoints(args, record)
    shadows = [ShadowMargins.load(checked(path, session.folder)) for path in places]
    found = []
    for member, shadow in enumerate(shadows):
        method = method_on(args, session, split, member, shadow.is_in)
        own = checkpoints.within(f"member-{member}")
        done = exposure.unlearn_shadow(method, params, session.train, own)
        found.append(done or exposure.skip_shadow(shadow))
        LOG.info("member %d of %d: %d forgotten", member, len(shadows), len(method.task.forget))
    path = args.out / layout.EXPOSED
    exposure.stack_margins(shadows, found).save(path)
    record |= {
        "numerics": numerics_of(exposure.list_devices(found)),
        **exposure.summarize_status(found),
    }
    write_record(args.out / layout.RECORD, record, root=session.folder, files=[path])
    write_cost(args.out, exposure.sum_seconds(found), session.device, session.folder)
    checkpoints.clear()


def method_on(
    args: argparse.Namespace,
    session: Session,
    split: Split,
    member: int,
    is_in: NDArray[np.bool_],
) -> Method:
    """Return the method on a shadow model, which knows nothing but its share."""
    parts = [part[is_in[part]] for part in (split.retain, split.forget)]
    retain, forget = (torch.from_numpy(part).to(session.device) for part in parts)
    return Method(
        name=args.method,
        task=Task(session.train.select(retain), session.train.select(forget), session.data.info),
        load_base=lambda: session.load_model(args.model, args.shadows[member]),
        seed=seed_of("shadow", args.seed, member),
        split_hash=ids_hash(parts[1]),
        device=session.device,
    )
