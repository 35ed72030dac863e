"""Probe the models of a cell and seed: relearning, residual knowledge under noise, and ZRF.

One job for all runs of a cell and seed: on digits a model takes no longer than importing torch,
and with 21 methods there would be 24 jobs in place of one.
"""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor

from collateral.contract.probes import Probes
from collateral.contract.seeds import derive_seed
from collateral.results import layout
from collateral.results.experiments import Probe
from collateral.results.provenance import INPUTS, hash_files, write_record
from collateral.results.split import Split
from collateral.stages._options import Job, SplitFile
from collateral.training.checkpoints import open_checkpoints
from collateral.training.examples import Examples
from collateral.training.inference import infer
from collateral.training.job_io import Session, open_session, write_cost
from collateral.training.numerics import describe_numerics
from collateral.training.probes import residual_share, run_relearning
from collateral.training.run import Run

LOG = logging.getLogger(__name__)


def probe(
    *,
    probes: Annotated[str, "the probes with their values, as JSON"],
    runs: Annotated[Sequence[str], "names"],
    models: Annotated[Sequence[Path], "weights, by run"],
    split: SplitFile,
    job: Job,
) -> None:
    """Probe every run, skipping finished ones; write the arrays, record and cost."""
    asked = Probes.model_validate_json(probes)
    session = open_session(job.data, job.threads)
    parts = Split.load(split, session.folder)
    record = {**job.record(asked, split), "params": asked.asked(), "runs": list(runs)}
    record[INPUTS] |= hash_files(models, session.folder)
    checkpoints = open_checkpoints(job.checkpoints, record, job.checkpoint_seconds)
    prober = Prober(session, job.model, session.task(parts).forget, parts.hash, asked)
    found = []
    for name, path in zip(runs, models, strict=True):
        if (one := checkpoints.load(name)) is None:
            one = prober.ask(path)
            checkpoints.save(name, one)
        found.append(one)
        LOG.info("%s is probed", name)
    shown = [one["shown"] for one in found]
    arrays = {key: torch.stack([one[key] for one in shown]).numpy() for key in shown[0]}
    this = prober.new_run("zrf", job.seed)
    if asked.zrf:
        with this.phase("zrf"):
            arrays["zrf_logits"] = prober.untrained().numpy()
    file = job.out / layout.PROBE_RESULT
    Probe(np.array(runs), **arrays).save(file)
    record["numerics"] = describe_numerics(this.devices)
    write_record(job.out / layout.RECORD, record, root=session.folder, files=[file])
    seconds = sum((Counter(one["seconds"]) for one in found), Counter(this.clock.seconds))
    write_cost(job.out, seconds, session.device, session.folder)
    checkpoints.clear()


@dataclass(frozen=True)
class Prober:
    """Runs the same probes on one model after another."""

    session: Session
    model: str
    forget: Examples
    split_hash: str
    probes: Probes

    def ask(self, path: Path) -> dict[str, Any]:
        """Return the results of a model by array name, and the seconds by phase."""
        shown: dict[str, Tensor] = {}
        seconds: dict[str, float] = {}
        if self.probes.residual:
            this, model = self.new_run("residual"), self.session.load_model(self.model, path)
            with this.phase("residual"):
                share = residual_share(model, self.forget, self.probes.residual, this.generator)
            shown["residual_share"] = share
            seconds |= this.clock.seconds
        if self.probes.relearn:
            this, model = self.new_run("relearn"), self.session.load_model(self.model, path)
            with this.phase("relearn"):
                curve = run_relearning(model, self.forget, self.probes.relearn, this.generator)
            shown["relearn_accuracy"] = torch.tensor(curve, dtype=torch.float64)
            seconds |= this.clock.seconds
        return {"shown": shown, "seconds": seconds}

    def new_run(self, purpose: str, *names: str | int) -> Run:
        """Return a source of randomness: the same for all runs and, unless it is named, seeds.

        So Retrains of two seeds can be compared.
        """
        return Run(self.session.device, derive_seed("probe", purpose, *names, self.split_hash))

    def untrained(self) -> Tensor:
        """Return the logits of an untrained network on the forget set."""
        _, logits = infer(self.session.new_model(self.model), self.forget)
        return logits
