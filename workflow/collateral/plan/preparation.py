"""Which job runs each `prepare` of a cell: the first job that needs its files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from collateral.contract.params import MethodParams
from collateral.plan.grid import Cell, RunSpec


@dataclass(frozen=True)
class Preparation:
    """The jobs whose prepared files a job reads, and the files that it prepares itself."""

    tunings: tuple[str, ...] = ()  # methods whose tuning jobs have prepared the files
    runs: tuple[str, ...] = ()  # runs of the same seed that have prepared the files
    teacher: bool = False  # whether the job of the cell's teacher has prepared the files
    made: tuple[MethodParams, ...] = ()  # parameters for which this job runs `prepare` itself


class Preparations:
    """All calls of `prepare` in a cell, and the jobs that run them."""

    def __init__(self, cell: Cell) -> None:
        """Find the first job that needs each call of `prepare`."""
        runs = [run for run in cell.runs.values() if run.preparations]
        tunings = [run for run in runs if run.name in cell.tuned]
        # In reverse order, so that the first job wins; sweeps come last and change no other run.
        self._tunings = {name: run.name for run in reversed(tunings) for name in run.preparations}
        self._teacher = _teacher_folder(cell.teacher)
        self._tunings.pop(self._teacher, None)
        self._is_later_round = bool(cell.forget.earlier)
        self._runs = {_key(run): run.name for run in reversed(runs)}

    def for_tuning(self, run: RunSpec) -> Preparation:
        """Return the prepared files of a tuning job, which earlier tuning jobs may have made."""
        makers = {name: self._tunings[name] for name in run.preparations if name in self._tunings}
        others = dict.fromkeys(maker for maker in makers.values() if maker != run.name)
        prepared = run.prepared(run.trial_params)
        has_teacher = prepared.pop(self._teacher, None) is not None
        made = [
            params for name, params in prepared.items() if makers.get(name, run.name) == run.name
        ]
        return Preparation(tunings=tuple(others), teacher=has_teacher, made=tuple(made))

    def for_run(self, run: RunSpec, *, is_first_seed: bool) -> Preparation:
        """Return the prepared files of a run; tuning may have made those of the first seed.

        After round 1, runs share none: each starts from a model of its own.
        """
        if self._is_later_round:
            return Preparation(made=tuple(run.preparations.values()))
        makers = {name: self._tunings.get(name) for name in run.preparations}
        tunings = tuple(dict.fromkeys(maker for maker in makers.values() if maker))
        has_teacher = self._teacher in run.preparations
        if is_first_seed and (tunings or has_teacher):
            found = {*self._tunings, self._teacher}
            made = [params for name, params in run.preparations.items() if name not in found]
            return Preparation(tunings=tunings, teacher=has_teacher, made=tuple(made))
        first = self._runs.get(_key(run), run.name)
        if first != run.name:
            return Preparation(runs=(first,))
        return Preparation(made=tuple(run.preparations.values()))


@cache
def find_preparations(cell: Cell) -> Preparations:
    """Return the preparations of a cell; they are computed only once."""
    return Preparations(cell)


def _teacher_folder(teacher: RunSpec | None) -> str:
    """Return the folder name of the teacher's prepared files; empty without a teacher."""
    return next(iter(teacher.preparations)) if teacher else ""


def _key(run: RunSpec) -> tuple[str | None, ...]:
    """Return the key by which runs share prepared files."""
    # If tuning selects among several preparations, only runs of the same tuning share files.
    return (*run.preparations, run.tuned_by if len(run.preparations) > 1 else None)
