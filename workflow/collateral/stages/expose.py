"""Unlearn the forget set from every shadow model, and save the margins of all train examples.

U-LiRA (Hayes et al., 2024) compares two groups of models for each example: models that were trained
on the example and unlearned it, and models that were never trained on it. Here the first group are
the shadow models whose training set contains the example; the second group are the other shadow
models. In both groups, the method unlearned all examples of the forget set that were in the model's
training set. So both groups went through the same steps, and exact unlearning gives equal
distributions of margins. Shadow models that unlearned nothing cannot be the second group: they
still know other examples of the forget set, so that even Retrain would differ from them. A shadow
model that was trained on no example of the forget set is not changed.

The margins of all train examples are saved, because findings compare the forget set with its near
and far neighbours.
"""

import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
from numpy.typing import NDArray

from collateral.contract.conventions import derive_seed
from collateral.plugins.find import params_class
from collateral.results import layout
from collateral.results.outputs import ShadowMargins
from collateral.results.provenance import INPUTS, hash_files, verify
from collateral.results.split import Split, ids_hash
from collateral.stages._options import (
    JobOptions,
    MethodName,
    MethodValues,
    RunName,
    Selected,
    SplitFile,
)
from collateral.training import shadows as exposure
from collateral.training.checkpoints import open_checkpoints
from collateral.training.examples import Task
from collateral.training.job_io import Session, open_session
from collateral.training.run_method import Method, read_chosen_params

LOG = logging.getLogger(__name__)


def expose(
    *,
    run: RunName,
    method: MethodName,
    params: MethodValues,
    selected: Selected = (),
    split: SplitFile,
    shadows: Annotated[Sequence[Path], "weights of all shadow models"],
    job: JobOptions,
) -> None:
    """Unlearn the forget set from every shadow model that is not finished; save all margins."""
    values = read_chosen_params(params_class(method), params, selected, job.data.parent)
    session = open_session(job.data, job.threads, shares_gpu=True)
    parts = Split.load(split, session.folder)
    record = {"run": run, "method": method, **job.record(values, split, *selected)}
    places = [path.parent / layout.MARGINS for path in shadows]
    record[INPUTS] |= hash_files([*shadows, *places], session.folder)
    checkpoints = open_checkpoints(job.checkpoints, record, job.checkpoint_seconds)
    margins = [ShadowMargins.load(verify(path, session.folder)) for path in places]
    found = []
    for member, (weights, shadow) in enumerate(zip(shadows, margins, strict=True)):
        this = Method(
            name=method,
            task=task_on_share(session, parts, shadow.is_in),
            load_base=partial(session.load_model, job.model, weights),
            seed=derive_seed("shadow", job.seed, member),
            split_hash=ids_hash(parts.forget[shadow.is_in[parts.forget]]),
            device=session.device,
        )
        own = checkpoints.within(f"member-{member}")
        found.append(exposure.unlearn_shadow(this, values, session.train, shadow, own))
        LOG.info("member %d of %d: %d forgotten", member, len(shadows), len(this.task.forget))
    path = job.out / layout.EXPOSURE_MARGINS
    exposure.stack_margins(margins, found).save(path)
    record |= exposure.summarize_status(found)
    devices = list(dict.fromkeys(device for one in found for device in one.devices))
    session.finish(job.out, record, [path], exposure.sum_seconds(found), devices)
    checkpoints.clear()


def task_on_share(session: Session, split: Split, is_in: NDArray[np.bool_]) -> Task:
    """Return the retained and forgotten examples on which a shadow model was trained."""
    rows = (part[is_in[part]] for part in (split.retain, split.forget))
    retain, forget = (torch.from_numpy(part).to(session.device) for part in rows)
    return Task(session.train.select(retain), session.train.select(forget), session.data.info)
