"""Unpack archives of results and join them with what is here; all of it or nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from collateral.results.bundle import INDEX, RESULTS, THEORY, pages, results_files
from collateral.results.join import Joined, derived, join
from collateral.results.metadata import read_metadata, write_metadata
from collateral.results.unpack import Source, unpack
from collateral.results.verification import walk


@dataclass(frozen=True)
class Unbundled:
    """What was done."""

    benchmarks: list[str]
    num_files: int  # that are new
    left_out: list[str]  # what is to be made again


def unbundle(archives: Sequence[Path], results: Path) -> Unbundled:
    """Put what archives have into the folder of results; on a conflict change nothing."""
    # Beside the folder itself, if a link stands for it: moving is renaming then.
    beside = results.resolve().parent
    with TemporaryDirectory(prefix=".unbundle-", dir=beside) as name:
        unpacked = [
            unpack(archive, Path(name) / str(number)) for number, archive in enumerate(archives)
        ]
        benchmarks = sorted({benchmark for names, _ in unpacked for benchmark in names})
        sources = [source for _, source in unpacked]
        if not pages(results) <= {*benchmarks}:
            sources = [_without_index(source) for source in sources]
        here = Source(str(results), results_files(results, benchmarks), {})
        _check_here(results, benchmarks)
        joined = join([here, *sources])
        if joined.conflicts:
            raise ValueError("\n".join([*joined.conflicts, "nothing was changed"]))
        new = [name for name, source in joined.origin.items() if source is not here]
        # Before the files: of those without metadata, Snakemake would notice no change.
        write_metadata(results.parent, _new_metadata(joined, sources, results))
        for file in new:
            _move(joined.path(file), results / file, joined.times[file])
    return Unbundled(benchmarks, len(new), sorted(map(str, joined.left_out)))


def _without_index(source: Source) -> Source:
    """Leave out an index that knows nothing of other pages that are here."""
    files = {name: path for name, path in source.files.items() if name != INDEX}
    own = {output: said for output, said in source.metadata.items() if Path(output).name != INDEX}
    return Source(source.label, files, own)


def _check_here(results: Path, benchmarks: Iterable[str]) -> None:
    faults = [fault for name in (*benchmarks, THEORY) for fault in walk(results / name).faults]
    if faults:
        lines = [f"{fault.path}: {fault.reason}" for fault in faults]
        remedy = "what is here is not sound; `collateral verify --fix` deletes it"
        raise ValueError("\n".join([*lines, f"nothing was changed: {remedy}"]))


def _new_metadata(joined: Joined, sources: Sequence[Source], results: Path) -> dict[str, Any]:
    """Return what Snakemake must know of what is new, and of what it knows nothing yet."""
    given: dict[str, Any] = {}
    for source in reversed(sources):  # of several, the first stays
        given |= source.metadata
    here = read_metadata(results.parent, given)
    names = {output: output.removeprefix(f"{RESULTS}/") for output in given}
    return {
        output: content
        for output, content in given.items()
        if derived(names[output]) not in joined.left_out
        if not (output in here and (results / names[output]).exists())
    }


def _move(source: Path, target: Path, time: int) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(source, target)
    os.utime(target, ns=(time, time))
