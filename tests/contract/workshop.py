"""A folder with a small data set and a split, and jobs on them in folders of any name."""

import os
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from collateral.jobs._job import Inputs, Job, OwnFile
from collateral.jobs._weights import INIT
from collateral.jobs.base import BaseJob
from collateral.jobs.data import DataJob
from collateral.jobs.expose import ExposeJob
from collateral.jobs.given import GivenJob
from collateral.jobs.probe import ProbeJob
from collateral.jobs.retrain import RetrainJob
from collateral.jobs.shadow import ShadowJob
from collateral.jobs.split import SplitJob
from collateral.jobs.support_size import SupportSizeJob
from collateral.jobs.teacher import TeacherJob
from collateral.jobs.tune import TuneJob
from collateral.jobs.unlearn import UnlearnJob
from collateral.results.provenance import content_hash, read_record
from collateral.stages._workspace import Workspace
from collateral.stages.run import run_job

OPTIONS = {"families": 2, "classes_per_family": 2, "num_train": 16, "channels": 3}
FORGET = {"class": "family_0_class_0", "fraction": 0.5}
MODEL = "small_cnn"  # with convolutions and batch norm
NEVER_ALIKE = {"cost.json"}
# Fields that say where a job is; jobs that differ in them alone must write the same bits.
PLACES = ("out_name", "paths", "benchmark", "cell", "run", "place", "preparing", "track")


def anywhere(kind: type[Job]) -> type[Job]:
    """Return the class of a job that is in a folder of any name, and reads files of any name."""

    class Anywhere(kind):
        folder = "{out_name}"
        out_name: str
        paths: Inputs

        @property
        def kind(self) -> str:
            return kind.__module__.rpartition(".")[2]

        @property
        def inputs(self) -> Inputs:
            return self.paths

    Anywhere.__name__ = Anywhere.__qualname__ = f"{kind.__name__}Anywhere"
    return Anywhere


KINDS = {
    "base": BaseJob,
    "retrain": RetrainJob,
    "given": GivenJob,
    "shadow": ShadowJob,
    "teacher": TeacherJob,
    "tune": TuneJob,
    "unlearn": UnlearnJob,
    "support_size": SupportSizeJob,
    "expose": ExposeJob,
    "probe": ProbeJob,
}
ANYWHERE = {name: anywhere(kind) for name, kind in KINDS.items()}
# Processes of tests find the classes by their names.
globals().update({one.__qualname__: one for one in ANYWHERE.values()})
DEFAULTS: dict[str, dict[str, Any]] = {
    "tune": {"name": "tuned", "default": None, "select": "paper"},
    "unlearn": {"run": "x"},
    "support_size": {"top": 3},
    "expose": {"run": "x", "first": 0, "count": 0},
}


@contextmanager
def saving_always():
    """Save a checkpoint after every epoch."""
    os.environ["COLLATERAL_CHECKPOINT_SECONDS"] = "0"
    try:
        yield
    finally:
        del os.environ["COLLATERAL_CHECKPOINT_SECONDS"]


def main(place: Workspace) -> None:
    """Run a job in this process; an error in its input ends it, as it ends the command."""
    with saving_always():
        try:
            run_job(place)
        except ValueError as error:
            raise SystemExit(f"collateral {place.job.kind}: {error}") from error


class Workshop:
    """The data set and the split are there; every job has a folder of its own, by its name."""

    def __init__(self, folder: Path) -> None:
        """Make data set and split by their stages."""
        self.folder = folder
        self.data, self.labels = folder / "dataset.npz", folder / "labels.npz"
        main(self.place(DataJob(benchmark=folder.name, name="synthetic", options=OPTIONS)))
        self.split = self.choose("cell", FORGET)

    def place(self, job: Job, **options: Any) -> Workspace:
        """Return where a job runs."""
        return Workspace(job, self.folder.parent, **options)

    def choose(self, cell: str, params: dict, earlier: tuple[str, ...] = ()) -> Path:
        """Choose the forget set of a cell by its stage; return its file."""
        fields = {"forget": "class_part", "params": params, "earlier": earlier}
        main(self.place(SplitJob(benchmark=self.folder.name, cell=cell, **fields)))
        return self.folder / cell / "split.json"

    @property
    def base(self) -> Path:
        """The base model's weights."""
        return self.folder / "base" / "model.safetensors"

    def below(self, path: Path) -> str:
        """Return a path as descriptions have it."""
        return path.relative_to(self.folder).as_posix()

    def train(self, name: str, epochs: int, *, split: Path | None = None, **options) -> Workspace:
        """Return a training job: the base or, with a split, Retrain."""
        kind, seed = "retrain" if split else "base", options.pop("seed", 0)
        params = options.pop("params", {"epochs": epochs, "batch_size": 32})
        own, beside = own_file(kind, **options)
        fields = {"params": params if not own or own.key == INIT else {}, "own": own, "seed": seed}
        if split:
            fields["cell"] = "cell"
        return self.job(kind, name, {"split": split}, beside, **fields)

    def method(self, stage: str, name: str, method: str, params: dict, **options) -> Workspace:
        """Return a job that runs a method on the base model."""
        named = {key: options.pop(key, None) for key in ("selected", "retrained", "teacher")}
        paths = {"split": options.pop("split", self.split), "base": options.pop("base", self.base)}
        prepared = options.pop("prepared", None)
        paths |= {"prepared": [prepared.parent / "record.json"] if prepared else None, **named}
        if stage == "unlearn":
            options["needs_retrain"] = bool(named["retrained"])
        if stage == "tune":
            options["has_teacher"] = bool(named["teacher"])
        fields = {"cell": "cell", "seed": 0, "base_seed": 0, "method": method, "params": params}
        return self.job(stage, name, paths, **{**fields, **options})

    def job(self, kind: str, name: str, paths: dict, beside=None, **fields) -> Workspace:
        """Return a job of any kind."""
        files = {"data": self.data, **paths}
        inputs = {
            key: [self.below(one) for one in file] if isinstance(file, list) else self.below(file)
            for key, file in files.items()
            if file is not None
        }
        about = {**DEFAULTS.get(kind, {}), "model": MODEL, **fields}
        where = {"benchmark": self.folder.name, "out_name": name, "paths": inputs}
        return self.place(ANYWHERE[kind](**where, **about), beside=beside or {})

    def checkpoints(self, name: str) -> Path:
        """Return where a job keeps its checkpoints."""
        return self.folder.parent / ".checkpoints" / self.folder.name / name

    def results(self, name: str) -> dict[str, Any]:
        """Return the files of a job by their names, without those that are never alike."""
        paths = [path for path in (self.folder / name).iterdir() if path.is_file()]
        files = {path.name: path.read_bytes() for path in paths}
        assert files.keys() > NEVER_ALIKE
        alike = {file: content for file, content in files.items() if file not in NEVER_ALIKE}
        return alike | {"record.json": described(self.folder / name / "record.json")}


def own_file(kind: str, weights=None, init=None, rename=None, rte=None, key=""):
    """Return the description of a user's file, and its path for the stage."""
    file = weights or init
    if file is None:
        return None, {}
    key = INIT if init else (key or f"{kind}.weights")
    own = OwnFile(key=key, sha256=content_hash(Path(file)), rename=rename or {}, rte=rte)
    return own, {"weights": str(file)}


def described(path: Path) -> dict[str, Any]:
    """Return what a record says, but for where it lies, and who prepared."""
    content = {key: value for key, value in read_record(path).items() if key not in PLACES}
    inputs = content["inputs"].items()
    kept = {name: h for name, h in inputs if "prepared" not in name and name.count("record") == 0}
    return content | {"inputs": kept}
