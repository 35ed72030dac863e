"""Run one unlearning method, or a control, from the base model; write what it makes of it."""

import argparse
from importlib import import_module
from pathlib import Path

from collateral.config.lookup import add_plugins, kind_of, module_of, params_class
from collateral.core.record import file_hash, versions
from collateral.core.seeds import seed_of
from collateral.core.split import Split
from collateral.stages.options import add_job_options, job_checkpoints
from collateral.training.run import Run
from collateral.training.session import open_session, write_results


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("--run", required=True, help="the run's name")
    parser.add_argument("--method", required=True, help="folder of the method")
    parser.add_argument("--params", required=True, help="its parameters, as JSON")
    parser.add_argument("--data", type=Path, required=True, help="dataset.npz")
    parser.add_argument("--split", type=Path, required=True, help="split.json")
    parser.add_argument("--model", required=True, help="name of the architecture")
    parser.add_argument("--base", type=Path, required=True, help="the base model's weights")
    add_job_options(parser)


def run(args: argparse.Namespace) -> None:
    """Unlearn, and write weights, outputs, history, record and cost."""
    add_plugins(args.plugins)
    params = params_class(args.method).model_validate_json(args.params)
    inputs = {"data": args.data, "split": args.split, "base": args.base}
    record = {
        "run": args.run,
        "kind": kind_of(args.method),
        "method": args.method,
        "params": params.model_dump(mode="json"),
        "seed": args.seed,
        "code": args.code,
        "versions": versions(),
        "inputs": {name: file_hash(path) for name, path in inputs.items()},
    }
    session = open_session(args.data, args.threads)
    split = Split.load(args.split)
    checkpoints = job_checkpoints(args, record)
    this = Run(
        session.device, seed_of("unlearn", args.method, args.seed, split.hash), checkpoints=checkpoints
    )
    model = session.load_model(args.model, args.base)
    method = import_module(module_of(args.method, "method"))
    with this.phase("unlearn"):
        model = method.unlearn(model, session.task(split), params, this)
    write_results(args.out, model, session, this, record)
    checkpoints.clear()
