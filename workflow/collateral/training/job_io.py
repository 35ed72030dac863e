"""Input and output of jobs with a model: load data onto the device, write results."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn

from collateral.contract.conventions import SKIPPED
from collateral.models._build import build_model
from collateral.models._classifier import Classifier
from collateral.results import layout
from collateral.results.dataset import Dataset, Labels
from collateral.results.files import atomic, report_broken_file, write_rows
from collateral.results.outputs import Epochs, ModelOutputs
from collateral.results.provenance import verify
from collateral.results.record import EPOCH_SECONDS, GPU_SLOTS, Made, measure_cost, versions
from collateral.results.split import Split
from collateral.training.devices import choose_device, describe_numerics, make_deterministic
from collateral.training.examples import Examples, Task, test_examples, train_examples
from collateral.training.inference import compute_outputs
from collateral.training.run import Run

# A model has collapsed if its train accuracy is below the accuracy of guessing plus this margin.
COLLAPSE_MARGIN = 0.05


@dataclass(frozen=True)
class Session:
    """The device and the data set of a job; it builds and loads models."""

    device: torch.device
    data: Dataset
    train: Examples
    test: Examples
    folder: Path  # folder of the benchmark, which contains the data set
    freeze: tuple[str, ...] = ()  # parts of every model that never train

    def task(self, split: Split) -> Task:
        """Return the data that a method can use: retained and forget examples."""
        memorised = torch.from_numpy(split.memorised) if len(split.memorised) else None
        return Task(self.select(split.retain), self.select(split.forget), self.data.info, memorised)

    def select(self, rows: NDArray[np.int64]) -> Examples:
        """Return the train examples with these indices."""
        return self.train.select(torch.from_numpy(rows).to(self.device))

    def new_model(self, name: str) -> Classifier:
        """Build a model on the device; torch's global generator initialises its weights."""
        return self._finish(build_model(name, self.data.info))

    def load_model(self, name: str, path: Path) -> Classifier:
        """Build a model and load its weights from a safetensors file."""
        model = build_model(name, self.data.info)
        model.load_state_dict(read_tensors(verify(path, self.folder)))
        return self._finish(model)

    def finish(
        self,
        about: Mapping[str, Any],
        seconds: Mapping[str, float],
        devices: Sequence[str] = (),
        by_epoch: Sequence[float] = (),
    ) -> Made:
        """Return what a job found out, and its cost, after it wrote its files."""
        numerics = {"numerics": describe_numerics(devices)} if devices else {}
        cost = find_cost(seconds, self.device, by_epoch)
        return Made({**about, "versions": versions(), **numerics}, cost)

    def _finish(self, model: Classifier) -> Classifier:
        """Freeze parts of a model, and put it on the device."""
        model.freeze(self.freeze)
        # `to` is called twice, because torch's types do not allow both arguments in one call.
        return model.to(self.device).to(memory_format=torch.channels_last)


def open_session(
    data: Path, threads: int, *, freeze: tuple[str, ...] = (), shares_gpu: bool = False
) -> Session:
    """Make torch deterministic, choose the device and load the data set."""
    if not shares_gpu:
        os.environ.pop(GPU_SLOTS, None)
    torch.set_num_threads(threads)
    make_deterministic()
    device = choose_device()
    dataset = Dataset.load(verify(data, data.parent))
    train, test = train_examples(dataset, device), test_examples(dataset, device)
    return Session(device, dataset, train, test, data.parent, freeze)


def write_results(
    out: Path,
    model: nn.Module,
    session: Session,
    run: Run,
    about: Mapping[str, Any],
    *,
    with_embeddings: bool = False,
) -> Made:
    """Compute the outputs of the model; write weights, outputs and history; return the rest."""
    outputs, embeddings = compute_outputs(model, session.train, session.test)
    write_model(out / layout.MODEL, model)
    outputs.save(out / layout.OUTPUTS)
    write_history(out / layout.HISTORY, run.history)
    if with_embeddings:
        embeddings.save(out / layout.EMBEDDINGS)
    if run.tracked:
        Epochs.stack(run.tracked).save(out / layout.EPOCHS)
    ended = {"status": find_status(outputs, session.data.labels)}
    if run.skipped:
        ended = {"status": SKIPPED, "reason": run.skipped}
    found = {**about, **ended, "extra": run.reported}
    return session.finish(found, run.clock.seconds, run.devices, run.tracked_seconds)


def write_history(path: Path, history: Sequence[Mapping[str, Any]]) -> None:
    """Write history.csv; its columns are phase, loop and epoch, and the names of logged values."""
    names = {name for row in history for name in row}
    place = [name for name in ("phase", "loop", "epoch") if name in names or name != "phase"]
    write_rows(path, [*place, *sorted(names.difference(place))], history)


def write_model(path: Path, model: nn.Module) -> None:
    """Write the weights of a model."""
    write_tensors(path, {name: w.cpu().contiguous() for name, w in model.state_dict().items()})


def find_status(outputs: ModelOutputs, labels: Labels) -> str:
    """Return "diverged" if outputs are not finite, "collapsed" if the model guesses, else "ok"."""
    if not np.isfinite(outputs.train.confidence).all():
        return "diverged"
    accuracy = (outputs.train.prediction == labels.train).mean()
    is_guessing = accuracy < 1 / len(labels.class_names) + COLLAPSE_MARGIN
    return "collapsed" if is_guessing else "ok"


def find_cost(
    seconds: Mapping[str, float], device: torch.device, by_epoch: Sequence[float] = ()
) -> dict[str, Any]:
    """Return the content of cost.json: time and memory of this process so far."""
    threads = torch.get_num_threads()
    peak = torch.cuda.max_memory_allocated(device) / 2**20 if device.type == "cuda" else None
    found = measure_cost(seconds, device=device.type, threads=threads, peak_device_mb=peak)
    return {**found, **({EPOCH_SECONDS: list(by_epoch)} if by_epoch else {})}


def write_tensors(path: Path, tensors: dict[str, Tensor]) -> None:
    """Write a safetensors file that other users can read; `save_file` would make it private."""
    with atomic(path) as temporary:
        temporary.write_bytes(save(tensors))


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read a safetensors file."""
    with report_broken_file(path, SafetensorError):
        return load_file(path)
