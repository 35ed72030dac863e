"""Compute all numbers of a submission: it stands as one more method beside the published Retrains.

The numbers are those of the findings, computed as for a run. Each submission is judged by itself,
so that its verdict does not depend on which others are judged with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.special import softmax

import collateral
from collateral.commands._likeness import Compared, find_copies, name_likeness
from collateral.commands._rerun import Rerun, find_rerun_faults, name_rerun_seeds
from collateral.contract.messages import printable
from collateral.plugins.find import STAGE
from collateral.results import layout
from collateral.results.cell import CellResults
from collateral.results.outputs import ModelOutputs, StoredOutputs
from collateral.results.plan import About, BenchmarkPlan, CellPlan
from collateral.results.provenance import (
    INPUTS,
    MADE,
    hash_files,
    write_cost,
    write_record,
    write_signed,
)
from collateral.results.published_cells import PublishedCell, describe_cell
from collateral.results.record import STATED
from collateral.results.submission import (
    JUDGED,
    SETS,
    Submission,
    open_cell,
    read_references,
)
from collateral.results.submission_faults import find_faults

# Largest difference between a probability and the same recomputed from weights: float16 logits
# account for 4e-4 on digits, and devices differ by less.
WEIGHTS_TOLERANCE = 2e-3
COLLAPSE_MARGIN = 0.05  # as in training.job_io
OUTPUTS, WEIGHTS, RERUN = 1, 2, 3  # levels of evidence
OFFERED = {"outputs": OUTPUTS, "weights": WEIGHTS, "config": RERUN}
# What numbers, names and files that mean harm can raise.
HARM = (ArithmeticError, MemoryError, RecursionError, UnicodeError, np.linalg.LinAlgError)
OF_CELL = (layout.SPLIT, layout.NEIGHBOURS, layout.NEIGHBOURS_RECORD)


@dataclass
class Judgement:
    """What was found about a submission; refused if it has faults."""

    submission: Submission
    faults: list[str]
    names: list[str] = field(default_factory=list)  # sentences that a maintainer reads
    level: int = OUTPUTS  # level of evidence that was checked

    def content(self) -> dict[str, Any]:
        """Return the content of judged.json."""
        return {
            "statement": self.submission.stated.model_dump(mode="json"),
            "level": self.level,
            "names": self.names,
            "version": collateral.__version__,
        }


@dataclass(frozen=True)
class Judge:
    """The published results of a benchmark, against which its submissions are judged."""

    root: Path
    plan: BenchmarkPlan
    cells: Mapping[str, CellResults]
    # Why a submission does not fit, by its folder.
    faults: dict[Path, list[str]] = field(default_factory=dict)

    @staticmethod
    def open(root: Path) -> Judge:
        """Read the plan of a benchmark and the results of its Retrains and base models."""
        return Judge(root, *read_references(root))

    @cached_property
    def published(self) -> dict[str, PublishedCell]:
        """Seeds, labels and hashes that submissions must fit, by cell."""
        return {name: describe_cell(cell) for name, cell in self.cells.items()}

    def find_faults(self, submission: Submission) -> list[str]:
        """Return why a submission does not fit the benchmark; each is looked at once."""
        published = self.published  # a fault of these files is no fault of the submission
        if submission.folder not in self.faults:
            try:
                found = find_faults(submission, published)
            except (*HARM, ValueError, OSError) as error:
                found = [_unreadable(error)]
            self.faults[submission.folder] = found
        return self.faults[submission.folder]

    def judge(
        self,
        submission: Submission,
        others: Iterable[Submission],
        *,
        weights: bool = False,
        rerun: Rerun | None = None,
    ) -> Judgement:
        """Check a submission; raise if a published file is not as its record says."""
        if faults := self.find_faults(submission):
            return Judgement(submission, faults)
        try:
            return self._compare(submission, others, weights=weights, rerun=rerun)
        except HARM as error:
            return Judgement(submission, [_unreadable(error)])

    def _compare(
        self,
        submission: Submission,
        others: Iterable[Submission],
        *,
        weights: bool,
        rerun: Rerun | None,
    ) -> Judgement:
        """Compare a submission that fits with other models, and find its level of evidence."""
        cells = self._of(submission)
        # Nothing is read of a submission that does not fit.
        others = [one for one in others if not self.find_faults(one)]
        compared = [Compared(submission, cell, self._entries(cell, others)) for cell in cells]
        faults = [fault for one in compared for fault in find_copies(one)]
        found = Judgement(submission, faults)
        if faults:
            return found
        found.names += [name for one in compared for name in name_likeness(one)]
        if unread := submission.unread:
            found.names.append(f"not read: {', '.join(map(printable, unread))}")
        if weights:
            self._check_weights(found)
        if rerun:
            self._check_rerun(found, rerun)
        if (offered := OFFERED[submission.stated.evidence]) > found.level:
            found.names.append(f"evidence: level {offered} is offered, {found.level} was checked")
        return found

    def _of(self, submission: Submission) -> list[CellResults]:
        return [self.cells[name] for name in submission.stated.cells]

    def _entries(self, cell: CellResults, others: Iterable[Submission]) -> dict[str, Any]:
        """Return, by name of every other entry, a function that reads its test logits."""
        numbers = self.plan.cells[cell.name].numbers
        methods = numbers.methods if numbers else ()

        def read(path: Path) -> Any:
            return StoredOutputs(path, "test").logits if path.is_file() else None

        def of_run(seed: int, run: str) -> Any:
            place = layout.RUN.format(cell=cell.name, seed=seed, run=run)
            return read(self.root / place / layout.OUTPUTS)

        found: dict[str, Any] = {
            self._name_run(run): lambda s, run=run: of_run(s, run) for run in methods
        }
        for one in others:
            name = f"the entry {one.stated.run}" + (f" of {one.stated.by}" if one.stated.by else "")
            found[name] = lambda s, one=one: read(one.path(cell.name, s))
        return found

    def _name_run(self, run: str) -> str:
        return f"the run {run} in {self.root.name}, which a rerun of it has too"

    def _check_weights(self, found: Judgement) -> None:
        """Compute the outputs again from the weights; the level rises if they are the same."""
        # Imported only if weights are checked, because it needs torch.
        recompute = import_module("collateral.commands._recompute").recompute_logits
        submission = found.submission
        for cell in self._of(submission):
            for seed in cell.seeds:
                path = submission.path(cell.name, seed, layout.MODEL)
                if not path.is_file():
                    found.names.append(f"weights: {cell.name}, seed {seed} has none")
                    return
                try:
                    again = recompute(self.root / layout.DATA, self.plan.model, path)
                except ValueError as error:  # no sound file, or of another model
                    found.names.append(f"weights: {cell.name}, seed {seed}: {_one_line(error)}")
                    return
                far = max(
                    _largest_difference(submission.logits(cell.name, seed, name), again[name])
                    for name in SETS
                )
                if not far <= WEIGHTS_TOLERANCE:
                    found.names.append(
                        f"weights: those of {cell.name}, seed {seed} give other outputs: a "
                        f"probability differs by {far:.2g}"
                    )
                    return
        found.level = max(found.level, WEIGHTS)

    def _check_rerun(self, found: Judgement, rerun: Rerun) -> None:
        """Compare with a run of the submitted config; the level rises if all bits are the same."""
        cells = self._of(found.submission)
        if faults := find_rerun_faults(rerun, found.submission, self.root, cells):
            found.names.append(f"rerun: {faults[0]}")
            return
        found.level = RERUN
        own = f"the logits of {self._name_run(rerun.run)}"  # a rerun is no copy
        found.names = [text for text in found.names if own not in text]
        found.names += [name_rerun_seeds(rerun, cell) for cell in cells]

    def write(self, found: Judgement, out: Path) -> None:
        """Write the numbers of a submission that was not refused: long tables, plan, checks."""
        stated = found.submission.stated
        with TemporaryDirectory() as name:
            view = Path(name) / self.root.name
            self._link(view, stated.cells)
            plan = self._plan(found.submission)
            plan.save(view / layout.PLAN)
            for cell in stated.cells:
                numbers = self.plan.cells[cell].numbers
                assert numbers is not None, "read_references refuses a plan without numbers"
                results = open_cell(view, cell, numbers, (stated.run,))
                self._write_runs(found.submission, results)
                STAGE.load("metrics").write_numbers(results, view / cell, fresh=True)
            STAGE.load("gather").write_numbers(view, stated.cells, out)
        plan.save(out / layout.PLAN)
        write_signed(out / JUDGED, found.content(), out)

    def _link(self, view: Path, cells: Iterable[str]) -> None:
        """Link the published files: labels, base models, forget sets, similarities, Retrains."""
        names = [layout.LABELS, layout.DATA_RECORD, Path(layout.BASE).parent.as_posix()]
        for cell in cells:
            names += [pattern.format(cell=cell) for pattern in OF_CELL]
            retrain = layout.run_folder(layout.RETRAIN)
            names += [
                retrain.format(cell=cell, seed=seed, run=layout.RETRAIN)
                for seed in self.cells[cell].seeds
            ]
        for name in names:
            (view / name).parent.mkdir(parents=True, exist_ok=True)
            (view / name).symlink_to((self.root / name).absolute())

    def _plan(self, submission: Submission) -> BenchmarkPlan:
        stated = submission.stated
        about = About(f"submitted by {stated.by}" if stated.by else "submitted", "", stated.link)
        return replace(
            self.plan,
            labels={stated.run: stated.method, layout.ORIGINAL: "Original"},
            cells={cell: CellPlan() for cell in stated.cells},
            about={stated.run: about},
            config="",
        )

    @staticmethod
    def _write_runs(submission: Submission, cell: CellResults) -> None:
        """Write outputs, record and cost of every seed, as a job would have."""
        stated = submission.stated.cells[cell.name]
        for seed in cell.seeds:
            folder = cell.result(submission.stated.run, seed).folder
            outputs = submission.outputs(cell.name, seed, cell.labels)
            outputs.save(folder / layout.OUTPUTS)
            about = {
                MADE: {
                    "status": _find_status(outputs, cell),
                    "extra": {},
                    "numerics": {"device": stated.device},
                },
                INPUTS: hash_files([cell.folder / layout.LABELS], cell.folder),
            }
            write_record(
                folder / layout.RECORD,
                about,
                root=cell.folder,
                files=[folder / layout.OUTPUTS],
            )
            seconds = {} if stated.seconds is None else {STATED: stated.seconds}
            cost = {"seconds": seconds, "total_seconds": stated.seconds, "device": STATED}
            cost |= dict.fromkeys(("peak_rss_mb", "peak_device_mb"))
            write_cost(folder, cost, root=cell.folder)


def _find_status(outputs: ModelOutputs, cell: CellResults) -> str:
    """Return the status by the rule of `training.job_io.find_status`, which needs torch."""
    if not np.isfinite(outputs.train.confidence).all():
        return "diverged"
    accuracy = (outputs.train.prediction == cell.labels.train).mean()
    is_guessing = accuracy < 1 / len(cell.labels.class_names) + COLLAPSE_MARGIN
    return "collapsed" if is_guessing else "ok"


def _unreadable(error: BaseException) -> str:
    return f"cannot be judged: {type(error).__name__}: {_one_line(error)}"


def _one_line(error: BaseException) -> str:
    return printable(" ".join(str(error).split()))


def _largest_difference(first: Any, second: Any) -> float:
    """Return the largest absolute difference between two models' probabilities."""
    one, other = (softmax(logits.astype(np.float32), axis=1) for logits in (first, second))
    return float(np.abs(one - other).max())
