"""Job that reads a data set and stores it in a fixed order; it also checks forget sets."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from collateral.config.cells import cell_methods
from collateral.config.errors import Place, format_key
from collateral.data._metadata import STATE, find_input_files, hash_user_files
from collateral.jobs._job import Job, Planned
from collateral.plan import paths
from collateral.plan.fingerprint import stage_code
from collateral.plan.grid import Benchmark, Cell, RunSpec
from collateral.plan.work import LABEL_BYTES, SizeUnknownError, data_options, data_values
from collateral.plugins.find import DATA
from collateral.results import layout
from collateral.results.files import InvalidResultError, read_json
from collateral.results.provenance import merge

SECONDS_PER_BYTE = 8e-8  # CPU seconds to read and compress one byte of images


class DataJob(Job):
    """Reading of the data set of a benchmark."""

    has_cost = False

    name: str
    options: dict[str, Any]

    @property
    def files(self) -> dict[str, str]:
        """Images with labels, and labels alone."""
        return {"data": layout.DATA, "labels": layout.LABELS}


class PlannedData(Planned):
    """Planned job that stores the data set of a benchmark."""

    describes = DataJob

    @property
    def name(self) -> str:
        """Name of the data set."""
        return str(self.benchmark.config.data["name"])

    @property
    def values(self) -> dict[str, Any]:
        """Name and options of the data set."""
        return {"name": self.name, "options": data_values(self.benchmark)}

    @property
    def user_files(self) -> list[str]:
        """User's files of the data set; the job itself reports missing files."""
        return [str(file) for file in find_input_files(self.name, data_options(self.benchmark))]

    @property
    def beside(self) -> dict[str, Any]:
        """Forget sets, which the job checks before any training."""
        return {"forget": [self._forget_set(cell) for cell in self.benchmark.cells.values()]}

    def _forget_set(self, cell: Cell) -> dict[str, Any]:
        """Return a forget set; if its size is unknown, add how many examples must be retained."""
        forget = {"cell": cell.name, "kind": cell.forget.kind, "params": cell.forget.params}
        if cell.forget.earlier:
            forget["earlier"] = cell.forget.earlier
        try:
            self.workload.sizes(cell)
        except SizeUnknownError:
            forget |= {"asked": required_retained(self.benchmark, cell)}
        return forget

    @property
    def code(self) -> str:
        """Fingerprint of the code, and a hash of user files that are not inputs of the rule."""
        code = stage_code("data", DATA.module(self.name))
        return " ".join(filter(None, (code, self._state)))

    @property
    def _state(self) -> str:
        """Hash of the user's files; if they were deleted, the hash in the record."""
        state = hash_user_files(self.name, data_options(self.benchmark))
        try:
            return state or str(merge(read_json(Path(self.path(paths.DATA_RECORD)))).get(STATE, ""))
        except InvalidResultError:
            return ""

    @property
    def seconds(self) -> float:
        """CPU seconds of the job: to start, and to read and compress the images."""
        return 0.5 + SECONDS_PER_BYTE * self.bytes

    @property
    def bytes(self) -> float:
        """Disk space of images and labels, in bytes."""
        size = self.workload.size
        return size.num_examples * (size.image_bytes + 2 * LABEL_BYTES)


def required_retained(benchmark: Benchmark, cell: Cell) -> dict[str, int]:
    """Return the number of retained examples that each config key requires in a cell."""
    sizes, required = benchmark.config.support_size, {}
    if cell.support_sized and sizes:
        # The two smallest support sizes are required; sizes that are too large are skipped.
        required[format_key(("benchmarks", benchmark.name, "support_size", "k"))] = sizes.k[1]
    return required | required_by_runs(benchmark, cell, cell.runs.values())


def required_by_runs(benchmark: Benchmark, cell: Cell, runs: Iterable[RunSpec]) -> dict[str, int]:
    """Return the number of retained examples that each config key of these runs requires."""
    found = (
        (format_key(("benchmarks", benchmark.name, *_place(benchmark, cell, run, name))), count)
        for run in runs
        for params in run.choices
        for name, count in params.required_retained().items()
        if name in params.model_fields_set
    )
    required: dict[str, int] = {}
    for key, count in found:
        required[key] = max(count, required.get(key, 0))
    return required


def _place(benchmark: Benchmark, cell: Cell, run: RunSpec, name: str) -> Place:
    """Return the config key that sets a parameter of a run."""
    method, entry = run.method.name, cell.forget.entry
    if name in run.vary:
        sweep = next(one for one in cell.sweeps if run.name in one.values)
        return "sweeps", sweep.name, "vary" if name == sweep.key else "along", name
    if name in cell_methods(benchmark.config, cell.forget).get(method, {}):
        return "cells", entry, "methods", method, name
    return "methods", method, name
