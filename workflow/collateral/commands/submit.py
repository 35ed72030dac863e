"""Write a submission: one method's outputs for a benchmark, for its board.

Without --outputs, they are those of a run in results/. With it, another program has written them:
OUTPUTS/CELL/seed-SEED/outputs.npz, with the logits of every train and test example (docs/board.md).
The benchmark is then in results/, or in a folder of `collateral publish` (--published). Files,
hashes, seeds and arrays are checked as `collateral judge` checks them first, and nothing is written
if they do not fit. Whether outputs are copies is found by `collateral judge` alone.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from collateral.contract.messages import listed
from collateral.findings.costs.numbers import name_device
from collateral.metrics.statistics import mean_of_defined
from collateral.results import layout
from collateral.results.address import RESULTS
from collateral.results.cell import CellResults
from collateral.results.plan import About as Purpose
from collateral.results.plan import BenchmarkPlan
from collateral.results.provenance import read_cost, read_record, verify
from collateral.results.published_cells import PublishedCell, describe_cell, read_published_cells
from collateral.results.submission import (
    CONFIG,
    MADE_OF,
    OF_CELL,
    SEED_FOLDER,
    CellStatement,
    Submission,
    read_references,
    read_statement,
)
from collateral.results.submission_faults import find_faults


@dataclass(frozen=True, kw_only=True)
class About:
    """What the author states; nobody can check it."""

    method: Annotated[str, "name of the method on the board; default: that of the run"] = ""
    by: Annotated[str, "who submits"] = ""
    link: Annotated[str, "web address of the paper or the code"] = ""
    starts: Annotated[
        Literal["base", "anew"], "whether the method starts from the base model or a new one"
    ] = "base"
    seconds: Annotated[float | None, "with --outputs: mean time of one run, without tuning"] = None
    tuning_seconds: Annotated[float | None, "with --outputs: time of tuning"] = None
    device: Annotated[str, "with --outputs: the device of these times"] = ""
    diverged: Annotated[
        Sequence[str],
        "with --outputs: where the method diverged, such as couch-50/3",
        {"metavar": "CELL/SEED"},
    ] = ()


@dataclass(frozen=True)
class _Published:
    """A benchmark for which a submission is made."""

    name: str
    cells: Mapping[str, PublishedCell]
    # Of a benchmark in results/ alone.
    plan: BenchmarkPlan = field(default_factory=lambda: BenchmarkPlan({}))
    results: Mapping[str, CellResults] = field(default_factory=dict)

    @staticmethod
    def read(benchmark: str, published: Path | None) -> _Published:
        """Read a benchmark from results/, or from a folder of `collateral publish`."""
        if published:
            return _Published(benchmark, read_published_cells(published, benchmark))
        root = Path(benchmark) if Path(benchmark).is_dir() else RESULTS / benchmark
        plan, results = read_references(root)
        cells = {name: describe_cell(cell) for name, cell in results.items()}
        return _Published(root.resolve().name, cells, plan, results)


def submit(
    benchmark: Annotated[str, "benchmark in results/, or its folder; or in --published"],
    run: Annotated[str, "run in results/, or a short name for what --outputs has", {}] = "",
    *,
    out: Annotated[Path, "new folder of the submission"],
    outputs: Annotated[Path | None, "folder of outputs that another program wrote"] = None,
    published: Annotated[
        Path | None, "with --outputs: folder of `collateral publish`, in place of results/"
    ] = None,
    cells: Annotated[Sequence[str], "cells to submit; default: all"] = (),
    weights: Annotated[bool, "send the weights of the run too (level of evidence 2)"] = False,
    config: Annotated[Path | None, "config that reruns the method (level of evidence 3)"] = None,
    about: About,
) -> None:
    """Write the folder of the submission, and print how it is judged."""
    if published and not outputs:
        raise ValueError("--published: it is for outputs of another program; name --outputs too")
    known = _Published.read(benchmark, published)
    if unknown := [name for name in cells if name not in known.cells]:
        raise ValueError(f"--cells: {unknown[0]}: {listed('there are', [*known.cells])}")
    if out.exists():
        raise ValueError(f"--out: {out}: is there already; name a new folder")
    if not run and not outputs:
        raise ValueError("name a run of results/, or a folder by --outputs")
    name = run or (outputs or Path()).resolve().name.lower()
    try:
        stated = {
            cell: _copy_outputs(outputs, out, known.cells[cell], about)
            if outputs
            else _copy_run(out, known, cell, name, weights)
            for cell in cells or known.cells
        }
        if config:
            shutil.copyfile(config, out / CONFIG)
        content = {
            "benchmark": known.name,
            # Names of sweeps have other characters, and runs of sweeps get no verdict.
            "run": re.sub(r"[^a-z0-9_.-]+", "-", name.lower()),
            "method": about.method or known.plan.labels.get(name, name),
            "by": about.by,
            "link": about.link or known.plan.about.get(name, Purpose()).link,
            "starts": about.starts,
            "evidence": "config" if config else "weights" if _has_weights(out) else "outputs",
            "cells": stated,
        }
        statement = read_statement(content, "submission")
        Submission(out, statement).save()
        if faults := find_faults(Submission.load(out), known.cells):
            raise ValueError("\n".join(["this would be refused:", *faults]))
    except BaseException:
        shutil.rmtree(out, ignore_errors=True)
        raise
    accuracies = describe_accuracies(Submission.load(out), known.cells)
    first = f"{out}: {statement.method}, {', '.join(stated)}; judge it: collateral judge {out}"
    print(first, *accuracies, sep="\n")


def describe_accuracies(
    submission: Submission, cells: Mapping[str, PublishedCell]
) -> Iterator[str]:
    """Yield the accuracies of each cell, which are low if rows or classes are in another order."""
    for cell in map(cells.__getitem__, submission.stated.cells):
        sound = [s for s in cell.seeds if not submission.is_diverged(cell.name, s)]
        if not sound:
            yield f"{cell.name}: all seeds diverged"
            continue
        train, test = (
            100 * np.mean([_accuracy(submission.logits(cell.name, s, name), label) for s in sound])
            for name, label in (("train", cell.labels.train), ("test", cell.labels.test))
        )
        yield (
            f"{cell.name}: right are {train:.1f} % of the train set and {test:.1f} % of the test "
            "set; if that is not yours, examples or classes are in another order"
        )


def _accuracy(logits: NDArray[Any], label: NDArray[np.int64]) -> float:
    return float((logits.argmax(axis=1) == label).mean())


def _copy_outputs(given: Path, out: Path, cell: PublishedCell, about: About) -> CellStatement:
    """Copy the files of another program; return what its author states about the cell."""
    copied = list(_copy_seeds(given, out, cell, MADE_OF))
    if not copied:
        place = SEED_FOLDER.format(cell=cell.name, seed=cell.seeds[0])
        raise ValueError(f"--outputs: {given}: there is no {place}/{layout.OUTPUTS}")
    for file in OF_CELL:
        if (given / cell.name / file).is_file():
            shutil.copyfile(given / cell.name / file, out / cell.name / file)
    return cell.hashes.model_copy(
        update={
            "seconds": about.seconds,
            "tuning_seconds": about.tuning_seconds,
            "device": about.device,
            "diverged": tuple(s for s in cell.seeds if f"{cell.name}/{s}" in about.diverged),
        }
    )


def _copy_seeds(given: Path, out: Path, cell: PublishedCell, names: set[str]) -> Iterator[int]:
    """Copy these files of every seed; yield the seeds that have outputs."""
    for seed in cell.seeds:
        place = SEED_FOLDER.format(cell=cell.name, seed=seed)
        for file in names:
            if (given / place / file).is_file():
                (out / place).mkdir(parents=True, exist_ok=True)
                shutil.copyfile(given / place / file, out / place / file)
                if file == layout.OUTPUTS:
                    yield seed


def _copy_run(
    out: Path, known: _Published, name: str, run: str, with_weights: bool
) -> CellStatement:
    """Copy outputs and trials of a run in results/; return what its records state."""
    cell = known.results[name]
    root, folders = cell.folder, {}
    for seed in cell.seeds:
        source = root / layout.run_folder(run).format(cell=cell.name, seed=seed, run=run)
        if not (source / layout.RECORD).is_file():
            runs = ", ".join(known.plan.labels)
            raise ValueError(f"{cell.name}, seed {seed}: no run {run}; there are: {runs}")
        names = [layout.OUTPUTS, layout.MODEL] if with_weights else [layout.OUTPUTS]
        place = out / SEED_FOLDER.format(cell=cell.name, seed=seed)
        place.mkdir(parents=True)
        for file in names:
            shutil.copyfile(verify(source / file, root), place / file)
        folders[seed] = source
    tuned = root / layout.TUNE.format(cell=cell.name, method=run.partition("@")[0])
    for file in OF_CELL:
        if (tuned / file).is_file():
            shutil.copyfile(verify(tuned / file, root), out / cell.name / file)
    return known.cells[name].hashes.model_copy(update=_state_run(root, folders, tuned))


def _state_run(root: Path, folders: Mapping[int, Path], tuned: Path) -> dict[str, Any]:
    """Return the cost and the diverged seeds of a run, from its records."""
    records = {seed: read_record(path / layout.RECORD, root) for seed, path in folders.items()}
    costs = {seed: read_cost(path, root) for seed, path in folders.items()}
    seconds = [cost["total_seconds"] for cost in costs.values()]
    devices = {name_device(costs[seed], records[seed]) for seed in folders}
    is_tuned = (tuned / layout.COST).is_file()
    return {
        "diverged": tuple(s for s in records if records[s]["status"] == "diverged"),
        "seconds": None if None in seconds else mean_of_defined(map(float, seconds)),
        "tuning_seconds": read_cost(tuned, root)["total_seconds"] if is_tuned else None,
        "device": devices.pop() if len(devices) == 1 else "",
    }


def _has_weights(out: Path) -> bool:
    return any(out.glob(f"*/seed-*/{layout.MODEL}"))
