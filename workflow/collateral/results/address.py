"""Find a run among the results by its address: `digits/untypical_3 ltd --seed 0`."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collateral.contract.messages import printable
from collateral.results import layout
from collateral.results.provenance import read_record

RESULTS = Path("results")
MEANINGLESS = ("diverged", "skipped")  # statuses of runs without a usable model


@dataclass(frozen=True)
class FoundRun:
    """A run of one cell and one seed whose results are on disk."""

    benchmark: Path  # folder of the benchmark
    cell: str
    run: str
    seed: int
    seeds: list[int]  # all seeds for which the run has results

    @property
    def folder(self) -> Path:
        """Path of the run's folder; for the run Original, the folder of the base model."""
        place = layout.run_folder(self.run)
        return self.benchmark / place.format(cell=self.cell, seed=self.seed, run=self.run)

    @property
    def record(self) -> dict[str, Any]:
        """Content of the run's record.json."""
        return read_record(self.folder / layout.RECORD, self.benchmark)

    def __str__(self) -> str:
        """Return the run's address as messages print it."""
        return f"{self.benchmark.name}/{self.cell}, {self.run}, seed {self.seed}"


def find_run(address: str, run: str, seed: int | None) -> FoundRun:
    """Return the run at an address; if `seed` is None, the run with the smallest seed."""
    folder = _cell_folder(address)
    benchmark, cell = folder.parent, folder.name
    place = layout.run_folder(run).format(cell=cell, seed="*", run=run)
    seeds = sorted(_seed(path) for path in benchmark.glob(f"{place}/{layout.RECORD}"))
    if "/" in run or not seeds:
        raise _refusal(f"{address}: no run {printable(run)}", _runs(folder))
    if seed is not None and seed not in seeds:
        raise _refusal(f"{address}: no seed {seed} of {printable(run)}", seeds)
    return FoundRun(benchmark, cell, run, seeds[0] if seed is None else seed, seeds)


def check_has_model(found: FoundRun) -> None:
    """Raise if a run has no usable model; the message lists the seeds that have a usable model."""
    record = found.record
    if record["status"] not in MEANINGLESS:
        return
    others = [FoundRun(found.benchmark, found.cell, found.run, s, found.seeds) for s in found.seeds]
    sound = [one.seed for one in others if one.record["status"] not in MEANINGLESS]
    cause = f" ({record['reason']})" if record.get("reason") else ""
    reason = f"{found}: {record['status']}{cause}, so it has no model of its own"
    raise _refusal(reason, sound, "seeds that ended well")


def _cell_folder(address: str) -> Path:
    """Return the folder of a cell; the address is its path, or its path below results/."""
    folder = Path(address) if Path(address).is_dir() else RESULTS / address
    benchmark = folder.parent
    if not (benchmark / layout.DATA_RECORD).is_file():
        known = RESULTS.glob(f"*/{layout.DATA_RECORD}")
        raise _refusal(f"{address}: no benchmark's folder there", {p.parent.name for p in known})
    if not (benchmark / layout.SPLIT.format(cell=folder.name)).is_file():
        cells = benchmark.glob(layout.SPLIT.format(cell="*"))
        raise _refusal(f"{address}: no such cell", {path.parent.name for path in cells})
    return folder


def _runs(folder: Path) -> set[str]:
    found = {path.parent.name for path in folder.glob(f"seed-*/*/{layout.RECORD}")}
    has_base = any(folder.parent.glob(layout.BASE.format(seed="*")))
    return found | ({layout.ORIGINAL} if has_base else set())


def _seed(record: Path) -> int:
    return next(int(p.removeprefix("seed-")) for p in record.parts[::-1] if p.startswith("seed-"))


def _refusal(wrong: str, known: Iterable[Any], what: str = "there are") -> ValueError:
    return ValueError(f"{wrong}; {what}: {', '.join(map(str, sorted(known))) or 'none'}")
