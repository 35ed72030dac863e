"""Who prepares for whom: what several jobs of a cell need, the first of them makes and keeps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from collateral.contract.params import MethodParams
from collateral.plan.grid import Cell, RunSpec


@dataclass(frozen=True)
class Preparation:
    """Where a job finds what its first phase makes, and what it has to make itself."""

    tunings: tuple[str, ...] = ()  # that keep it in their folders
    runs: tuple[str, ...] = ()  # of the same seed, likewise
    teacher: bool = False  # the job of the cell's teacher keeps it
    made: tuple[MethodParams, ...] = ()  # by this job, for each of these that it may get


class Preparations:
    """The first phases of all jobs of a cell."""

    def __init__(self, cell: Cell) -> None:
        """Find the first job that makes each of them."""
        runs = [run for run in cell.runs.values() if run.preparations]
        tunings = [run for run in runs if run.name in cell.tuned]
        # Backwards: of several, the first stays. Among runs sweeps come last, so that one more of
        # them takes from what is there and changes no other run.
        self._tunings = {name: run.name for run in reversed(tunings) for name in run.preparations}
        self._teacher = _taught(cell.teacher)
        self._tunings.pop(self._teacher, None)
        self._runs = {_key(run): run.name for run in reversed(runs)}

    def of_tuning(self, run: RunSpec) -> Preparation:
        """Return where a tuning finds its prepared inputs: in the folders of earlier tunings."""
        makers = {name: self._tunings[name] for name in run.preparations if name in self._tunings}
        others = dict.fromkeys(maker for maker in makers.values() if maker != run.name)
        tried = run.prepared(run.tried)
        has_teacher = tried.pop(self._teacher, None) is not None
        made = [params for name, params in tried.items() if makers.get(name, run.name) == run.name]
        return Preparation(tunings=tuple(others), teacher=has_teacher, made=tuple(made))

    def of_run(self, run: RunSpec, *, is_first_seed: bool) -> Preparation:
        """Return where a run finds what it needs: tunings have it for their seed, the first."""
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
def preparations_of(cell: Cell) -> Preparations:
    """Return the first phases of a cell, found once."""
    return Preparations(cell)


def _taught(teacher: RunSpec | None) -> str:
    """Return what the cell's teacher is called; "" where there is none."""
    return next(iter(teacher.preparations)) if teacher else ""


def _key(run: RunSpec) -> tuple[str | None, ...]:
    """Return what runs must have in common to prepare the same."""
    # Where the choice is open, the tuning that makes it belongs to it.
    return (*run.preparations, run.tuned_by if len(run.preparations) > 1 else None)
