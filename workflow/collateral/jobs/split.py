"""Job that selects the forget set of a cell."""

from pathlib import Path

from collateral.config.errors import ConfigError, format_key
from collateral.contract.messages import looked_for
from collateral.jobs._job import CellJob, Record, as_json
from collateral.plan import paths
from collateral.plan.fingerprint import stage_code
from collateral.plugins.find import FORGET
from collateral.results import layout
from collateral.results.provenance import INPUTS, content_hash

SPLIT_FILE = Path(layout.SPLIT).name
LIST_HASH = "sha256"  # key in the record for the hash of a list of examples to forget


class SplitJob(CellJob):
    """Selection of the examples to forget."""

    needs = ("data", "base", "shadow")
    folder = paths.CELL
    record_file = SPLIT_FILE
    files = (SPLIT_FILE,)
    remedy = "choose the forget set again and train all of the cell anew"
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
        """User's list of examples to forget; a missing file is reported before any job."""
        path = self.cell.forget.params.get("path")
        if path is None:
            return []
        file = Path(path).expanduser()
        if not file.exists() and not Path(self.split).exists():
            key = self.forget_key("path")
            raise ConfigError([f"{key}: {str(path)!r}: there is no such file{looked_for(file)}"])
        # A deleted list of examples is no error if split.json exists.
        return [str(file)] if file.exists() else []

    @property
    def earlier(self) -> list[str]:
        """Paths of split.json of all earlier rounds."""
        return [self.path(paths.SPLIT, cell=name) for name in self.cell.forget.earlier]

    @property
    def models(self) -> list[str]:
        """Files by which examples are chosen: base model's outputs, or shadow models' margins."""
        benchmark = self.benchmark
        if self.cell.forget.needs == "base":
            return [self.base_file(layout.OUTPUTS, benchmark.seeds[0])]
        if self.cell.forget.needs == "shadows":
            margins = paths.shadow_files(paths.SHADOW)["margins"]
            return [self.path(margins, member=member) for member in range(benchmark.pool.count)]
        return []

    def forget_key(self, *keys: str) -> str:
        """Return the full config key of the forget set, or of one of its parameters."""
        return format_key(("benchmarks", self.benchmark.name, *self.cell.forget.place, *keys))

    @property
    def code(self) -> str:
        """Fingerprint of the code that selects the forget set."""
        return stage_code("split", FORGET.module(self.kind))

    def record(self, found: Record, folder: object) -> Record:
        """Return the record that the job would write now.

        If the config gives a class by number, the record has its name, and they are not compared.
        """
        chosen, params = found["chosen"], self.cell.forget.params
        same = {key: value for key, value in params.items() if type(value) is type(chosen.get(key))}
        planned = {**chosen, "kind": self.kind, **same}
        # The user's list is compared only if it exists; split.json is valid without it.
        if LIST_HASH in chosen and (file := Path(params.get("path", "")).expanduser()).is_file():
            planned[LIST_HASH] = content_hash(file)
        inputs = sorted([layout.LABELS, *map(self.below, [*self.earlier, *self.models])])
        return {"code": self.code, "chosen": planned} | ({INPUTS: inputs} if self.earlier else {})
