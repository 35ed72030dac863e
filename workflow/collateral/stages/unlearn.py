"""Run a method or control from the base model or, after round 1, from its own previous model."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from collateral.contract.conventions import SKIPPED
from collateral.jobs.unlearn import UnlearnJob
from collateral.plugins.find import params_class
from collateral.results import layout
from collateral.results.outputs import StoredOutputs, keep_outputs
from collateral.results.provenance import read_record
from collateral.results.record import Made
from collateral.results.split import Split
from collateral.stages._method import OpenedJob
from collateral.stages._workspace import Workspace
from collateral.training.checkpoints import open_checkpoints
from collateral.training.inference import compute_outputs
from collateral.training.job_io import Session, write_results
from collateral.training.run import Tracker
from collateral.training.run_method import read_chosen_params


def run(job: UnlearnJob, place: Workspace) -> Made:
    """Unlearn the forget set; write weights, outputs and history."""
    params = read_chosen_params(
        params_class(job.method), job.params, place.inputs("selected"), place.root, **job.vary
    )
    opened = OpenedJob(job, place)
    session, split = opened.session, opened.split
    checkpoints = open_checkpoints(place.checkpoints, place.checkpoint_identity)
    tracker = make_tracker(session) if job.track else None
    inputs: list[Any] = []
    skip = find_failed_start(place.input("base"), session, split)
    prepared = None if skip else opened.prepare(params, checkpoints)
    if prepared:
        inputs = [prepared.tensors]
    elif job.needs_retrain:
        inputs = [soft_labels(place.input("retrained"), split).to(session.device)]
    model, this = opened.method.unlearn(
        params, *inputs, checkpoints=checkpoints, tracker=tracker, skip=skip
    )
    if prepared:
        prepared.add_to(this)
    # Delete epochs.npz, which an earlier run may have left if it was tracked.
    (place.out / layout.EPOCHS).unlink(missing_ok=True)
    about = {"params": params.model_dump(mode="json")}
    return replace(write_results(place.out, model, session, this, about), read=opened.read)


def find_failed_start(base: Path, session: Session, split: Split) -> str:
    """Return why a run cannot start: it diverged or was skipped in the round before.

    The text is empty if the run can start.
    """
    if not len(split.earlier):
        return ""
    status = read_record(layout.record_path(base), session.folder)["status"]
    return f"{status} in the round before" if status in ("diverged", SKIPPED) else ""


def make_tracker(session: Session) -> Tracker:
    """Return a callback that computes a model's outputs after each epoch."""

    def measure(model: nn.Module) -> dict[str, Tensor]:
        seen, _ = compute_outputs(model, session.train, session.test)
        return {name: torch.from_numpy(array) for name, array in keep_outputs(seen).items()}

    return measure


def soft_labels(retrained: Path, split: Split) -> Tensor:
    """Return the class probabilities of Retrain on the forget set."""
    logits = StoredOutputs(retrained, "train").logits[split.forget]
    return torch.from_numpy(logits).float().softmax(1)
