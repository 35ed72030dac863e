"""Run a job: check its inputs, call its stage, and write its record.

The job is a description as JSON: what the log of a rule prints can be copied and run by hand.
record.json keeps the description, the fingerprint of the code, the hash of every input, and what
the stage found out. A finished job is as planned if the first three are.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from collateral.jobs import read_argument, read_job
from collateral.plugins.find import STAGE
from collateral.results import layout
from collateral.results.provenance import (
    INPUTS,
    MADE,
    content_hash,
    hash_files,
    write_cost,
    write_record,
)
from collateral.results.record import Made
from collateral.stages._workspace import Workspace


def run(
    job: Annotated[str, "description of the job as JSON, or @ and the path of a file with it"],
    *,
    code: Annotated[str, "fingerprint of the code, for the record"] = "",
    threads: Annotated[int, "CPU threads, or processes that draw"] = 1,
    beside: Annotated[str, "what does not identify the job, as JSON or @path"] = "{}",
    results: Annotated[Path, "folder of all benchmarks"] = Path("results"),
) -> None:
    """Run the stage of a job; a failed job leaves no record."""
    aside: dict[str, Any] = json.loads(read_argument(beside))
    run_job(Workspace(read_job(job), results, code, threads, aside))


def run_job(place: Workspace) -> None:
    """Check the inputs, run the stage, and write records and cost."""
    place.check_inputs()
    check_own_file(place)
    made: Made = STAGE.load(place.job.stage or place.job.kind).run(place.job, place)
    write_records(place, made)
    if made.cost is not None:
        write_cost(place.out, made.cost, root=place.root)
    # Checkpoints are deleted last, so that a job that was killed before can go on. A job without
    # cost.json has no checkpoints, and its folder is shared: it may contain those of other jobs.
    if place.job.has_cost:
        shutil.rmtree(place.checkpoints, ignore_errors=True)


def check_own_file(place: Workspace) -> None:
    """Raise if a user's file of weights is another one than the description identifies."""
    own = getattr(place.job, "own", None)
    if own is None:
        return
    file = Path(place.beside["weights"]).expanduser()
    if file.is_file() and content_hash(file) != own.sha256:
        raise ValueError(f"{own.key}: '{file}' was changed after the run began: start again")


def write_records(place: Workspace, made: Made) -> None:
    """Write each record of the job: its identity, what it made, and the hashes of its files."""
    inputs = place.identity[INPUTS] | hash_files(made.read, place.root)
    for name, files in place.job.records.items():
        path = place.root / name
        is_open = path.name in layout.OPEN_RECORDS
        about = {
            **place.identity,
            INPUTS: {file: inputs[file] for file in inputs if place.job.is_input_of(file, name)},
            **(made.about if is_open else {MADE: made.about}),
        }
        listed = [one for file in files for one in _files(place.root / file, path)]
        write_record(path, about, root=place.root, files=listed)


def _files(path: Path, record: Path) -> Iterator[Path]:
    """Yield the file, or all files in the folder except its record and hidden files."""
    found = sorted(path.rglob("*")) if path.is_dir() else [path]
    for one in found:
        is_hidden = any(part.startswith(".") for part in one.relative_to(path).parts)
        if one.is_file() and one != record and not is_hidden:
            yield one
