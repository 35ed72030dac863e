"""Train a teacher of LTD; tuning can select hyperparameters by its UA instead of Retrain's."""

from collateral.plugins.find import prepare_class
from collateral.results import layout
from collateral.results.files import write_json
from collateral.stages._method import OpenedJob
from collateral.stages._options import MethodOptions
from collateral.training.checkpoints import open_checkpoints


def teacher(*, job: MethodOptions) -> None:
    """Run LTD's `prepare`, store its result for other jobs, and write the teacher's UA."""
    prepare = prepare_class(job.method)
    assert prepare is not None, f"{job.method} has no teacher"
    params = prepare.model_validate_json(job.params)
    record = {"method": job.method, **job.record(params)}
    opened = OpenedJob(job)
    checkpoints = open_checkpoints(job.checkpoints, record, job.checkpoint_seconds)
    prepared = opened.prepare(params, checkpoints)
    assert prepared is not None
    path = job.out / layout.TEACHER_RESULT
    write_json(path, {"teacher_ua": prepared.reported["teacher_ua"]})
    opened.session.finish(job.out, record, [path], prepared.seconds)
    checkpoints.clear()
