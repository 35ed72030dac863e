"""A folder with a small data set and a split, and the command lines of jobs on them."""

import json
from pathlib import Path
from typing import Any

from collateral.cli import main
from collateral.results.provenance import read_signed

OPTIONS = {"families": 2, "classes_per_family": 2, "num_train": 16, "channels": 3}
FORGET = {"class": "family_0_class_0", "fraction": 0.5}
MODEL = "small_cnn"  # with convolutions and batch norm
NEVER_ALIKE = {"cost.json"}


def call(stage: str, *words: str, **options) -> None:
    """Run a stage in this process."""
    main([*command(stage, **options), *words])


def command(stage: str, **options) -> list[str]:
    """Return a command line; a dictionary or a list is given as JSON."""
    words = [stage]
    for name, value in options.items():
        text = json.dumps(value) if isinstance(value, dict | list) else str(value)
        words += [f"--{name.replace('_', '-')}", text]
    return words


class Workshop:
    """The data set and the split are there; every job has a folder of its own, by its name."""

    def __init__(self, folder: Path) -> None:
        """Make data set and split by their stages."""
        self.folder = folder
        self.data, self.labels = folder / "dataset.npz", folder / "labels.npz"
        self.split = folder / "split.json"
        call("data", name="synthetic", options=OPTIONS, out=self.data, labels=self.labels)
        call("split", labels=self.labels, kind="class_part", params=FORGET, out=self.split)

    @property
    def base(self) -> Path:
        """The base model's weights."""
        return self.folder / "base" / "model.safetensors"

    def train(self, name: str, epochs: int, **options) -> list[str]:
        """Return the command line of a training job."""
        params = {"epochs": epochs, "batch_size": 32}
        given = {**self.job(name), "params": params, **options}
        return command("train", data=self.data, model=MODEL, **given)

    def method(self, stage: str, name: str, method: str, params: dict, **options) -> list[str]:
        """Return the command line of a job that runs a method on the base model."""
        inputs = {"data": self.data, "split": self.split, "base": self.base, "model": MODEL}
        given = {**inputs, **self.job(name), **options}
        return command(stage, method=method, params=params, **given)

    def job(self, name: str) -> dict[str, object]:
        """Return what all jobs are given; they save after every epoch."""
        places = {"out": self.folder / name, "checkpoints": self.checkpoints(name)}
        return {"seed": 0, "checkpoint_seconds": 0, **places}

    def checkpoints(self, name: str) -> Path:
        """Return where a job keeps its checkpoints."""
        return self.folder / ".checkpoints" / name

    def results(self, name: str) -> dict[str, Any]:
        """Return the files of a job by their names, without those that are never alike."""
        paths = [path for path in (self.folder / name).iterdir() if path.is_file()]
        files = {path.name: path.read_bytes() for path in paths}
        assert files.keys() > NEVER_ALIKE
        alike = {file: content for file, content in files.items() if file not in NEVER_ALIKE}
        return alike | {"record.json": described(self.folder / name / "record.json")}


def described(path: Path) -> dict[str, Any]:
    """Return what a record says, but for where it lies, and who prepared."""
    content = read_signed(path)
    inputs = content["inputs"].items()
    return content | {"inputs": {name: h for name, h in inputs if "prepared" not in name}}
