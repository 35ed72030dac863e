"""Job that probes all models of one cell and one seed, if the config has the key `probe`."""

from collateral.contract.probes import Probes
from collateral.contract.work import Work
from collateral.jobs._job import CellJob, Record, as_json
from collateral.plan import paths
from collateral.plan.work import BLOCK, FLOAT_BYTES
from collateral.results import layout


class ProbeJob(CellJob):
    """Probes of Retrain, the base model and all runs of a seed except those of sweeps."""

    folder = paths.PROBE
    cell_attribute = "probed"
    uses_model = True
    files = (layout.PROBE_RESULT, layout.RECORD, layout.COST)
    evaluated = layout.PROBE_RESULT

    seed: int

    @property
    def probes(self) -> Probes:
        """Parameters of the probes in the config."""
        assert self.benchmark.config.probe is not None
        return self.benchmark.config.probe

    @property
    def models(self) -> list[str]:
        """Weight files of the probed models, one per run."""
        return [self._weights(run) for run in self.cell.probed]

    @property
    def embeddings(self) -> list[str]:
        """File with features of the first base model, to find examples near the forget set.

        The list is empty if no probe uses near examples.
        """
        file = self.base_file(layout.EMBEDDINGS, self.benchmark.seeds[0])
        return [file] if self.probes.needs_near else []

    def _weights(self, run: str) -> str:
        if run == layout.ORIGINAL:
            return self.base_file(layout.MODEL, self.seed)
        return f"{self.path(paths.RUN, run=run)}/{layout.MODEL}"

    @property
    def arguments(self) -> list[str]:
        """Options with the probes and the names of the runs."""
        probes = as_json(self.probes.requested())
        return ["--probes", probes, "--runs", *self.cell.probed]

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

    def record(self, found: Record, folder: object) -> Record:
        """Return the record that the job would write with the current config and code."""
        record = self.model_record(self.split, *self.models, *self.embeddings)
        return {**record, "params": self.probes.requested(), "runs": self.cell.probed}
