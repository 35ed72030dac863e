"""Load the user's file of weights, whose path a stage is told beside its job."""

from pathlib import Path
from typing import Any

from collateral.jobs._job import OwnFile
from collateral.jobs._weights import INIT
from collateral.models._classifier import Classifier
from collateral.results.record import STATED
from collateral.stages._workspace import Workspace
from collateral.training.run import Run
from collateral.training.weights import (
    describe_file,
    load_initial,
    load_trained,
    name_in_errors,
    names_in_file,
)


def load_own(own: OwnFile | None, place: Workspace, model: Classifier, run: Run) -> dict[str, Any]:
    """Load the file into the model; return the record's entries about it, with its hash."""
    if own is None:
        return {}
    file = Path(place.beside["weights"])
    with name_in_errors(own.key):
        if own.key == INIT:
            load_initial(model, file, own.rename)
            return {"init": describe_file(file, own.rename)}
        load_trained(model, file, own.rename)
    if own.rte is not None:
        run.clock.seconds[STATED] = own.rte
    return {"weights": describe_file(file, own.rename), **names_in_file(file, own.rename)}
