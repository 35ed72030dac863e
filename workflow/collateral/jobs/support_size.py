"""Job that trains LTD's teachers on supports of several sizes, for the key `support_size`."""

from typing import Any, Literal

from collateral.config.schema import SupportSizeConfig
from collateral.contract.work import Work
from collateral.jobs._method import PlannedMethod, StartedJob, Tuning
from collateral.plan.grid import RunSpec
from collateral.plugins.find import prepare_values
from collateral.results import layout

SUPPORT = ("k", "k_each", "min_similarity")  # names of parameters that set the size of the support


class SupportSizeJob(StartedJob):
    """Training of the teachers of one seed, one per support size."""

    folder = layout.SUPPORT_SIZE

    sizes: tuple[int, ...]
    top: int | Literal["all"]  # number of classes that a soft label keeps

    @property
    def files(self) -> dict[str, str]:
        """The teachers' predictions on the forget set."""
        return self.in_folder(sizes=layout.SUPPORT_SIZES)


class PlannedSupportSize(PlannedMethod):
    """Planned job that trains teachers of one seed, one per size of the support."""

    describes = SupportSizeJob
    cell_attribute = "support_sized"
    evaluated = layout.SUPPORT_SIZES

    seed: int

    @property
    def spec(self) -> RunSpec:
        """LTD and its parameters."""
        assert self.cell.support_sized is not None
        return self.cell.support_sized

    @property
    def sizes(self) -> SupportSizeConfig:
        """Value of the config key `support_size`."""
        assert self.benchmark.config.support_size is not None
        return self.benchmark.config.support_size

    @property
    def tuning(self) -> Tuning | None:
        """The tuning that selected parameters, if the teachers depend on them."""
        return super().tuning if len(self.spec.prepare_calls) > 1 else None

    @property
    def values(self) -> dict[str, Any]:
        """Values of every method, without the size of the support, and the sizes."""
        given = prepare_values(self.spec.method.uses, self.spec.params)
        params = {key: value for key, value in given.items() if key not in SUPPORT}
        top = self.spec.params.model_dump()["top"]
        return {**super().values, "params": params, "sizes": self.sizes.k, "top": top}

    @property
    def work(self) -> Work:
        """Estimated amount of computation of training one teacher per support size."""
        # If k_each and min_similarity are None, only k determines the size of the support.
        by_k = {"k_each": None, "min_similarity": None}
        params = self.spec.params
        choices = [params.model_copy(update={"k": size, **by_k}) for size in self.sizes.k]
        return self.workload.prepare(self.cell, choices)
