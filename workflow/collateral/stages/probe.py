"""Use the models of a cell and seed once more: fine-tune them, add noise, ask an untrained net.

One job for all runs of a cell and seed: on digits a model takes no longer than importing torch,
and with 21 methods there would be 24 jobs in place of one.
"""

import argparse
import logging
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from collateral.contract.probes import Probes
from collateral.contract.seeds import seed_of
from collateral.results import layout
from collateral.results.chain import INPUTS, hashes, write_record
from collateral.results.experiments import Probe
from collateral.results.split import Split
from collateral.stages.options import add_job_options, job_checkpoints, record_of
from collateral.training.examples import Examples
from collateral.training.inference import infer
from collateral.training.numerics import numerics_of
from collateral.training.probes import relearned, residual_share
from collateral.training.run import Run
from collateral.training.session import Session, open_session, write_cost

LOG = logging.getLogger(__name__)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("--probes", required=True, help="what is asked, with values, as JSON")
    parser.add_argument("--runs", nargs="+", required=True, help="names")
    parser.add_argument("--models", type=Path, nargs="+", required=True, help="weights, by run")
    parser.add_argument("--data", type=Path, required=True, help="dataset.npz")
    parser.add_argument("--split", type=Path, required=True, help="split.json")
    parser.add_argument("--model", required=True, help="name of the architecture")
    add_job_options(parser)


def run(args: argparse.Namespace) -> None:
    """Probe every run, a finished one never again; write what they show, record and cost."""
    probes = Probes.model_validate_json(args.probes)
    session = open_session(args.data, args.threads)
    split = Split.load(args.split, session.folder)
    record = {**record_of(args, probes), "params": probes.asked(), "runs": args.runs}
    record[INPUTS] |= hashes(args.models, session.folder)
    checkpoints = job_checkpoints(args, record)
    prober = Prober(session, args.model, session.task(split).forget, split.hash, probes)
    found = []
    for name, path in zip(args.runs, args.models, strict=True):
        if (one := checkpoints.load(name)) is None:
            one = prober.ask(path)
            checkpoints.save(name, one)
        found.append(one)
        LOG.info("%s is probed", name)
    shown = [one["shown"] for one in found]
    arrays = {key: torch.stack([one[key] for one in shown]).numpy() for key in shown[0]}
    this = prober.new_run("zrf", args.seed)
    if probes.zrf:
        with this.phase("zrf"):
            arrays["zrf_logits"] = prober.untrained().numpy()
    file = args.out / layout.PROBE_SHOWS
    Probe(np.array(args.runs), **arrays).save(file)
    record["numerics"] = numerics_of(this.devices)
    write_record(args.out / layout.RECORD, record, root=session.folder, files=[file])
    seconds = sum((Counter(one["seconds"]) for one in found), Counter(this.clock.seconds))
    write_cost(args.out, seconds, session.device, session.folder)
    checkpoints.clear()


@dataclass(frozen=True)
class Prober:
    """Asks one model after another the same."""

    session: Session
    model: str
    forget: Examples
    split_hash: str
    probes: Probes

    def ask(self, path: Path) -> dict[str, Any]:
        """Return what a model shows, by the array's name, and the seconds by phase."""
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
                curve = relearned(model, self.forget, self.probes.relearn, this.generator)
            shown["relearn_accuracy"] = torch.tensor(curve, dtype=torch.float64)
            seconds |= this.clock.seconds
        return {"shown": shown, "seconds": seconds}

    def new_run(self, purpose: str, *names: str | int) -> Run:
        """Return a source of randomness: the same for all runs and, unless it is named, seeds.

        So Retrains of two seeds can be held against each other.
        """
        return Run(self.session.device, seed_of("probe", purpose, *names, self.split_hash))

    def untrained(self) -> Tensor:
        """Return the logits that a net with fresh weights gives the forget set."""
        _, logits = infer(self.session.new_model(self.model), self.forget)
        return logits
