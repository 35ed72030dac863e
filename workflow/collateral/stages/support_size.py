"""Train LTD's teacher on support sets of several sizes; also let LTD choose a size (`k: auto`)."""

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from collateral.contract.conventions import derive_seed
from collateral.jobs.support_size import SupportSizeJob
from collateral.methods.ltd.params import Prepare
from collateral.methods.ltd.support import choose_support
from collateral.results.outputs import SupportSizes
from collateral.results.record import Made
from collateral.stages._method import OpenedJob
from collateral.stages._workspace import Workspace
from collateral.training.checkpoints import Checkpoints, open_checkpoints
from collateral.training.run import Run
from collateral.training.run_method import Method, read_chosen_params

LOG = logging.getLogger(__name__)
Arrays = dict[str, Any]
# Values that replace LTD's parameters, so that the support has exactly k examples.
BY_K: dict[str, Any] = {"min_similarity": None, "k_each": None, "search": "exact"}


def run(job: SupportSizeJob, place: Workspace) -> Made:
    """Train the teachers, skipping finished ones; write their outputs."""
    params = read_chosen_params(Prepare, job.params, place.inputs("selected"), place.root, **BY_K)
    opened = OpenedJob(job, place)
    method = opened.method
    fitting = sizes_within(job.sizes, len(method.task.retain))
    num_kept = method.task.num_classes if job.top == "all" else job.top
    checkpoints = open_checkpoints(place.checkpoints, place.checkpoint_identity)
    taught, seconds = teachers(method, params, fitting, checkpoints)
    stepped, seconds["step"] = step(method, params)
    found = SupportSizes(sizes=np.array(fitting), top=np.array(num_kept), **taught, **stepped)
    found.save(place.output("sizes"))
    about = {"params": params.model_dump(mode="json") | {"k": fitting, "top": num_kept}}
    return opened.session.finish(about, seconds)


def sizes_within(sizes: Sequence[int], num_retained: int) -> list[int]:
    """Return the sizes that do not exceed the number of retained examples."""
    within = [size for size in sizes if size <= num_retained]
    if len(within) < len(sizes):
        LOG.warning("only %d examples are retained: sizes up to that alone", num_retained)
    if len(within) < 2:
        raise ValueError(
            f"support_size.k: {list(sizes)}: two at least must be within {num_retained} retained"
        )
    return within


def teachers(
    method: Method, params: Prepare, sizes: list[int], checkpoints: Checkpoints
) -> tuple[Arrays, dict[str, float]]:
    """Train a teacher with each size as k; return the teachers' arrays and training times."""
    soft_labels, reported, seconds = [], [], {}
    for size in sizes:
        name = f"k-{size}"
        given = params.model_copy(update={"k": size})
        prepared = method.prepare(given, checkpoints.within(name))
        soft_labels.append(prepared.tensors["soft_labels"].float().numpy())
        reported.append(prepared.reported)
        seconds[name] = sum(prepared.seconds.values())
        LOG.info("k %d: %s", size, prepared.reported)
    names = {
        "epochs": "teacher_epochs",
        "support_accuracy": "teacher_support_accuracy",
        "least_similarity": "support_similarity_min",
        "num_classes": "support_classes",
    }
    numbers = {key: np.array([row[name] for row in reported]) for key, name in names.items()}
    return {"soft_labels": np.stack(soft_labels), **numbers}, seconds


def step(method: Method, params: Prepare) -> tuple[Arrays, float]:
    """Let LTD choose a support size (`k: auto`); return the size, LTD's measurements, and time."""
    this = Run(method.device, derive_seed("diagnose", method.name, method.seed, method.split_hash))
    auto = params.model_copy(update={"k": "auto"})
    with this.phase("step"):
        found = choose_support(method.load_base(), method.task, auto, this)
    arrays = {
        "step_rate": np.array(this.reported["auto_rate"]),
        "step_edges": found["auto_edges"].double().numpy(),
        "step_counts": found["auto_counts"].numpy(),
        "step_drop": found["auto_drop"].numpy(),
        "auto_size": np.array(len(found["support"])),
    }
    return arrays, sum(this.clock.seconds.values())
