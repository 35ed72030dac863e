"""What a stage is given beside its job: folders, input files with their hashes, and settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from collateral.jobs._job import Job
from collateral.results import layout
from collateral.results.provenance import (
    CODE,
    INPUTS,
    JOB,
    check_inputs,
    content_hash,
    hash_files,
    read_signed,
    verify,
)
from collateral.results.record import versions

CHECKPOINTS = ".checkpoints"  # folder beside those of benchmarks, which Snakemake does not clear


@dataclass(frozen=True)
class Workspace:
    """The place where a job runs; nothing in it but the hashes of inputs identifies the job."""

    job: Job
    results: Path  # folder of all benchmarks
    code: str = ""  # fingerprint of the code, for the record
    threads: int = 1
    beside: Mapping[str, Any] = field(default_factory=dict)  # as a path of the user's weights

    @cached_property
    def root(self) -> Path:
        """Folder of the benchmark, to which all paths of the description are relative."""
        return self.results / self.job.benchmark

    @cached_property
    def out(self) -> Path:
        """Output folder of the job."""
        return self.root / self.job.out

    @cached_property
    def checkpoints(self) -> Path:
        """Folder of the job's checkpoints."""
        return self.results / CHECKPOINTS / self.job.benchmark / self.job.out

    def input(self, name: str) -> Path:
        """Return the path of an input file."""
        (path,) = self.inputs(name)
        return path

    def inputs(self, name: str) -> list[Path]:
        """Return the paths of all input files of this name; empty if the job has none."""
        found = self.job.inputs.get(name, [])
        return [self.root / file for file in ([found] if isinstance(found, str) else found)]

    def output(self, name: str) -> Path:
        """Return the path of an output file."""
        return self.root / self.job.files[name]

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Description, code, and hashes of the inputs: equal for two runs of the same job."""
        hashes = hash_files(map(_whole, self._input_paths), self.root)
        return {JOB: self.job.content(), CODE: self.code, INPUTS: hashes}

    @cached_property
    def checkpoint_identity(self) -> dict[str, Any]:
        """What a killed job and the job that resumes from its checkpoints must have in common.

        Besides the identity, these are the packages and the content of the user's file of weights.
        """
        given = Path(self.beside.get("weights", "")).expanduser()
        weights = content_hash(given) if given.is_file() else None
        return {**self.identity, "versions": versions(), "weights": weights}

    @property
    def _input_paths(self) -> list[Path]:
        return [self.root / file for file in self.job.input_files]

    def check_inputs(self) -> None:
        """Raise if an input file was changed, or was made from other versions of its inputs."""
        for path in self._input_paths:
            if path.name in layout.SIGNED:
                check_inputs(path, read_signed(path, self.root), self.root)
            elif not path.is_dir():  # the stage that reads a folder checks all files in it
                verify(path, self.root)


def _whole(path: Path) -> Path:
    """Return the file whose hash stands for an input: of a folder, its record."""
    return path / layout.RECORD if path.is_dir() else path
