"""Further use of the models of a cell and seed, where the config has `probe`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from collateral.contract.plugins import MODEL
from collateral.contract.probes import Probes
from collateral.contract.work import Work
from collateral.plan import paths
from collateral.plan.fingerprint import stage_code
from collateral.plan.grid import Benchmark, Cell
from collateral.plan.jobs._disk import BLOCK, FLOAT_BYTES
from collateral.plan.jobs._job import CellJob, Record, as_json
from collateral.results import layout
from collateral.results.provenance import INPUTS


@dataclass(frozen=True)
class ProbeJob(CellJob):
    """Probes of all runs of a seed but those of sweeps, of Retrain and of the base model."""

    needs = ("data", "split", "base", "retrain", "given", "unlearn")
    folder = paths.PROBE
    files = (layout.PROBE_RESULT, layout.RECORD, layout.COST)
    evaluated = layout.PROBE_RESULT
    remedy = "use the models once more, and train those that are gone,"

    seed: int

    @classmethod
    def list_in_cell(cls, benchmark: Benchmark, cell: Cell) -> Iterator[Self]:
        """Yield a job for each seed, if the config asks for probes."""
        return (cls(benchmark, cell, seed) for seed in (benchmark.seeds if cell.probed else ()))

    @property
    def probes(self) -> Probes:
        """The probes that the config asks for."""
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
        return self.path(paths.run_files(paths.RUN)["model"], run=run)

    @property
    def options(self) -> str:
        """The probes, and the names of the runs."""
        probes = as_json(self.probes.asked())
        return shlex.join(["--probes", probes, "--runs", *self.cell.probed])

    @property
    def code(self) -> str:
        """The fingerprint of the stage and its model."""
        return stage_code("probe", MODEL.module(self.model))

    @property
    def work(self) -> Work:
        """The work of all probes on all runs."""
        sizes = self.workload.sizes(self.cell)
        return self.probes.work(sizes, len(self.cell.probed)).of(self.model)

    @property
    def bytes(self) -> float:
        """A share for each run and example, an untrained net's logits; record, cost and log."""
        sizes = self.workload.sizes(self.cell)
        numbers = sizes.forget * (len(self.cell.probed) + sizes.classes)
        return FLOAT_BYTES * numbers + 3 * BLOCK

    def record(self, found: Record, folder: object) -> Record:
        """Return the record that the job would write now."""
        return {
            "model": self.model,
            "code": self.code,
            "seed": self.seed,
            "params": self.probes.asked(),
            "runs": self.cell.probed,
            INPUTS: self.record_inputs(self.split, *self.models),
        }
