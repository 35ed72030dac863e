"""Level 3 of evidence: the config that was sent was run here and gives the outputs that were sent.

The config is read as data. Plug-ins are code of its author: the folders that it names are never
loaded, only those that the maintainer names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from collateral.config.load import load
from collateral.config.yaml import read_file
from collateral.jobs._job import Planned
from collateral.plan.diff import list_records, record_differences
from collateral.plan.grid import build_grid
from collateral.results import layout
from collateral.results.cell import CellResults
from collateral.results.outputs import StoredOutputs
from collateral.results.provenance import verify
from collateral.results.submission import CONFIG, SETS, Submission

MOST_BYTES = 2**20  # of a config


@dataclass(frozen=True)
class Rerun:
    """A run in results/ that was made with the submitted config, and its folders of plug-ins."""

    run: str
    plugins: tuple[Path, ...] = ()


def find_rerun_faults(
    rerun: Rerun, submission: Submission, root: Path, cells: Iterable[CellResults]
) -> list[str]:
    """Return why a run is no rerun of the submission, or not with its outputs."""
    try:
        planned = _read_plan(submission.folder / CONFIG, rerun, root.name)
        return [fault for cell in cells for fault in _compare(rerun, submission, planned, cell)]
    except ValueError as error:  # config or results that cannot be read
        return [" ".join(str(error).split())]


def _read_plan(path: Path, rerun: Rerun, benchmark: str) -> dict[str, Planned]:
    """Return the jobs of the submitted config by the path of their record."""
    if not path.is_file():
        raise ValueError(f"no {CONFIG} was sent")
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"{CONFIG} has more than {MOST_BYTES:,} bytes")
    raw = read_file(path)
    if not isinstance(raw, Mapping):
        raise ValueError(f"{CONFIG} has no keys")
    own = {key: value for key, value in raw.items() if key != "plugins"}
    if rerun.plugins:
        own["plugins"] = [str(folder) for folder in rerun.plugins]
    grid = build_grid(load(own))
    if benchmark not in grid:
        raise ValueError(f"{CONFIG} has no benchmark {benchmark}")
    return list_records(grid[benchmark])


def _compare(
    rerun: Rerun, submission: Submission, planned: Mapping[str, Planned], cell: CellResults
) -> Iterator[str]:
    """Yield how the runs of a cell differ from the config or from the outputs that were sent."""
    root, seeds = cell.folder, _list_seeds(rerun, cell)
    for seed in seeds:
        place = layout.RUN.format(cell=cell.name, seed=seed, run=rerun.run)
        for name in _needed_records(f"{place}/{layout.RECORD}", planned):
            if name not in planned:
                yield f"{CONFIG} has no run {rerun.run} in {cell.name}, seed {seed}"
            elif lines := record_differences(planned[name], root, name):
                yield f"{root.name}/{name} is not of the {CONFIG} that was sent: {lines[0]}"
        stored = verify(root / place / layout.OUTPUTS, root)
        if not all(
            np.array_equal(
                submission.logits(cell.name, seed, name),
                StoredOutputs(stored, name).logits,
                equal_nan=True,
            )
            for name in SETS
        ):
            yield f"{place} has other outputs"
    if not seeds:
        yield f"{root / cell.name} has no run {rerun.run}"


def _list_seeds(rerun: Rerun, cell: CellResults) -> list[int]:
    """Return the seeds of a cell in which the run was made here."""
    places = {s: layout.RUN.format(cell=cell.name, seed=s, run=rerun.run) for s in cell.seeds}
    return [s for s, place in places.items() if (cell.folder / place / layout.OUTPUTS).is_file()]


def name_rerun_seeds(rerun: Rerun, cell: CellResults) -> str:
    """Return which seeds of a cell were run again; level 3 holds for these alone."""
    again, planned = (", ".join(map(str, of)) for of in (_list_seeds(rerun, cell), cell.seeds))
    return f"{cell.name}: rerun: seeds {again} of {planned}"


def _needed_records(record: str, planned: Mapping[str, Planned]) -> list[str]:
    """Return a record and those of all jobs whose files its job reads, directly or not."""
    found, left = [], [record]
    while left:
        name = left.pop()
        if name in found:
            continue
        found.append(name)
        if name in planned:
            inputs = map(Path, planned[name].job.input_files)
            records = (layout.record_path(path).as_posix() for path in inputs)
            left += [one for one in records if one in planned]
    return found
