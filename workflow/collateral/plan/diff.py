"""Compare results with the plan: find records that differ, and files that are missing."""

import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collateral.jobs import list_jobs, parse_job
from collateral.jobs._job import Job, Planned
from collateral.plan import paths
from collateral.plan.grid import Benchmark
from collateral.results import layout
from collateral.results.files import InvalidResultError
from collateral.results.provenance import CODE, INPUTS, JOB, check_inputs, merge, read_signed

SHOWN_LENGTH = 60  # maximum number of characters of a value in a message
MOST_LISTED = 20  # maximum number of missing files, or of differences from the plan, in a message
REQUEST = ("forget", "params", "chosen")  # fields of a forget set that say what is requested
DELETED = ("own.sha256", '""')  # place and planned hash of a user's file that was deleted
_MISSING = object()
Record = dict[str, Any]


@dataclass(frozen=True)
class Comparison:
    """The differences between results and plan."""

    different: dict[str, list[str]]  # dict from path of a record to one line per difference
    missing: list[str]  # paths of records that are planned and do not exist
    unplanned: list[str]  # paths of records that exist and are not planned


def compare(benchmark: Benchmark, folder: Path) -> Comparison:
    """Compare the records of all finished jobs of a benchmark with the plan."""
    jobs = list_records(benchmark)
    different, missing = {}, []
    for name, job in jobs.items():
        if not (folder / name).exists():
            missing.append(name)
        elif lines := record_differences(job, folder, name):
            different[name] = lines
    found = (path.relative_to(folder).as_posix() for path in folder.rglob(layout.RECORD))
    return Comparison(different, missing, sorted(n for n in found if n not in jobs and _is_job(n)))


def list_records(benchmark: Benchmark) -> dict[str, Planned]:
    """Return a dict from the path of each record, in the benchmark's folder, to its job."""
    return {name: job for job in list_jobs(benchmark) for name in job.record_names}


def _is_job(record: str) -> bool:
    """Tell whether a plan can list a record; False for tables, figures and files of `prepare`."""
    return {layout.PREPARED, layout.TABLES, layout.FIGURES}.isdisjoint(Path(record).parts)


def record_differences(job: Planned, folder: Path, name: str = "") -> list[str]:
    """Return how the record of a finished job differs from the plan, one line per field."""
    found = read_signed(folder / (name or job.record_names[0]))
    if JOB not in found:
        return ["it cannot be compared: another version wrote it"]
    planned = {**_compared(job.job), CODE: job.code}
    differences = list(find_differences(_identity(found), planned))
    made = merge(found)
    for place, digest in job.user_hashes(made).items():
        differences += find_differences(_value(made, place), digest, place)
    lines = [f"{k}: {v}, planned {other}" for k, v, other in differences if (k, other) != DELETED]
    return lines or _other_inputs(folder, found[INPUTS])


def _compared(job: Job) -> Record:
    """Return the description and the paths of inputs that a finished job must have in common."""
    fields = {key: value for key, value in job.content().items() if key not in job.uncompared}
    return {**fields, INPUTS: sorted({*job.input_files} - _free_inputs(job))}


def _free_inputs(job: Job) -> set[str]:
    lists = [value for key, value in job.inputs.items() if key in job.uncompared]
    return {file for files in lists for file in ([files] if isinstance(files, str) else files)}


def _identity(found: Mapping[str, Any]) -> Record:
    """Return what must be as planned: description, code, and paths of inputs of a record."""
    try:
        job = parse_job(found[JOB])
    except (ImportError, ValueError, AssertionError):  # another version wrote it
        return {**found[JOB], CODE: found[CODE], INPUTS: []}
    # Files that `prepare` wrote are left out, because the plan does not list them.
    inputs = {path for path in found[INPUTS] if layout.PREPARED not in Path(path).parts}
    files = sorted({_whole(path) for path in inputs} - _free_inputs(job))
    return {**_compared(job), CODE: found[CODE], INPUTS: files}


def _whole(path: str) -> str:
    """Return the folder whose record is an input, or the path itself."""
    folder = path.removesuffix(f"/{layout.RECORD}")
    return folder if folder in (layout.TABLES, layout.FIGURES) else path


def _value(content: Any, place: str) -> Any:
    for key in place.split("."):
        content = (content or {}).get(key)
    return content


def _other_inputs(folder: Path, inputs: Mapping[str, str]) -> list[str]:
    """Return a line for each input that was made again with another content."""
    lines = []
    for name, digest in inputs.items():
        try:
            check_inputs(folder / name, {INPUTS: {name: digest}}, folder)
        except InvalidResultError:
            lines.append(f"inputs: another version of {name}")
    return lines


def describe(folder: Path, found: Comparison) -> Iterator[str]:
    """Yield lines about records that differ from the plan, are missing, or are not planned."""
    # A difference of a forget set in what is requested, and not only in the code.
    changed = [
        name
        for name, lines in found.different.items()
        if Path(name).name == Path(layout.SPLIT).name
        and any(line.startswith(REQUEST) for line in lines)
    ]
    if changed:
        cells = f"{len(changed)} cells" if len(changed) > 1 else "1 cell"
        yield f"{folder}: made for another request: the forget set of {cells} has changed"
    yield from first_lines(_name_differences(folder, found))
    if found.different:
        yield f"{folder}: not as planned: {len(found.different)}; a run makes these again"
    if found.missing:
        yield f"{folder}: planned and not there: {len(found.missing)}, as {found.missing[0]}"
    if found.unplanned:
        yield f"{folder}: there and not planned: {len(found.unplanned)}, as {found.unplanned[0]}"
    if not (found.different or found.missing):
        yield f"{folder}: all as planned"


def _name_differences(folder: Path, found: Comparison) -> list[str]:
    """Return one line per value that differs from the plan, with the path of its record."""
    return [f"{folder / name}: {line}" for name, lines in found.different.items() for line in lines]


def first_lines(lines: Sequence[str]) -> list[str]:
    """Return the first MOST_LISTED lines; if there are more, add a line that counts the rest."""
    more = len(lines) - MOST_LISTED
    return [*lines[:MOST_LISTED], *([f"... and {more} more"] if more > 0 else [])]


def find_differences(one: Any, other: Any, place: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield the path of each field that differs between two records, and both values as text."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in dict.fromkeys([*one, *other]):
            below = f"{place}.{key}" if place else str(key)
            yield from find_differences(one.get(key, _MISSING), other.get(key, _MISSING), below)
    elif one != other:
        yield place, _shorten(one), _shorten(other)


def _shorten(value: Any) -> str:
    if value is _MISSING:
        return "nothing"
    text = json.dumps(value)
    return text if len(text) <= SHOWN_LENGTH else f"{text[:SHOWN_LENGTH]}..."


def list_needed(benchmark: Benchmark) -> dict[str, Planned]:
    """Return a dict from path to job, for all files from which a benchmark's pages are made."""
    return {path: job for job in list_jobs(benchmark) for path in job.files}


def find_missing(benchmarks: Iterable[Benchmark]) -> dict[str, Planned]:
    """Return a dict from path to job, for all missing files from which pages are made."""
    needed = (pair for benchmark in benchmarks for pair in list_needed(benchmark).items())
    return {path: job for path, job in needed if not Path(path).is_file()}


def find_stale(benchmarks: Iterable[Benchmark]) -> list[str]:
    """Compare records of finished jobs with the plan; return a line for each value that differs."""
    folders = {Path(paths.BENCHMARK.format(benchmark=one.name)): one for one in benchmarks}
    found = (_name_differences(folder, compare(one, folder)) for folder, one in folders.items())
    return [line for lines in found for line in lines]


def find_lost(benchmarks: Iterable[Benchmark], others: Iterable[str] = ()) -> list[str]:
    """Return the output files, and files in `others`, that were deleted and must be made again.

    Snakemake does not notice a deleted file while the files made from it exist: it would keep the
    old numbers, and `make figures` would show them as if they were new.
    """
    of_benchmarks = [path for benchmark in benchmarks for path in _lost(benchmark)]
    gone = [path for path in others if not Path(path).exists()]
    return of_benchmarks + (gone if Path(paths.INDEX).exists() else [])


def _lost(benchmark: Benchmark) -> Iterator[str]:
    was_whole = Path(paths.METRICS.format(benchmark=benchmark.name)).exists()
    for path in find_missing([benchmark]):
        if was_whole or Path(path).parent.exists():
            yield path
    if Path(paths.CHECKED.format(benchmark=benchmark.name)).exists():
        yield from (path for path in list_presented(benchmark) if not Path(path).exists())


def list_presented(benchmark: Benchmark) -> Iterator[str]:
    """Yield the paths of a benchmark's metrics, tables, figures and pages."""
    folder = paths.BENCHMARK.format(benchmark=benchmark.name)
    for cell in benchmark.cells:
        yield from (f"{folder}/{cell}/{name}" for name in layout.CELL_NUMBERS)
    yield from (f"{folder}/{name}" for name in layout.PRESENTED)


@dataclass(frozen=True)
class Unknown:
    """Finished results that are not as planned, or may not be, and that Snakemake would keep."""

    records: dict[str, str]  # dict from path of a record to its differences from the plan
    pages: list[str]  # tables, figures and pages; no record says from which config they were made

    @property
    def files(self) -> list[str]:
        """Paths of all files, for `snakemake --forcerun`."""
        return [*self.records, *self.pages]

    def without(self, forced: Container[str]) -> "Unknown":
        """Return the results without those that are made again anyway."""
        records = {path: text for path, text in self.records.items() if path not in forced}
        return Unknown(records, [path for path in self.pages if path not in forced])

    def message(self, command: str) -> str:
        """Return why a run stops, and the command that makes all files again."""
        end = (
            f"{len(self.files)} results without Snakemake's metadata are not as planned; "
            f"to make them again: {command}"
        )
        return "\n".join([*self.lines(), end])

    def lines(self) -> list[str]:
        """Return the lines of the list: the first few records, and one line for all pages."""
        named = first_lines([f"{path}: {text}" for path, text in self.records.items()])
        count = f"{len(self.pages)} metrics, tables, figures and pages of an unknown config"
        return [*named, *([f"{count}, as {self.pages[0]}"] if self.pages else [])]


def find_unknown(
    grid: Mapping[str, Benchmark],
    is_known: Callable[[str], bool],
    is_compared: Callable[[Planned], bool] = lambda job: False,
) -> Unknown:
    """Find the finished results of a plan that Snakemake would keep although they may differ.

    `is_known` tells whether Snakemake has metadata of a file; `is_compared`, whether it has those
    of all files of a job, so that it compares the job with the plan itself.
    """
    records = {}
    for benchmark in grid.values():
        folder = Path(paths.BENCHMARK.format(benchmark=benchmark.name))
        for name, job in list_records(benchmark).items():
            is_left = (folder / name).exists() and not (
                is_compared(job) or _gains_file(job, folder, is_known)
            )
            if is_left and (text := _describe_difference(job, folder, name)):
                records[f"{folder}/{name}"] = text
    pages = (path for path in _list_all_presented(grid) if Path(path).exists())
    return Unknown(records, [path for path in pages if not is_known(path)])


def _gains_file(job: Planned, folder: Path, is_known: Callable[[str], bool]) -> bool:
    """Tell whether a job has another output file than before, such as that of a tracked run.

    Snakemake compares it with the plan by the metadata of its other files, if it has those of all.
    """
    files = job.job.written
    there = [file for file in files if (folder / file).exists()]
    return len(there) < len(files) and all(is_known(f"{folder}/{file}") for file in there)


def _describe_difference(job: Planned, folder: Path, name: str) -> str:
    """Return how a record of a finished job differs from the plan; empty if it does not."""
    try:
        return "; ".join(record_differences(job, folder, name))
    except InvalidResultError as error:
        return error.reason


def _list_all_presented(grid: Mapping[str, Benchmark]) -> Iterator[str]:
    """Yield the paths of metrics, tables, figures and pages, which take only seconds to make."""
    for name, benchmark in grid.items():
        yield from list_presented(benchmark)
        yield paths.CHECKED.format(benchmark=name)
    yield from (paths.INDEX, paths.THEORY_PAGE, paths.record(paths.THEORY))
