"""Job that trains LTD's teachers on supports of several sizes, for the key `support_size`."""

from pathlib import Path
from typing import Any

from collateral.config.schema import SupportSizeConfig
from collateral.contract.work import Work
from collateral.jobs._job import Record, as_json
from collateral.jobs._method import MethodJob
from collateral.plan import paths
from collateral.plan.grid import RunSpec
from collateral.plugins.find import prepare_values
from collateral.results import layout
from collateral.results.files import read_json

SUPPORT = ("k", "k_each", "min_similarity")  # names of parameters that set the size of the support


class SupportSizeJob(MethodJob):
    """Training of the teachers of one seed, one per support size."""

    folder = paths.SUPPORT_SIZE
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
    def _values(self) -> dict[str, Any]:
        """Parameters of the teachers, without the size of the support."""
        values = prepare_values(self.spec.method.uses, self.spec.params)
        return {key: value for key, value in values.items() if key not in SUPPORT}

    @property
    def arguments(self) -> list[str]:
        """Options with the method, the parameters of its teachers, and the support sizes."""
        method = ["--method", self.spec.method.uses, "--params", as_json(self._values)]
        top = str(self.spec.params.model_dump()["top"])
        return [*method, "--sizes", *map(str, self.sizes.k), "--top", top]

    @property
    def selected(self) -> list[str]:
        """File with the parameters that tuning selected, if the teachers depend on them."""
        return super().selected if len(self.spec.prepare_calls) > 1 else []

    @property
    def work(self) -> Work:
        """Estimated amount of computation of training one teacher per support size."""
        # If k_each and min_similarity are None, only k determines the size of the support.
        by_k = {"k_each": None, "min_similarity": None}
        params = self.spec.params
        choices = [params.model_copy(update={"k": size, **by_k}) for size in self.sizes.k]
        return self.workload.prepare(self.cell, choices)

    def record(self, found: Record, folder: Path) -> Record:
        """Return the record that the job would write now; it is compared with the record `found`.

        Values that tuning selected are copied from `found`, because the config does not state them.
        """
        split = read_json(folder / self.below(self.split))
        within = [size for size in self.sizes.k if size <= split["num_train"] - split["num_forget"]]
        skipped = {"search", *self.spec.method.grid}
        values = {key: value for key, value in self._values.items() if key not in skipped}
        params = {**found["params"], "k": within, **values}
        return {**self.model_record(self.split, self.base, *self.selected), "params": params}
