"""A benchmark's folder with a sound chain, made of words; what Snakemake knows of it; its times."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sealing import sign_folder

from collateral.results import layout
from collateral.results.bundle import write_metadata
from collateral.results.provenance import (
    INPUTS,
    hash_files,
    write_record,
    write_signed,
)

BEGIN = 1_700_000_000_123_456_789  # nanoseconds
# What is made in which order, by what stands in a path.
ORDER = (
    "dataset",
    "labels",
    "data.json",
    "base/",
    "split",
    "seed-",
    "neighbours",
    "pictures",
    "cell/",
)


@dataclass(frozen=True)
class FakeBenchmark:
    """What may differ between benchmarks that were made apart."""

    seeds: tuple[int, ...] = (0,)
    methods: tuple[str, ...] = ("ga",)
    cell: str = "cell"
    name: str = "b"
    lr: float = 0.1
    seconds: float = 1.5
    begin: int = BEGIN
    pictures: str = "all"

    def write(self, project: Path) -> Path:
        """Write it into a project, and return its folder."""
        root = project / "results" / self.name
        self._job(root, layout.DATA, layout.LABELS, of="data")
        for seed in self.seeds:
            names = (layout.MODEL, layout.OUTPUTS, layout.EMBEDDINGS)
            self._run(root, layout.BASE.format(seed=seed), names, [layout.DATA], seed=seed)
        self._write_cell(root)
        self._present(root)
        files = sorted(path for path in root.rglob("*") if path.is_file())
        for path in files:
            os.utime(path, ns=(self._time(path, root),) * 2)
        write_metadata(project, self.metadata(root, files))
        return root

    def metadata(self, root: Path, files: Iterable[Path]) -> dict[str, Any]:
        """Return what Snakemake would know: of tables, of their folder."""
        known = {root / layout.TABLES if layout.TABLES in path.parts else path for path in files}
        outputs = sorted(f"results/{path.relative_to(root.parent).as_posix()}" for path in known)
        return {output: {"rule": "any", "params": [repr(self.lr)]} for output in outputs}

    def _time(self, path: Path, root: Path) -> int:
        name = path.relative_to(root).as_posix()
        place = next((place for place, part in enumerate(ORDER) if part in name), len(ORDER))
        return self.begin + place * 10**9

    def _write_cell(self, root: Path) -> None:
        split, records, embeddings = f"{self.cell}/split.json", [], []
        write_signed(root / split, {INPUTS: hash_files([root / layout.LABELS], root)}, root)
        for seed in self.seeds:
            base = layout.BASE.format(seed=seed)
            embeddings.append(f"{base}/{layout.EMBEDDINGS}")
            inputs = [layout.DATA, split, f"{base}/{layout.MODEL}"]
            for method in self.methods:
                folder = layout.RUN.format(cell=self.cell, seed=seed, run=method)
                about = {"run": method, "seed": seed, "params": {"lr": self.lr, "epochs": 2}}
                self._run(root, folder, (layout.MODEL, layout.OUTPUTS), inputs, **about)
                records.append(f"{folder}/{layout.RECORD}")
        inputs, neighbours = [layout.DATA, split, *embeddings], f"{self.cell}/neighbours.npz"
        self._job(root, neighbours, inputs=inputs, seeds=list(self.seeds))
        outputs = [record.replace(layout.RECORD, layout.OUTPUTS) for record in records]
        inputs = [layout.DATA, split, neighbours, *outputs]
        self._job(root, f"{self.cell}/pictures.npz", inputs=inputs, keep=self.pictures)
        names = (f"{self.cell}/{name}" for name in (layout.METRICS, layout.PROBLEMS))
        self._job(root, *names, inputs=[neighbours, *records], seeds=list(self.seeds))
        self._job(root, f"{self.cell}/{layout.COSTS}", seconds=self.seconds)

    def _present(self, root: Path) -> None:
        write_signed(root / layout.PLAN, {"labels": list(self.methods)}, root)
        inputs, costs = [f"{self.cell}/{layout.METRICS}"], [f"{self.cell}/{layout.COSTS}"]
        self._job(root, layout.METRICS, layout.PROBLEMS, inputs=inputs)
        self._job(root, layout.COSTS, inputs=costs)
        tables = root / layout.TABLES / self.cell
        tables.mkdir(parents=True)
        for name in ("main.csv", "costs.csv"):
            (tables / name).write_text(f"{name} {self}")
        sign_folder(root / layout.TABLES, [root / layout.PLAN, root / layout.METRICS])
        (root / layout.TABLES / ".snakemake_timestamp").touch()
        self._job(root, layout.REPORT, layout.REPORT_PROBLEMS, seeds=list(self.seeds))
        (root / "check.done").touch()

    def _run(
        self, root: Path, folder: str, names: Iterable[str], inputs: list[str], **about: Any
    ) -> None:
        self._job(root, *(f"{folder}/{name}" for name in names), inputs=inputs, **about)
        write_signed(root / folder / layout.COST, {"total_seconds": self.seconds}, root)

    def _job(self, root: Path, *names: str, inputs: Iterable[str] = (), **about: Any) -> None:
        """Write files that say what they are, and the record of all of them."""
        files = [root / name for name in names]
        for path in files:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{path.name} {about}")
        about = {**about, INPUTS: hash_files([root / name for name in inputs], root)}
        write_record(layout.record_path(files[0]), about, root=root, files=files)
