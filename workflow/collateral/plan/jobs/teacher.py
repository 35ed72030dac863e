"""LTD's teacher on the first seed, where the rule of tuning uses it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Self

from collateral.contract.plugins import prepare_values
from collateral.contract.work import Work
from collateral.plan import paths
from collateral.plan.grid import Benchmark, Cell, RunSpec
from collateral.plan.jobs._disk import FLOAT_BYTES
from collateral.plan.jobs._job import Record, as_json
from collateral.plan.jobs._method import FirstSeedJob


class TeacherJob(FirstSeedJob):
    """The local teacher of a cell."""

    folder = paths.TEACHER
    files = ()

    @classmethod
    def list_in_cell(cls, benchmark: Benchmark, cell: Cell) -> Iterator[Self]:
        """Yield the teacher of the cell, if its tunings use one."""
        if cell.teacher:
            yield cls(benchmark, cell)

    @property
    def spec(self) -> RunSpec:
        """LTD with the values of its teacher."""
        assert self.cell.teacher is not None
        return self.cell.teacher

    @property
    def options(self) -> str:
        """The method, and the values that its teacher is trained with."""
        values = as_json(prepare_values(self.spec.method.uses, self.spec.params))
        return shlex.join(["--method", self.spec.method.uses, "--params", values])

    @property
    def work(self) -> Work:
        """The training of the teacher."""
        return self.workload.prepare(self.cell, [self.spec.params]).of(self.model)

    @property
    def bytes(self) -> float:
        """The disk space of the prepared numbers."""
        return FLOAT_BYTES * self.spec.params.prepared_numbers(self.workload.sizes(self.cell))

    def record(self, found: Record, folder: object) -> Record:
        """Return the record that the job would write now."""
        params = prepare_values(self.spec.method.uses, self.spec.params)
        return {**self.method_record(self.base), "params": params}
