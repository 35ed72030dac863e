"""Evaluate an unlearned model that the user gives; its cost is stated by the user."""

from pathlib import Path
from typing import Annotated

from collateral.contract.conventions import derive_seed
from collateral.contract.params import Strict
from collateral.plugins.find import METHOD
from collateral.results.record import STATED
from collateral.stages._options import NO_RENAME, JobOptions, Rename, Rte, RunName, SplitFile
from collateral.training.job_io import open_session, write_results
from collateral.training.run import Run
from collateral.training.weights import describe_file, load_trained, name_in_errors, names_in_file

GIVEN = "given"


def given(
    *,
    run: RunName,
    split: SplitFile,
    weights: Annotated[Path, "weights of the user's own unlearned model"],
    rename: Rename = NO_RENAME,
    rte: Rte = None,
    job: JobOptions,
) -> None:
    """Load the weights that the user gave; write weights, outputs, record and cost of the run."""
    record = {
        **{"run": run, "kind": METHOD.what, "method": GIVEN},
        **job.record(Strict(), split),
        "weights": describe_file(weights, rename),
    }
    session = open_session(job.data, job.threads)
    this = Run(session.device, derive_seed(GIVEN, job.seed))
    model = session.new_model(job.model)
    with name_in_errors(f"given.{run}.weights"):
        load_trained(model, weights, rename)
    record |= names_in_file(weights, rename)
    if rte is not None:
        this.clock.seconds[STATED] = rte
    write_results(job.out, model, session, this, record)
