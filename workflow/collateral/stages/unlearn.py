"""Run a method or control from the base model or, after round 1, from its own previous model."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor, nn

from collateral.contract.conventions import SKIPPED
from collateral.metrics.accuracy import accuracies
from collateral.plugins.find import method_kind, params_class
from collateral.results import layout
from collateral.results.outputs import StoredOutputs, keep_outputs
from collateral.results.provenance import INPUTS, hash_files, read_signed, verify
from collateral.results.split import Split
from collateral.stages._method import OpenedJob
from collateral.stages._options import MethodOptions, RunName, Selected
from collateral.training.checkpoints import open_checkpoints
from collateral.training.inference import compute_outputs
from collateral.training.job_io import Session, write_results
from collateral.training.run import Tracker
from collateral.training.run_method import read_chosen_params


def unlearn(
    *,
    run: RunName,
    selected: Selected = (),
    vary: Annotated[str, "values that a sweep varies, as JSON"] = "{}",
    retrained: Annotated[Sequence[Path], "Retrain's outputs"] = (),
    track: Annotated[bool, "evaluate after every epoch"] = False,
    job: MethodOptions,
) -> None:
    """Unlearn the forget set; write weights, outputs, history, record and cost."""
    values, varied = params_class(job.method), json.loads(vary)
    params = read_chosen_params(values, job.params, selected, job.data.parent, **varied)
    record = {
        **{"run": run, "kind": method_kind(job.method).what, "method": job.method},
        **job.record(params, *selected, *retrained[:1]),
    }
    opened = OpenedJob(job)
    session, split = opened.session, opened.split
    # A tracked run cannot resume the checkpoint of a run that was not tracked.
    identity = {**record, "tracked": track}
    checkpoints = open_checkpoints(job.checkpoints, identity, job.checkpoint_seconds)
    tracker = make_tracker(session, split) if track else None
    inputs: list[Any] = []
    skip = find_failed_start(job.base, session, split)
    prepared = None if skip else opened.prepare(params, checkpoints)
    record[INPUTS] |= hash_files(opened.read, session.folder)
    if prepared:
        inputs = [prepared.tensors]
    elif retrained:
        outputs = verify(retrained[0], session.folder)
        inputs = [soft_labels(outputs, split).to(session.device)]
    model, this = opened.method.unlearn(
        params, *inputs, checkpoints=checkpoints, tracker=tracker, skip=skip
    )
    if prepared:
        prepared.add_to(this)
    # Delete epochs.npz, which an earlier run may have left if it was tracked.
    (job.out / layout.EPOCHS).unlink(missing_ok=True)
    write_results(job.out, model, session, this, record)
    checkpoints.clear()


def find_failed_start(base: Path, session: Session, split: Split) -> str:
    """Return why a run cannot start: it diverged or was skipped in the round before.

    The text is empty if the run can start.
    """
    if not len(split.earlier):
        return ""
    status = read_signed(layout.record_path(base), session.folder)["status"]
    return f"{status} in the round before" if status in ("diverged", SKIPPED) else ""


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
