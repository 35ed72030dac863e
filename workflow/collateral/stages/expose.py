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
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from collateral.contract.conventions import derive_seed
from collateral.jobs.expose import ExposeJob
from collateral.plugins.find import params_class
from collateral.results.outputs import ShadowMargins
from collateral.results.record import Made
from collateral.results.split import Split, ids_hash
from collateral.stages._workspace import Workspace
from collateral.training import shadows as exposure
from collateral.training.checkpoints import open_checkpoints
from collateral.training.examples import Task
from collateral.training.job_io import Session, open_session
from collateral.training.run_method import Method, read_chosen_params

LOG = logging.getLogger(__name__)


def run(job: ExposeJob, place: Workspace) -> Made:
    """Unlearn the forget set from every shadow model that is not finished; save all margins."""
    values = read_chosen_params(
        params_class(job.method), job.params, place.inputs("selected"), place.root
    )
    session = open_session(place.input("data"), place.threads, freeze=job.freeze, shares_gpu=True)
    parts = Split.load(place.input("split"), session.folder)
    checkpoints = open_checkpoints(place.checkpoints, place.checkpoint_identity)
    shadows = place.inputs("shadows")
    margins = [ShadowMargins.load(path) for path in place.inputs("margins")]
    found = []
    for member, (weights, shadow) in enumerate(zip(shadows, margins, strict=True)):
        this = Method(
            name=job.method,
            task=task_on_share(session, parts, shadow.is_in),
            load_base=partial(session.load_model, job.model, weights),
            seed=derive_seed("shadow", job.seed, member),
            split_hash=ids_hash(parts.forget[shadow.is_in[parts.forget]]),
            device=session.device,
        )
        own = checkpoints.within(f"member-{member}")
        found.append(exposure.unlearn_shadow(this, values, session.train, shadow, own))
        LOG.info("member %d of %d: %d forgotten", member, len(shadows), len(this.task.forget))
    exposure.stack_margins(margins, found).save(place.output("exposed"))
    about = {"params": values.model_dump(mode="json"), **exposure.summarize_status(found)}
    devices = list(dict.fromkeys(device for one in found for device in one.devices))
    return session.finish(about, exposure.sum_seconds(found), devices)


def task_on_share(session: Session, split: Split, is_in: NDArray[np.bool_]) -> Task:
    """Return the retained and forgotten examples on which a shadow model was trained."""
    rows = (part[is_in[part]] for part in (split.retain, split.forget))
    retain, forget = (torch.from_numpy(part).to(session.device) for part in rows)
    memorised = None
    if len(split.memorised):
        memorised = torch.from_numpy(split.memorised[is_in[split.forget]])
    train = session.train
    return Task(train.select(retain), train.select(forget), session.data.info, memorised)
