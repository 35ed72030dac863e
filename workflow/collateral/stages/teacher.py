"""Train the local teacher with which tuning can select parameters without Retrain."""

import shutil

from collateral.plugins.find import prepare_class, prepared_name
from collateral.results import layout
from collateral.results.files import write_json
from collateral.results.split import Split
from collateral.stages._options import MethodJob
from collateral.training.checkpoints import open_checkpoints
from collateral.training.job_io import open_session
from collateral.training.run_method import load_method


def teacher(*, job: MethodJob) -> None:
    """Run LTD's `prepare`, store its result for other jobs, and write the teacher's UA."""
    prepare = prepare_class(job.method)
    assert prepare is not None, f"{job.method} has no teacher"
    params = prepare.model_validate_json(job.params)
    session = open_session(job.data, job.threads)
    split = Split.load(job.split, session.folder)
    method = load_method(job.method, job.model, job.base, job.seed, session, split)
    record = {"method": job.method, **job.record(params)}
    checkpoints = open_checkpoints(job.checkpoints, record, job.checkpoint_seconds)
    prepared = method.prepare(params, checkpoints.within("prepare"))
    shutil.rmtree(job.out / layout.PREPARED, ignore_errors=True)
    folder = job.out / layout.PREPARED / prepared_name(job.method, params)
    prepared.save(folder, session.device, session.folder, job.preparation_record(params))
    path = job.out / layout.TEACHER_RESULT
    write_json(path, {"teacher_ua": prepared.reported["teacher_ua"]})
    session.finish(job.out, record, [path], prepared.seconds)
    checkpoints.clear()
