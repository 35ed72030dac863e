"""Train a model: the base on all train examples, or Retrain without the forget set.

Training starts from scratch or from the user's weights; a trained model of the user is not changed.
"""

from dataclasses import replace
from typing import Any

from collateral.contract.conventions import derive_seed
from collateral.contract.params import TrainingParams
from collateral.jobs._weights import TrainedJob
from collateral.results.record import SPEED, Made, gpu_slots
from collateral.results.split import Split, ids_hash
from collateral.stages._own_weights import load_own
from collateral.stages._workspace import Workspace
from collateral.training.checkpoints import open_checkpoints
from collateral.training.fit import fit
from collateral.training.inference import accuracy
from collateral.training.job_io import Session, open_session, write_results
from collateral.training.run import Run
from collateral.training.weights import name_in_errors


def run(job: TrainedJob, place: Workspace) -> Made:
    """Train a model, or read the user's; write weights, outputs and history."""
    session = open_session(place.input("data"), place.threads, freeze=job.freeze, shares_gpu=True)
    parts = [Split.load(path, session.folder) for path in place.inputs("split")]
    examples = session.select(parts[0].trained_on) if parts else session.train
    checkpoints = open_checkpoints(place.checkpoints, place.checkpoint_identity)
    this = Run(session.device, derive_seed(job.kind, job.seed), checkpoints=checkpoints)
    model = session.new_model(job.model)
    about = load_own(job.own, place, model, this)
    if job.is_given and job.own:
        with name_in_errors(job.own.key):
            _check_accuracy(accuracy(model, examples), session.data.info.num_classes)
    else:
        # Hash of all training examples, including those that `best_validation` holds out.
        about["trained_on"] = ids_hash(examples.rows.cpu().numpy())
        with this.phase("train"):
            fit(model, examples, session.test, TrainingParams.model_validate(job.params), this)
    is_base = job.kind == "base"
    made = write_results(place.out, model, session, this, about, with_embeddings=is_base)
    return replace(made, cost={**(made.cost or {}), **_measure_speed(job, session, this)})


def _measure_speed(job: TrainedJob, session: Session, this: Run) -> dict[str, Any]:
    """Return the model and its training speed, for `collateral estimate`.

    The result is empty if nothing was trained, or if other jobs may have shared the GPU.
    """
    is_shared = session.device.type == "cuda" and gpu_slots() > 1
    if not this.fitted_images or is_shared:
        return {}
    precision = TrainingParams.model_validate(job.params).precision
    model = (job.model, session.data.info.shape, precision)
    return {SPEED: {"model": model, "images_per_second": this.fitted_images / this.fitted_seconds}}


def _check_accuracy(found: float, num_classes: int) -> None:
    """Raise if a user's model is hardly better than guessing on the train set."""
    # Minimum accuracy: twice that of guessing or, for two classes, 0.75.
    least = min(2 / num_classes, (1 + 1 / num_classes) / 2)
    if found < least:
        raise ValueError(
            f"train accuracy {100 * found:.1f} %, below {100 * least:.1f} %, so hardly more than "
            "guessing: state the normalisation that the model was trained with (data.mean, "
            "data.std), and the classes in its order (data.classes)"
        )
