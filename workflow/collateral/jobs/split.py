"""Job that selects the forget set of a cell."""

from pathlib import Path

from collateral.jobs._job import CellJob, Record, as_json, existing
from collateral.plan import paths
from collateral.plan.fingerprint import stage_code
from collateral.plugins.find import FORGET
from collateral.results import layout
from collateral.results.provenance import INPUTS, content_hash

SPLIT_FILE = Path(layout.SPLIT).name
LIST_HASH = "sha256"  # key in the record for the hash of a list of examples to forget


class SplitJob(CellJob):
    """Selection of the examples to forget."""

    folder = paths.CELL
    record_file = SPLIT_FILE
    files = (SPLIT_FILE,)
    seconds = 0.1

    @property
    def kind(self) -> str:
        """Kind of the forget set."""
        return self.cell.forget.kind

    @property
    def forget(self) -> str:
        """Parameters of the forget set as JSON."""
        return as_json(self.cell.forget.params)

    @property
    def user_files(self) -> list[str]:
        """User's list of examples to forget; empty if it does not exist."""
        path = self.cell.forget.params.get("path")
        return existing(Path(path)) if path is not None else []

    @property
    def earlier(self) -> list[str]:
        """Paths of split.json of all earlier rounds."""
        return [self.path(paths.SPLIT, cell=name) for name in self.cell.forget.earlier]

    @property
    def models(self) -> list[str]:
        """Files that decide which examples to forget: base model outputs or shadow margins."""
        benchmark = self.benchmark
        if self.cell.forget.needs == "base":
            return [self.base_file(layout.OUTPUTS, benchmark.seeds[0])]
        if self.cell.forget.needs == "shadows":
            margins = paths.shadow_files(paths.SHADOW)["margins"]
            return [self.path(margins, member=member) for member in range(benchmark.pool.count)]
        return []

    @property
    def code(self) -> str:
        """Fingerprint of the code that selects the forget set."""
        return stage_code("split", FORGET.module(self.kind))

    def record(self, found: Record, folder: object) -> Record:
        """Return the record that the job would write with the current config and code.

        If the config gives a class by number, the record has its name, and they are not compared.
        """
        chosen, params = found["chosen"], self.cell.forget.params
        same = {
            key: value
            for key, value in params.items()
            if type(value) is type(chosen.get(key)) and not _has_numbers_as_keys(value)
        }
        planned = {**chosen, "kind": self.kind, **same}
        # The user's list is compared only if it exists; split.json is valid without it.
        if LIST_HASH in chosen and (file := Path(params.get("path", "")).expanduser()).is_file():
            planned[LIST_HASH] = content_hash(file)
        inputs = sorted([layout.LABELS, *map(self.below, [*self.earlier, *self.models])])
        return {"code": self.code, "chosen": planned} | ({INPUTS: inputs} if self.earlier else {})


def _has_numbers_as_keys(value: object) -> bool:
    """Return whether a value of the config is a mapping in which a class is given by number."""
    return isinstance(value, dict) and any(isinstance(key, int) for key in value)
