"""Job that probes all models of one cell and one seed, if the config has the key `probe`."""

from typing import Any

from collateral.contract.probes import Probes
from collateral.contract.work import Work
from collateral.jobs._job import Inputs, Job, PlannedInCell
from collateral.plan.work import BLOCK, FLOAT_BYTES
from collateral.results import layout


class ProbeJob(Job):
    """Probes of Retrain, the base model and all runs of a seed except those of sweeps."""

    folder = layout.PROBE

    cell: str
    seed: int
    model: str
    freeze: tuple[str, ...] = ()  # parts of the model that never train
    params: dict[str, Any]  # the probes and their parameters
    runs: tuple[str, ...]
    base_seed: int  # of the seed's base model
    # Seed of the Retrain that is the reference, if it is another one.
    reference_seed: int | None = None
    near_seed: int | None  # of the base whose features tell which examples are near; None: not used

    @property
    def inputs(self) -> Inputs:
        """Data, forget set, weights of each run, and the features that tell which are near."""
        seeds = [] if self.near_seed is None else [self.near_seed]
        near = [f"{self.path(layout.BASE, seed=s)}/{layout.EMBEDDINGS}" for s in seeds]
        models = [self._weights(run) for run in self.runs]
        split = self.path(layout.SPLIT)
        return {"data": layout.DATA, "split": split, "models": models, "embeddings": near}

    def _weights(self, run: str) -> str:
        seed = self.base_seed if run == layout.ORIGINAL else self.seed
        if run == layout.RETRAIN and self.reference_seed is not None:
            seed = self.reference_seed
        return f"{self.path(layout.run_folder(run), run=run, seed=seed)}/{layout.MODEL}"

    @property
    def files(self) -> dict[str, str]:
        """What the probes measured."""
        return self.in_folder(probe=layout.PROBE_RESULT)


class PlannedProbe(PlannedInCell):
    """Planned job that runs the probes on the models of one seed."""

    describes = ProbeJob
    cell_attribute = "probed"
    uses_model = True
    evaluated = layout.PROBE_RESULT

    seed: int

    @property
    def is_planned(self) -> bool:
        """Whether the seed is evaluated, and not only a reference."""
        return self.seed in self.benchmark.evaluated_seeds

    @property
    def runs(self) -> list[str]:
        """Names of the probed runs that have a model for this seed."""
        runs = self.cell.runs
        return [
            name
            for name in self.cell.probed
            if name not in runs or self.benchmark.has_run(runs[name], self.seed)
        ]

    @property
    def probes(self) -> Probes:
        """Parameters of the probes in the config."""
        assert self.benchmark.config.probe is not None
        return self.benchmark.config.probe

    @property
    def values(self) -> dict[str, Any]:
        """Model, probes, and the probed runs."""
        benchmark = self.benchmark
        first, own = (benchmark.base_seed(seed) for seed in (benchmark.seeds[0], self.seed))
        return {
            **{"model": self.model, "params": self.probes.requested(), "runs": self.runs},
            **{"freeze": benchmark.config.freeze},
            **{"base_seed": own, "near_seed": first if self.probes.needs_near else None},
            "reference_seed": benchmark.reference_seed(self.seed) if self.cell.trust else None,
        }

    @property
    def work(self) -> Work:
        """Estimated amount of computation of all probes on all runs."""
        sizes = self.workload.sizes(self.cell)
        return self.probes.work(sizes, len(self.cell.probed))

    @property
    def bytes(self) -> float:
        """Disk space in bytes: numbers per run and example, and logits of an untrained network."""
        sizes = self.workload.sizes(self.cell)
        numbers = sizes.forget * (len(self.cell.probed) + sizes.classes)
        return FLOAT_BYTES * numbers + 3 * BLOCK
