"""Job that trains LTD's teacher for the first seed, if the selection rule of tuning uses it."""

from collateral.jobs._job import Record, as_json
from collateral.jobs._method import FirstSeedJob, PreparePlan
from collateral.plan import paths
from collateral.plan.grid import RunSpec
from collateral.plugins.find import prepare_values


class TeacherJob(FirstSeedJob):
    """Training of the local teacher of a cell."""

    folder = paths.TEACHER
    cell_attribute = "teacher"
    files = ()

    @property
    def spec(self) -> RunSpec:
        """LTD with the parameters of its teacher."""
        assert self.cell.teacher is not None
        return self.cell.teacher

    @property
    def arguments(self) -> list[str]:
        """Options of the job: the method, and the parameters of its teacher."""
        values = as_json(prepare_values(self.spec.method.uses, self.spec.params))
        return ["--method", self.spec.method.uses, "--params", values]

    @property
    def prepare_plan(self) -> PreparePlan:
        """One call of `prepare`, which trains the teacher."""
        return PreparePlan(made=(self.spec.params,))

    def record(self, found: Record, folder: object) -> Record:
        """Return the record that the job would write with the current config and code."""
        params = prepare_values(self.spec.method.uses, self.spec.params)
        return {**self.model_record(self.split, self.base), "params": params}
