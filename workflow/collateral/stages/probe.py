"""Probe the models of a cell and seed: relearning, noise, ZRF, features and resurfacing.

One job probes all runs of a cell and seed, because importing torch takes as long as probing one
small model.
"""

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator, Tensor, nn

from collateral.contract.conventions import derive_seed
from collateral.contract.probes import (
    PARTS,
    Cka,
    Linear,
    Patch,
    Probes,
    Relearn,
    Residual,
    Resurface,
)
from collateral.jobs.probe import ProbeJob
from collateral.metrics.features import Floats, cka_by_part, draw_by_class
from collateral.metrics.similarity import Mask, near_mask, similarity_by_class
from collateral.results import layout
from collateral.results.outputs import Embeddings, Probe
from collateral.results.provenance import verify
from collateral.results.record import Made
from collateral.results.split import Split
from collateral.stages._workspace import Workspace
from collateral.training.checkpoints import open_checkpoints
from collateral.training.examples import Examples, Task, move_to
from collateral.training.inference import infer
from collateral.training.job_io import Session, open_session
from collateral.training.probes import (
    draw,
    residual_share,
    run_linear_probe,
    run_relearning,
    run_resurfacing,
)
from collateral.training.run import Run

LOG = logging.getLogger(__name__)
Shown = dict[str, Tensor]  # arrays that a probe measured, by name


def run(job: ProbeJob, place: Workspace) -> Made:
    """Probe every run that is not probed yet; write the measured arrays."""
    chosen = Probes.model_validate(job.params)
    session = open_session(place.input("data"), place.threads, freeze=job.freeze)
    parts = Split.load(place.input("split"), session.folder)
    checkpoints = open_checkpoints(place.checkpoints, place.checkpoint_identity)
    near = [find_near(session, parts, path) for path in place.inputs("embeddings")]
    prober = Prober(session, job.model, parts, chosen, *near)
    found = []
    for name, path in zip(job.runs, place.inputs("models"), strict=True):
        if (one := checkpoints.load(name)) is None:
            one = prober.ask(path)
            checkpoints.save(name, one)
        found.append(one)
        LOG.info("%s is probed", name)
    shown = [one["shown"] for one in found]
    arrays = {key: torch.stack([one[key] for one in shown]).numpy() for key in shown[0]}
    if chosen.cka:
        arrays |= compare_features(arrays.pop("features"), list(job.runs), prober.cka_part)
    if chosen.resurface:
        arrays["resurface_steps"] = np.array([0, *chosen.resurface.steps])
    this = prober.new_run("zrf", job.seed)
    if chosen.zrf:
        with this.phase("zrf"):
            arrays["zrf_logits"] = prober.untrained().numpy()
    Probe(np.array(job.runs), **arrays).save(place.output("probe"))
    seconds = sum((Counter(one["seconds"]) for one in found), Counter(this.clock.seconds))
    return session.finish({}, seconds, this.devices)


def find_near(session: Session, split: Split, embeddings: Path) -> Mask:
    """Return which retained examples are near the forget set, by features of one base model."""
    features, label = Embeddings.load(verify(embeddings, session.folder)).train, session.data.labels
    forget, forget_label = features[split.forget], label.train[split.forget]
    similarity = similarity_by_class(features, forget, forget_label).max(axis=0)
    return near_mask(similarity[split.retain], label.train[split.retain], split.affected)


def compare_features(
    features: Floats, runs: Sequence[str], part: NDArray[np.int64]
) -> dict[str, Any]:
    """Return CKA of each run with Retrain and with the base model, and the features of Retrain."""
    by_run = dict(zip(runs, features, strict=True))
    nothing = np.full_like(features[0], np.nan)
    found: dict[str, Any] = {"cka_features": by_run[layout.RETRAIN], "cka_part": part}
    for name, run in (("cka_retrain", layout.RETRAIN), ("cka_base", layout.ORIGINAL)):
        other = by_run.get(run, nothing)
        found[name] = np.stack([cka_by_part(own, other, part, len(PARTS)) for own in features])
    return found


@dataclass(frozen=True)
class Prober:
    """Runs the same probes on one model after another."""

    session: Session
    model: str
    split: Split
    probes: Probes
    near: Mask | None = None  # whether each retained example is near the forget set

    @cached_property
    def task(self) -> Task:
        """The forget set and the retained examples."""
        return self.session.task(self.split)

    @cached_property
    def parts(self) -> dict[str, Examples]:
        """Dict of the forget set, retained examples near it and far from it, and the test set."""
        assert self.near is not None, "embeddings tell which examples are near"
        masks = {"near": self.near, "far": ~self.near}
        retain = {
            name: self._select(self.task.retain, mask.nonzero()[0]) for name, mask in masks.items()
        }
        return {"forget": self.task.forget, **retain, "test": self.session.test}

    def _select(self, examples: Examples, index: NDArray[np.int64]) -> Examples:
        return examples.select(move_to(torch.from_numpy(index), self.session.device))

    @cached_property
    def compared(self) -> list[Examples]:
        """The examples of each set in PARTS that CKA compares; all runs use the same examples."""
        assert self.probes.cka is not None
        generator = self.new_run("cka").generator
        return [draw(self.parts[name], self.probes.cka.examples, generator) for name in PARTS]

    @property
    def cka_part(self) -> NDArray[np.int64]:
        """For each example whose features are compared, the index of its set in PARTS."""
        return np.repeat(np.arange(len(PARTS)), [len(examples) for examples in self.compared])

    def ask(self, path: Path) -> dict[str, Any]:
        """Run all probes on a model; return the measured arrays, and the seconds of each probe."""
        shown: Shown = {}
        seconds: dict[str, float] = {}
        for name, experiment in EXPERIMENTS.items():
            if params := getattr(self.probes, name):
                this, model = self.new_run(name), self.session.load_model(self.model, path)
                with this.phase(name):
                    shown |= experiment(self, model, params, this.generator)
                seconds |= this.clock.seconds
        return {"shown": shown, "seconds": seconds}

    def relearn(self, model: nn.Module, params: Relearn, generator: Generator) -> Shown:
        """Train on half of the forget set; return the other half's accuracy after each step."""
        curve = run_relearning(model, self.task.forget, params, generator)
        return {"relearn_accuracy": torch.tensor(curve, dtype=torch.float64)}

    def residual(self, model: nn.Module, params: Residual, generator: Generator) -> Shown:
        """For each forgotten example, return the fraction of noisy copies classified correctly."""
        return {"residual_share": residual_share(model, self.task.forget, params, generator)}

    def linear(self, model: nn.Module, params: Linear, generator: Generator) -> Shown:
        """Return a linear probe's accuracy on the forget set and on test images of its classes."""
        labels = self.session.data.labels
        rng = np.random.default_rng(generator.initial_seed())
        chosen = draw_by_class(labels.train[self.split.retain], params.examples, rng)
        alike = np.flatnonzero(np.isin(labels.test, self.split.affected))
        retain = self._select(self.task.retain, chosen)
        test = self._select(self.session.test, alike)
        found = run_linear_probe(model, retain, [self.task.forget, test], params.c)
        return {"linear_accuracy": torch.tensor(found, dtype=torch.float64)}

    def features(self, model: nn.Module, _: Cka, __: Generator) -> Shown:
        """Return the features of the compared examples, in the order of PARTS."""
        return {"features": torch.cat([infer(model, examples)[0] for examples in self.compared])}

    def resurface(self, model: nn.Module, params: Resurface, generator: Generator) -> Shown:
        """Fine-tune a model on retained examples; return its accuracies during that training.

        They are measured on the forget set, on retained examples near it, and on test examples.
        """
        others = [draw(self.parts[name], params.examples, generator) for name in ("near", "test")]
        measured = [self.task.forget, *others]
        curves = run_resurfacing(model, self.task.retain, measured, params, generator)
        names = ("resurface_accuracy", "resurface_near_accuracy", "resurface_test_accuracy")
        return dict(zip(names, curves, strict=True))

    def patch(self, model: nn.Module, _: Patch, __: Generator) -> Shown:
        """Return the accuracy on patched test images, and the share that gets the wrong label.

        The wrong label is that of the patched train examples; test images of its class are left out
        of the share.
        """
        data, test = self.session.data, self.session.test
        assert data.patched is not None, "the config is checked"
        everywhere = torch.ones(len(test), dtype=torch.bool)
        images = replace(test.images, patched=everywhere, patch=data.patch)
        logits = infer(model, replace(test, images=images))[1]
        prediction, label = logits.argmax(1), test.labels.cpu()
        target = int(data.labels.train[data.patched][0])
        is_other = label != target
        is_corrected, is_target = prediction == label, (prediction == target)[is_other]
        rates = [is_corrected.double().mean(), is_target.double().mean()]
        return {"patch_rates": torch.stack(rates)}

    def new_run(self, purpose: str, *names: str | int) -> Run:
        """Return a Run whose random numbers do not depend on the probed model or its seed.

        Therefore the Retrains of two seeds can be compared.
        """
        return Run(self.session.device, derive_seed("probe", purpose, *names, self.split.hash))

    def untrained(self) -> Tensor:
        """Return the logits of an untrained network on the forget set."""
        _, logits = infer(self.session.new_model(self.model), self.task.forget)
        return logits


# For each probe, the method of `Prober` that applies it to one model.
EXPERIMENTS: dict[str, Callable[..., Shown]] = {
    "relearn": Prober.relearn,
    "residual": Prober.residual,
    "linear": Prober.linear,
    "cka": Prober.features,
    "resurface": Prober.resurface,
    "patch": Prober.patch,
}
