"""Train a shadow model, which is like the base model but sees a random part of the train set."""

from typing import Annotated

import torch

from collateral.contract.conventions import derive_seed
from collateral.contract.params import TrainingParams
from collateral.results import layout
from collateral.results.outputs import ShadowMargins
from collateral.results.split import ids_hash
from collateral.stages._options import NO_RENAME, InitialWeights, JobOptions, Rename, TrainingValues
from collateral.training.checkpoints import open_checkpoints
from collateral.training.fit import fit
from collateral.training.job_io import open_session, write_history, write_model
from collateral.training.run import Run
from collateral.training.shadows import compute_margins, draw_membership
from collateral.training.weights import describe_file, load_initial


def shadow(
    *,
    count: Annotated[int, "number of shadow models"],
    share: Annotated[float, "share of the models that are trained on an example"],
    params: TrainingValues,
    init: InitialWeights = None,
    rename: Rename = NO_RENAME,
    job: JobOptions,
) -> None:
    """Train a shadow model; write weights, margins, history, record and cost.

    The seed is the index of the model among all shadow models.
    """
    values = TrainingParams.model_validate_json(params)
    session = open_session(job.data, job.threads, shares_gpu=True)
    is_in = draw_membership(len(session.train), count, share)[job.seed]
    examples = session.train.select(torch.from_numpy(is_in.nonzero()[0]).to(session.device))
    record = {
        "run": "shadow",
        **job.record(values),
        **({"init": describe_file(init, rename)} if init else {}),
        "pool": {"count": count, "share": share},
        "trained_on": ids_hash(examples.rows.cpu().numpy()),
    }
    checkpoints = open_checkpoints(job.checkpoints, record, job.checkpoint_seconds)
    this = Run(session.device, derive_seed("shadow", job.seed), checkpoints=checkpoints)
    model = session.new_model(job.model)
    if init:
        load_initial(model, init, rename)
    with this.phase("train"):
        fit(model, examples, session.test, values, this)
    files = [job.out / name for name in (layout.MODEL, layout.MARGINS, layout.HISTORY)]
    write_model(files[0], model)
    ShadowMargins(is_in, compute_margins(model, session.train)).save(files[1])
    write_history(files[2], this.history)
    session.finish(job.out, record, files, this.clock.seconds, this.devices)
    checkpoints.clear()
