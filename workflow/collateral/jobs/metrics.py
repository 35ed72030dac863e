"""Job that computes all metrics of a cell from the files of the cell's other jobs."""

from collections.abc import Iterable, Sequence

from collateral.contract.rows import MIA
from collateral.jobs import list_cell_jobs
from collateral.jobs._job import CellJob
from collateral.plan import paths
from collateral.results import layout

# CPU seconds to start, and CPU seconds per example and run, mostly for membership attacks.
START_SECONDS, EXAMPLE_SECONDS = 0.2, 8e-6
CELL_BYTES = 1_000_000  # disk space of the metrics, tables and figures of a cell, in bytes


class MetricsJob(CellJob):
    """Evaluation of a cell."""

    folder = paths.CELL
    record_file = ""
    bytes = CELL_BYTES

    @property
    def results(self) -> list[str]:
        """Paths of result files: one per evaluated job, which stands for all files of the job."""
        # A job's record and cost are not listed, because Snakemake needs time for each input.
        jobs = list_cell_jobs(self.benchmark, self.cell)
        results = [f"{job.out}/{job.evaluated}" for job in jobs if job.evaluated]
        if self.benchmark.evaluates_base(self.cell):
            seeds = self.benchmark.base_seeds()
            results += [self.base_file(layout.OUTPUTS, seed) for seed in seeds]
        for name in self.rounds[:-1]:
            results += MetricsJob(self.benchmark, self.benchmark.cells[name]).results
            results += [self.path(file, cell=name) for file in (paths.SPLIT, paths.NEIGHBOURS)]
        return results

    @property
    def rounds(self) -> tuple[str, ...]:
        """Names of the cells of all rounds, if this cell is the last round; else empty."""
        forget = self.cell.forget
        return (*forget.earlier, self.cell.name) if forget.is_last else ()

    @property
    def arguments(self) -> list[str]:
        """Options with the cell, its seeds and its runs."""
        seeds, cell, config = self.benchmark.seeds, self.cell, self.benchmark.config
        lists: dict[str, Iterable[object]] = {
            "--cell": [cell.name],
            "--seeds": seeds,
            "--base-seeds": map(self.benchmark.base_seed, seeds),
            "--methods": cell.names_by_kind("method"),
            "--controls": cell.names_by_kind("control"),
            "--tuned": cell.tuned,
            "--tracked": cell.tracked,
            "--support-sized": [cell.support_sized.name] if cell.support_sized else [],
            "--exposed": cell.exposed,
            "--attacks": dict.fromkeys([MIA, *config.attacks]),
            "--probed": config.probe.names if config.probe else [],
        }
        reference = self.benchmark.reference
        optional: dict[str, Sequence[object]] = {
            "--margins": [f"{key}={value:g}" for key, value in config.margin.items()],
            "--rounds": self.rounds,
            "--looks": config.looks,
            "--groups": config.groups,
            "--positive": [] if config.positive is None else [config.positive],
            "--reference": [] if reference == layout.RETRAIN else [reference],
        }
        lists |= {option: words for option, words in optional.items() if words}
        return [word for key, words in lists.items() for word in (key, *map(str, words))]

    @property
    def seconds(self) -> float:
        """CPU seconds, estimated from the numbers of examples and runs."""
        num_runs = len(self.cell.runs) + len(self.cell.given) + 1
        examples = self.workload.size.num_examples * len(self.benchmark.seeds)
        return START_SECONDS + EXAMPLE_SECONDS * num_runs * examples
