"""What tables, figures and pages need and cannot make: the cache of what was trained."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from collateral.plan import paths
from collateral.plan.comparison import compare
from collateral.plan.evaluation import EvaluationJob, PicturesJob
from collateral.plan.grid import Benchmark
from collateral.results import layout

# Not its weights: no number needs them.
OF_RUN = tuple(name for option, name in layout.RUN_FILES.items() if option != "model")
OF_TUNING = (layout.TRIALS, layout.SELECTED, layout.RECORD, layout.COST)
OF_SUPPORT_SIZE = (layout.SUPPORT_SIZES, layout.RECORD, layout.COST)
OF_PROBE = (layout.PROBE_SHOWS, layout.RECORD, layout.COST)
OF_EXPOSURE = (layout.EXPOSED, layout.RECORD, layout.COST)
# What `make run` does by each rule where its file is missing.
HOW = {
    "data": "read the data set again and train everything anew",
    "split": "choose the forget set again and train all of the cell anew",
    "neighbours": "make it",
    "pictures": "make it",
    "base": "train it, and all that starts from it,",
    "retrain": "train it",
    "unlearn": "train it",
    "track": "train it",
    "given": "look at its weights",
    "tune": "train it, and the runs that follow its choice,",
    "support_size": "train it",
    "probe": "use the models once more, and train those that are gone,",
    "expose": "train it, and the shadow models where these are missing too,",
}
MOST_NAMED = 20


@dataclass(frozen=True)
class Needed:
    """A file that the presenting rules read, and the rule that makes it."""

    path: str
    rule: str
    made_of: tuple[str, ...] = ()  # without training, as long as it is there

    @property
    def is_there(self) -> bool:
        """Tell whether it is on disk."""
        return Path(self.path).is_file()

    @property
    def remedy(self) -> str:
        """Say how to get it."""
        by_run = f"let `make run` {HOW[self.rule]} (rule {self.rule}){self._price}"
        return f"{self.path}: missing; copy it from where it was made, or {by_run}"

    @property
    def _price(self) -> str:
        gone = [path for path in self.made_of if not Path(path).is_file()]
        if gone:
            return f", which takes training: {gone[0]} is missing too"
        return ", without training" if self.made_of else ""


def needed(benchmark: Benchmark) -> Iterator[Needed]:
    """Yield all files that the pages of a benchmark are made of and no presenting rule makes."""
    for path in (paths.LABELS, paths.DATA_RECORD):
        yield Needed(path.format(benchmark=benchmark.name), "data")
    jobs = [EvaluationJob(benchmark, cell) for cell in benchmark.cells.values()]
    for job in jobs:
        yield from _of_cell(job)
    folders = dict(found for job in jobs for found in _folders(job))  # cells share a base
    for folder, (rule, names) in folders.items():
        yield from (Needed(f"{folder}/{name}", rule) for name in names)


def missing(benchmarks: Iterable[Benchmark]) -> list[Needed]:
    """Return those that are not there."""
    return [one for benchmark in benchmarks for one in needed(benchmark) if not one.is_there]


def complaint(files: list[Needed]) -> str:
    """Return a line for each of the first that are missing, and how many there are."""
    lines = [one.remedy for one in files]
    return _first_lines(lines, f"{len(files)} missing: no table, figure or page was made")


def stale_complaint(lines: list[str]) -> str:
    """Return a line for each of the first differences from the plan, and how many there are."""
    end = (
        f"{len(lines)} differences from the plan (`make run` runs these jobs again): "
        "no table, figure or page was made"
    )
    return _first_lines(lines, end)


def _first_lines(lines: list[str], end: str) -> str:
    more = len(lines) - MOST_NAMED
    rest = [f"... and {more} more"] if more > 0 else []
    return "\n".join([*lines[:MOST_NAMED], *rest, end])


def stale(benchmarks: Iterable[Benchmark]) -> list[str]:
    """Return a line for each value in which finished jobs differ from the plan."""
    found = []
    for benchmark in benchmarks:
        folder = Path(paths.BENCHMARK.format(benchmark=benchmark.name))
        different = compare(benchmark, folder).different
        found += [f"{folder / name}: {line}" for name, lines in different.items() for line in lines]
    return found


def lost(benchmarks: Iterable[Benchmark], others: Iterable[str] = ()) -> list[str]:
    """Return what was there once and is no more, for a run to make again; also of `others`.

    Snakemake does not miss a file as long as what was made of it is there: it would keep the
    numbers, and where nothing may be trained, show them as new.
    """
    of_benchmarks = [path for benchmark in benchmarks for path in _lost(benchmark)]
    gone = [path for path in others if not Path(path).exists()]
    return of_benchmarks + (gone if Path(paths.INDEX).exists() else [])


def _lost(benchmark: Benchmark) -> Iterator[str]:
    was_whole = Path(paths.METRICS.format(benchmark=benchmark.name)).exists()
    for one in missing([benchmark]):
        if was_whole or Path(one.path).parent.exists():
            yield one.path
    if Path(paths.CHECKED.format(benchmark=benchmark.name)).exists():
        yield from (path for path in presented(benchmark) if not Path(path).exists())


def presented(benchmark: Benchmark) -> Iterator[str]:
    """Yield what the presenting rules make."""
    for cell in benchmark.cells:
        yield from (path.format(benchmark=benchmark.name, cell=cell) for path in paths.OF_CELLS)
    yield from (path.format(benchmark=benchmark.name) for path in paths.OF_BENCHMARKS)


def _of_cell(job: EvaluationJob) -> Iterator[Needed]:
    split = job.path(paths.SPLIT)
    yield Needed(split, "split")
    for path in (paths.NEIGHBOURS, paths.NEIGHBOURS_RECORD):
        yield Needed(job.path(path), "neighbours", (job.path(paths.DATA), split, *job.embeddings))
    withheld = PicturesJob(job.benchmark, job.cell).withheld
    for path in (paths.PICTURES, paths.PICTURES_RECORD):
        made_of = (job.path(paths.DATA), job.path(paths.NEIGHBOURS), *withheld)
        yield Needed(job.path(path), "pictures", made_of)


Folder = tuple[str, tuple[str, tuple[str, ...]]]


def _folders(job: EvaluationJob) -> Iterator[Folder]:
    """Yield the folders of jobs, with the rule and the files that are needed of each."""
    cell, seeds = job.cell, job.benchmark.seeds
    reference = job.benchmark.reference
    if layout.ORIGINAL in (*cell.runs, reference):
        for seed in job.benchmark.base_seeds():
            yield job.path(paths.BASE, seed=seed), ("base", OF_RUN)
    own = {layout.RETRAIN: "retrain"} if reference == layout.RETRAIN else {}
    for seed in seeds:
        for name, rule in {**own, **dict.fromkeys(cell.given, "given")}.items():
            yield job.path(paths.RUN, seed=seed, run=name), (rule, OF_RUN)
        for run in cell.unlearned:
            folder = job.path(paths.RUN, seed=seed, run=run.name)
            yield folder, (run.rule, (*OF_RUN, *([layout.EPOCHS] if run.tracked else [])))
    for method in cell.tuned:
        yield job.path(paths.TUNE, method=method), ("tune", OF_TUNING)
    yield from _further_folders(job)


def _further_folders(job: EvaluationJob) -> Iterator[Folder]:
    cell, seeds = job.cell, job.benchmark.seeds
    for seed in seeds if cell.support_sized else ():
        yield job.path(paths.SUPPORT_SIZE, seed=seed), ("support_size", OF_SUPPORT_SIZE)
    for seed in seeds if cell.probed else ():
        yield job.path(paths.PROBE, seed=seed), ("probe", OF_PROBE)
    for run in cell.exposed:
        yield job.path(paths.EXPOSURE, run=run.name), ("expose", OF_EXPOSURE)
