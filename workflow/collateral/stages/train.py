"""Train a model: the base on all train examples, or Retrain without the forget set.

Training starts from scratch or from the user's weights; a trained model of the user is not changed.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from collateral.contract.conventions import derive_seed
from collateral.contract.params import TrainingParams
from collateral.results.record import STATED
from collateral.results.split import Split, ids_hash
from collateral.stages._options import (
    NO_RENAME,
    InitialWeights,
    JobOptions,
    Rename,
    Rte,
    TrainingValues,
)
from collateral.training.checkpoints import open_checkpoints
from collateral.training.fit import fit
from collateral.training.inference import accuracy
from collateral.training.job_io import open_session, write_results
from collateral.training.run import Run
from collateral.training.weights import (
    describe_file,
    load_initial,
    load_trained,
    name_in_errors,
    names_in_file,
)


def train(
    *,
    split: Annotated[Path | None, "split.json; without it, train on everything"] = None,
    params: TrainingValues,
    init: InitialWeights = None,
    weights: Annotated[Path | None, "weights of the user's own trained model"] = None,
    rename: Rename = NO_RENAME,
    rte: Rte = None,
    job: JobOptions,
) -> None:
    """Train a model; write weights, outputs, history, record and cost."""
    role = "retrain" if split else "base"
    values = TrainingParams.model_validate_json(params)
    start, inputs = _describe_start(init, weights, rename), [split] if split else []
    record = {"run": role, "kind": "reference", **job.record(values, *inputs), **start}
    session = open_session(job.data, job.threads, shares_gpu=True)
    examples = session.task(Split.load(split, session.folder)).retain if split else session.train
    if not weights:
        # Hash of all training examples, including those that `best_validation` holds out.
        record["trained_on"] = ids_hash(examples.rows.cpu().numpy())
    checkpoints = open_checkpoints(job.checkpoints, record, job.checkpoint_seconds)
    this = Run(session.device, derive_seed(role, job.seed), checkpoints=checkpoints)
    model = session.new_model(job.model)
    with name_in_errors(f"{role}.weights" if weights else "init.weights"):
        if init:
            load_initial(model, init, rename)
        if weights:
            load_trained(model, weights, rename)
            _check_accuracy(accuracy(model, examples), session.data.info.num_classes)
    if weights:
        record |= names_in_file(weights, rename)
        if rte is not None:
            this.clock.seconds[STATED] = rte
    else:
        with this.phase("train"):
            fit(model, examples, session.test, values, this)
    write_results(job.out, model, session, this, record, with_embeddings=role == "base")
    checkpoints.clear()


def _describe_start(
    init: Path | None, weights: Path | None, rename: Mapping[str, str]
) -> dict[str, Any]:
    """Return the record's entries for the user's weight files.

    The parameters are empty for a user's own model, because its training is unknown.
    """
    if weights:
        return {"weights": describe_file(weights, rename), "params": {}}
    return {"init": describe_file(init, rename)} if init else {}


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
