"""Train a teacher of LTD; tuning can select hyperparameters by its UA instead of Retrain's."""

from collateral.jobs.teacher import TeacherJob
from collateral.plugins.find import prepare_class
from collateral.results.files import write_json
from collateral.results.record import Made
from collateral.stages._method import OpenedJob
from collateral.stages._workspace import Workspace
from collateral.training.checkpoints import open_checkpoints


def run(job: TeacherJob, place: Workspace) -> Made:
    """Run LTD's `prepare`, store its result for other jobs, and write the teacher's UA."""
    prepare = prepare_class(job.method)
    assert prepare is not None, f"{job.method} has no teacher"
    params = prepare.model_validate(job.params)
    opened = OpenedJob(job, place)
    checkpoints = open_checkpoints(place.checkpoints, place.checkpoint_identity)
    prepared = opened.prepare(params, checkpoints)
    assert prepared is not None
    write_json(place.output("teacher"), {"teacher_ua": prepared.reported["teacher_ua"]})
    return opened.session.finish({}, prepared.seconds)
