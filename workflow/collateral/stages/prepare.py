"""Run a method's first phase, for all trials, sweeps and runs that share its values."""

import argparse

from collateral.config.lookup import add_plugins, prepare_class
from collateral.core.split import Split
from collateral.stages.options import (
    add_job_options,
    add_method_options,
    job_checkpoints,
    record_of,
)
from collateral.training.execution import method_of
from collateral.training.session import open_session


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    add_method_options(parser)
    add_job_options(parser)


def run(args: argparse.Namespace) -> None:
    """Prepare, and write tensors, numbers and cost."""
    add_plugins(args.plugins)
    prepare = prepare_class(args.method)
    if prepare is None:
        raise ValueError(f"--method: {args.method} has nothing to prepare")
    params = prepare.model_validate_json(args.params)
    session, split = open_session(args.data, args.threads), Split.load(args.split)
    method = method_of(args, session, split)
    checkpoints = job_checkpoints(args, record_of(args, params))
    method.prepare(params, checkpoints).save(args.out, session.device)
    checkpoints.clear()
