"""Train a shadow model, which is like the base model but sees a random part of the train set."""

import torch

from collateral.contract.conventions import derive_seed
from collateral.contract.params import TrainingParams
from collateral.jobs.shadow import ShadowJob
from collateral.results.outputs import ShadowMargins
from collateral.results.record import Made
from collateral.results.split import ids_hash
from collateral.stages._own_weights import load_own
from collateral.stages._workspace import Workspace
from collateral.training.checkpoints import open_checkpoints
from collateral.training.fit import fit
from collateral.training.job_io import open_session, write_history, write_model
from collateral.training.run import Run
from collateral.training.shadows import compute_margins, draw_membership


def run(job: ShadowJob, place: Workspace) -> Made:
    """Train a shadow model; write weights, margins and history.

    The seed is the index of the model among all shadow models.
    """
    session = open_session(place.input("data"), place.threads, freeze=job.freeze, shares_gpu=True)
    is_in = draw_membership(len(session.train), job.count, job.share)[job.member]
    examples = session.train.select(torch.from_numpy(is_in.nonzero()[0]).to(session.device))
    checkpoints = open_checkpoints(place.checkpoints, place.checkpoint_identity)
    this = Run(session.device, derive_seed("shadow", job.member), checkpoints=checkpoints)
    model = session.new_model(job.model)
    about = load_own(job.own, place, model, this)
    about["trained_on"] = ids_hash(examples.rows.cpu().numpy())
    with this.phase("train"):
        fit(model, examples, session.test, TrainingParams.model_validate(job.params), this)
    write_model(place.output("model"), model)
    ShadowMargins(is_in, compute_margins(model, session.train)).save(place.output("margins"))
    write_history(place.output("history"), this.history)
    return session.finish(about, this.clock.seconds, this.devices)
