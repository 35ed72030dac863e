"""Job that trains LTD's teacher for the first seed, if the selection rule of tuning uses it."""

from typing import Any

from collateral.jobs._method import PlannedFirstSeed, PreparePlan, StartedJob
from collateral.plan.grid import RunSpec
from collateral.plugins.find import prepare_values
from collateral.results import layout


class TeacherJob(StartedJob):
    """Training of the local teacher of a cell."""

    folder = layout.TEACHER

    @property
    def files(self) -> dict[str, str]:
        """The teacher's accuracy on the forget set."""
        return self.in_folder(teacher=layout.TEACHER_RESULT)


class PlannedTeacher(PlannedFirstSeed):
    """Planned job that trains LTD's teacher for selecting trials."""

    describes = TeacherJob
    cell_attribute = "teacher"
    is_presented = False

    @property
    def spec(self) -> RunSpec:
        """LTD with the parameters of its teacher."""
        assert self.cell.teacher is not None
        return self.cell.teacher

    @property
    def values(self) -> dict[str, Any]:
        """Values of every method; the parameters are those of the teacher alone."""
        params = prepare_values(self.spec.method.uses, self.spec.params)
        return {**super().values, "params": params, "tuning": None}

    @property
    def prepare_plan(self) -> PreparePlan:
        """One call of `prepare`, which trains the teacher."""
        return PreparePlan(made=(self.spec.params,))
