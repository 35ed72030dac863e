"""Evaluate an unlearned model that the user gives; its cost is stated by the user."""

from collateral.contract.conventions import derive_seed
from collateral.jobs.given import GivenJob
from collateral.results.record import Made
from collateral.stages._own_weights import load_own
from collateral.stages._workspace import Workspace
from collateral.training.job_io import open_session, write_results
from collateral.training.run import Run

GIVEN = "given"


def run(job: GivenJob, place: Workspace) -> Made:
    """Load the weights that the user gave; write weights and outputs of the run."""
    session = open_session(place.input("data"), place.threads)
    this = Run(session.device, derive_seed(GIVEN, job.seed))
    model = session.new_model(job.model)
    about = {"method": GIVEN, "params": {}, **load_own(job.own, place, model, this)}
    return write_results(place.out, model, session, this, about)
