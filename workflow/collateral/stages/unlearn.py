"""Run an unlearning method or a control, starting from the base model, and write the new model."""

import json
import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor, nn

from collateral.contract.conventions import SKIPPED
from collateral.contract.params import MethodParams
from collateral.metrics.accuracy import accuracies
from collateral.plugins.find import method_kind, params_class, prepared_name
from collateral.results import layout
from collateral.results.epochs import keep_outputs
from collateral.results.outputs import StoredOutputs
from collateral.results.provenance import INPUTS, content_hash, hash_files, read_signed, verify
from collateral.results.split import Split
from collateral.stages._options import MethodJob, RunName, Selected
from collateral.training.checkpoints import Checkpoints, open_checkpoints
from collateral.training.inference import compute_outputs
from collateral.training.job_io import Session, open_session, write_results
from collateral.training.run import Tracker
from collateral.training.run_method import (
    Method,
    Prepared,
    load_method,
    read_chosen_params,
    read_prepared,
)


def unlearn(
    *,
    run: RunName,
    selected: Selected = (),
    vary: Annotated[str, "values that a sweep varies, as JSON"] = "{}",
    retrained: Annotated[Sequence[Path], "Retrain's outputs"] = (),
    track: Annotated[bool, "evaluate after every epoch"] = False,
    job: MethodJob,
) -> None:
    """Unlearn the forget set; write weights, outputs, history, record and cost."""
    values, varied = params_class(job.method), json.loads(vary)
    params = read_chosen_params(values, job.params, selected, job.data.parent, **varied)
    record = {
        **{"run": run, "kind": method_kind(job.method).what, "method": job.method},
        **job.record(params, *selected, *retrained[:1]),
    }
    session = open_session(job.data, job.threads)
    split = Split.load(job.split, session.folder)
    method = load_method(job.method, job.model, job.base, job.seed, session, split)
    # A tracked run cannot resume the checkpoint of a run that was not tracked.
    identity = {**record, "tracked": track}
    checkpoints = open_checkpoints(job.checkpoints, identity, job.checkpoint_seconds)
    tracker = make_tracker(session, split) if track else None
    inputs: list[Any] = []
    prepared = None
    skip = find_failed_start(job.base, session, split)
    if method.has_prepare and not skip:
        prepared, files = preparation(job, session, split, method, params, checkpoints)
        record[INPUTS] |= hash_files(files, session.folder)
        inputs = [prepared.tensors]
    elif retrained:
        outputs = verify(retrained[0], session.folder)
        inputs = [soft_labels(outputs, split).to(session.device)]
    model, this = method.unlearn(
        params, *inputs, checkpoints=checkpoints, tracker=tracker, skip=skip
    )
    if prepared:
        prepared.add_to(this)
    # Delete epochs.npz, which an earlier run may have left if it was tracked.
    (job.out / layout.EPOCHS).unlink(missing_ok=True)
    write_results(job.out, model, session, this, record)
    checkpoints.clear()


def find_failed_start(base: Path, session: Session, split: Split) -> str:
    """Return why a run is skipped (its model of the round before is unusable), or an empty text."""
    if not len(split.earlier):
        return ""
    status = read_signed(layout.record_path(base), session.folder)["status"]
    return f"{status} in the round before" if status in ("diverged", SKIPPED) else ""


def preparation(
    job: MethodJob,
    session: Session,
    split: Split,
    method: Method,
    params: MethodParams,
    checkpoints: Checkpoints,
) -> tuple[Prepared, list[Path]]:
    """Return the result of `prepare` and its file; run `prepare` unless another job did."""
    own = job.out / layout.PREPARED
    shutil.rmtree(own, ignore_errors=True)
    if shared := read_prepared(job.prepared, job.method, params, session.folder):
        folder, prepared = shared
        return prepared, [folder / layout.PREPARED_TENSORS]
    prepared = method.prepare(params, checkpoints.within("prepare"))
    # In a later round, each run starts from its own model, so the name contains the model's hash.
    start = f"-{content_hash(job.base)[:10]}" if len(split.earlier) else ""
    folder = own / f"{prepared_name(job.method, params)}{start}"
    record = job.preparation_record(params)
    prepared.save(folder, session.device, session.folder, record)
    return prepared, []


def make_tracker(session: Session, split: Split) -> Tracker:
    """Return a callback that evaluates a model after each epoch."""
    labels = session.data.labels
    label = split.divide(labels.train, labels.test)

    def measure(model: nn.Module) -> dict[str, float | Tensor]:
        seen, _ = compute_outputs(model, session.train, session.test)
        prediction = split.divide(seen.train.prediction, seen.test.prediction)
        found = accuracies(prediction, label, split.affected)
        is_defined = all(np.isfinite(part.confidence).all() for part in (seen.train, seen.test))
        numbers = found if is_defined else dict.fromkeys(found, math.nan)
        kept = {name: torch.from_numpy(array) for name, array in keep_outputs(seen).items()}
        return {**numbers, **kept}

    return measure


def soft_labels(retrained: Path, split: Split) -> Tensor:
    """Return the class probabilities of Retrain on the forget set."""
    logits = StoredOutputs(retrained, "train").logits[split.forget]
    return torch.from_numpy(logits).float().softmax(1)
