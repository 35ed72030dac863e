"""Train the local teacher by which selection may measure every method; it knows no Retrain."""

import argparse
import shutil

from collateral.contract.plugins import prepare_class, prepared_name
from collateral.results import layout
from collateral.results.chain import write_record
from collateral.results.files import write_json
from collateral.results.split import Split
from collateral.stages.options import (
    add_job_options,
    add_method_options,
    job_checkpoints,
    preparation_record,
    record_of,
)
from collateral.training.execution import method_of
from collateral.training.session import open_session, write_cost


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line; it has no option for anything of Retrain."""
    add_method_options(parser)
    add_job_options(parser)


def run(args: argparse.Namespace) -> None:
    """Prepare as a run would, and keep it for all; write what the teacher knows of D_f."""
    prepare = prepare_class(args.method)
    assert prepare is not None, f"{args.method} has no teacher"
    params = prepare.model_validate_json(args.params)
    session = open_session(args.data, args.threads)
    method = method_of(args, session, Split.load(args.split, session.folder))
    record = {"method": args.method, **record_of(args, params)}
    checkpoints = job_checkpoints(args, record)
    prepared = method.prepare(params, checkpoints.within("prepare"))
    shutil.rmtree(args.out / layout.PREPARED, ignore_errors=True)
    folder = args.out / layout.PREPARED / prepared_name(args.method, params)
    prepared.save(folder, session.device, session.folder, preparation_record(args, params))
    path = args.out / layout.TEACHER_SAYS
    write_json(path, {"teacher_ua": prepared.reported["teacher_ua"]})
    write_record(args.out / layout.RECORD, record, root=session.folder, files=[path])
    write_cost(args.out, prepared.seconds, session.device, session.folder)
    checkpoints.clear()
