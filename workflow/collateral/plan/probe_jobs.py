"""What the job needs and is told that uses the models of a cell and seed once more."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from collateral.contract.plugins import MODEL
from collateral.contract.probes import Probes
from collateral.contract.work import Work
from collateral.plan import paths
from collateral.plan.fingerprint import stage_code
from collateral.plan.jobs import CellJob, as_json
from collateral.plan.workload import workload_of
from collateral.results import layout


@dataclass(frozen=True)
class ProbeJob(CellJob):
    """All runs of a seed but sweeps', Retrain and the base model."""

    seed: int

    @property
    def asked(self) -> Probes:
        """What the models are asked."""
        assert self.benchmark.config.probe is not None
        return self.benchmark.config.probe

    @property
    def models(self) -> list[str]:
        """The weights of each run."""
        return [self._weights(run) for run in self.cell.probed]

    def _weights(self, run: str) -> str:
        if run == layout.ORIGINAL:
            base = self.benchmark.base_seed(self.seed)
            return self.path(paths.run_files(paths.BASE)["model"], seed=base)
        return self.path(paths.run_files(paths.RUN)["model"], seed=self.seed, run=run)

    @property
    def options(self) -> str:
        """What is asked, and of which runs."""
        asked = as_json(self.asked.asked())
        return shlex.join(["--probes", asked, "--runs", *self.cell.probed])

    @property
    def code(self) -> str:
        """The code of the stage and its model."""
        return stage_code("probe", MODEL.module(self.model))

    @property
    def work(self) -> Work:
        """What it computes."""
        return workload_of(self.benchmark).probe(self.cell)
