"""Run the two phases of a method, `prepare` and `unlearn`, in one job or in two."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from pydantic import BaseModel
from torch import Tensor, nn

from collateral.contract.conventions import Skipped, derive_seed
from collateral.contract.params import MethodParams
from collateral.plugins.find import (
    METHOD,
    method_kind,
    prepare_class,
    prepare_values,
    prepared_name,
)
from collateral.results import layout
from collateral.results.files import read_json, write_json
from collateral.results.provenance import read_cost, verify, write_cost, write_record
from collateral.results.record import read_selected
from collateral.results.split import Split
from collateral.training.checkpoints import Checkpoints
from collateral.training.examples import Task
from collateral.training.job_io import Session, find_cost, read_tensors, write_tensors
from collateral.training.run import Run, Tracker

LOG = logging.getLogger(__name__)
P = TypeVar("P", bound=BaseModel)


@dataclass(frozen=True)
class Prepared:
    """The result of `prepare`: tensors, numbers for the tables, cost and history."""

    tensors: dict[str, Tensor]
    reported: dict[str, float]
    seconds: dict[str, float]
    history: list[dict[str, Any]]

    def save(
        self, folder: Path, device: torch.device, root: Path, record: Mapping[str, Any]
    ) -> None:
        """Write the result of `prepare` and a record to a folder.

        Trials of tuning, runs of sweeps and runs of all seeds can load it from there.
        """
        tensors, report = folder / layout.PREPARED_TENSORS, folder / layout.PREPARED_REPORT
        write_tensors(tensors, self.tensors)
        write_json(report, {"reported": self.reported, "history": self.history})
        write_record(folder / layout.RECORD, record, root=root, files=[tensors, report])
        write_cost(folder, find_cost(self.seconds, device), root=root)

    @staticmethod
    def load(folder: Path, root: Path) -> Prepared:
        """Read a folder that `save` wrote."""
        report = read_json(verify(folder / layout.PREPARED_REPORT, root))
        return Prepared(
            tensors=read_tensors(verify(folder / layout.PREPARED_TENSORS, root)),
            reported=report["reported"],
            seconds=read_cost(folder, root)["seconds"],
            history=report["history"],
        )

    def add_to(self, run: Run) -> None:
        """Add the numbers, seconds and history of `prepare` to the run of `unlearn`."""
        run.reported = {**self.reported, **run.reported}
        for phase, seconds in self.seconds.items():
            run.clock.seconds[phase] += seconds
        before = sum(self.seconds.values())
        run.tracked_seconds = [before + seconds for seconds in run.tracked_seconds]
        first = [{"phase": "prepare", **row} for row in self.history]
        run.history = [*first, *({"phase": "unlearn", **row} for row in run.history)]


@dataclass(frozen=True)
class Method:
    """A method with its data and seed; it can run several times, each time from the base model."""

    name: str
    task: Task
    load_base: Callable[[], nn.Module]
    seed: int
    split_hash: str
    device: torch.device

    @property
    def module(self) -> Any:
        """The module with the method's code."""
        return method_kind(self.name).load(self.name, "method")

    @property
    def has_prepare(self) -> bool:
        """Whether the method has the phase `prepare`."""
        return prepare_class(self.name) is not None

    def prepare(self, params: MethodParams, checkpoints: Checkpoints | None) -> Prepared:
        """Run the phase `prepare`, or load its result if the job was killed after this phase."""
        saved = checkpoints.load("prepared") if checkpoints else None
        if saved:
            return Prepared(**saved)
        run = self._new_run("prepare", checkpoints)
        model, values = self.load_base(), self._prepare_params(params)
        module = self.module  # The module is imported before the clock starts.
        with run.phase("prepare"):
            made = module.prepare(model, self.task, values, run)
        prepared = Prepared(_to_cpu(made), run.reported, dict(run.clock.seconds), run.history)
        if checkpoints:
            checkpoints.save("prepared", vars(prepared))
        return prepared

    def unlearn(
        self,
        params: MethodParams,
        *inputs: Mapping[str, Tensor] | Tensor,
        checkpoints: Checkpoints | None = None,
        tracker: Tracker | None = None,
        skip: str = "",
    ) -> tuple[nn.Module, Run]:
        """Run the phase `unlearn`; `inputs` are further arguments of the method's `unlearn`.

        If `skip` gives a reason, the method is skipped for this reason.
        """
        run = self._new_run("unlearn", checkpoints, tracker)
        model = self.load_base()
        run.track(model)
        module = self.module  # The module is imported before the clock starts.
        with run.phase("unlearn"):
            try:
                if skip:
                    raise Skipped(skip)
                model = module.unlearn(model, self.task, params, run, *inputs)
            except Skipped as skipped:
                model, run.skipped = self.load_base(), str(skipped)
                LOG.warning("skipped: %s", skipped)
        if len(run.tracked) == 1:  # A method without epochs is evaluated once, at the end.
            run.track(model)
        return model, run

    def _prepare_params(self, params: MethodParams) -> MethodParams:
        """Return only the parameters that `prepare` may use."""
        prepare = prepare_class(self.name)
        assert prepare is not None
        return prepare.model_validate(prepare_values(self.name, params))

    def _new_run(
        self, phase: str, checkpoints: Checkpoints | None, tracker: Tracker | None = None
    ) -> Run:
        seed = derive_seed(phase, self.name, self.seed, self.split_hash)
        return Run(self.device, seed, checkpoints=checkpoints, tracker=tracker)


def run_within(
    name: str, params: MethodParams, model: nn.Module, task: Task, run: Run
) -> nn.Module:
    """Run both phases of another method on `model`, as a part of a method's run; return a model."""
    module: Any = METHOD.load(name, "method")
    prepare = prepare_class(name)
    if prepare is None:
        unlearned: nn.Module = module.unlearn(model, task, params, run)
        return unlearned
    values = prepare.model_validate(prepare_values(name, params))
    made = module.prepare(copy.deepcopy(model), task, values, run)
    unlearned = module.unlearn(model, task, params, run, _to_cpu(made))
    return unlearned


def _to_cpu(made: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Put tensors on the CPU, as if read from a file: `unlearn` always gets the same input."""
    return {name: tensor.detach().cpu().contiguous() for name, tensor in made.items()}


def load_method(
    name: str, model: str, base: Path, seed: int, session: Session, split: Split
) -> Method:
    """Return a method that starts from the base model, on the session's device."""
    return Method(
        name=name,
        task=session.task(split),
        load_base=lambda: session.load_model(model, base),
        seed=seed,
        split_hash=split.hash,
        device=session.device,
    )


def read_chosen_params(
    model: type[P], given: Mapping[str, Any], selected: Sequence[Path], root: Path, **over: Any
) -> P:
    """Return the parameters; tuned values override given values, and `over` overrides both."""
    chosen = read_selected(selected[0], root) if selected else {}
    known = {key: value for key, value in chosen.items() if key in model.model_fields}
    return model.model_validate({**given, **known, **over})


def read_prepared(
    folders: Sequence[Path], name: str, params: MethodParams, root: Path
) -> tuple[Path, Prepared] | None:
    """Return folder and result of a finished `prepare` with these parameters, if there is one."""
    places = [folder / prepared_name(name, params) for folder in folders]
    # A finished preparation has a cost.json, which is written last.
    found = next((place for place in places if (place / layout.COST).exists()), None)
    return (found, Prepared.load(found, root)) if found else None
