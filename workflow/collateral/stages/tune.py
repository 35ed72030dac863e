"""Run a method with all parameter values of its grid, on the first seed; select the best values.

The default values are run as well, to show the gain of tuning; if the grid does not contain them,
they cannot be selected.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np

from collateral.contract.conventions import Rule
from collateral.contract.params import MethodParams
from collateral.contract.rows import MIA, score_name
from collateral.jobs.tune import TuneJob
from collateral.metrics.accuracy import accuracies
from collateral.metrics.membership import Examples, attack_scores, draw
from collateral.metrics.selection import choose, choose_by_rule
from collateral.plugins.find import params_class
from collateral.results import layout
from collateral.results.dataset import Labels
from collateral.results.files import read_json, write_json, write_rows
from collateral.results.outputs import ModelOutputs
from collateral.results.record import Made
from collateral.results.split import Split
from collateral.stages._method import OpenedJob
from collateral.stages._workspace import Workspace
from collateral.training.checkpoints import Checkpoints, open_checkpoints
from collateral.training.inference import compute_outputs
from collateral.training.job_io import find_status
from collateral.training.run_method import Prepared

# Names of the columns of trials.csv that contain measured numbers.
MEASURED = ("ra", "ra_affected", "num_affected", "ua", "ta", "ta_affected", "mia", "teacher_ua")
Values = dict[str, Any]


def run(job: TuneJob, place: Workspace) -> Made:
    """Run all trials, skipping finished trials; write all trials and the selected one."""
    params, candidates = params_class(job.method).model_validate(job.params), list(job.trials)
    opened = OpenedJob(job, place)
    checkpoints = open_checkpoints(place.checkpoints, place.checkpoint_identity)
    defaults = job.default
    extra = [defaults] if defaults and defaults not in candidates else []
    rows = []
    # UA of the cell's teacher, a column of trials.csv; an empty dict if there is no teacher.
    teacher_ua = read_json(place.input("teacher")) if job.has_teacher else {}
    for index, values in enumerate([*candidates, *extra]):
        trial = type(params).model_validate({**params.model_dump(), **values})
        prepared = opened.prepare(trial, checkpoints)
        name = f"trial-{index}"
        row = checkpoints.load(name)
        if row is None:
            row = measure(opened, trial, prepared, checkpoints.within(name))
            checkpoints.save(name, row)
            checkpoints.within(name).clear()
        flags = {"is_candidate": index < len(candidates), "is_default": values == defaults}
        rows.append({"trial": index, **values, **flags, **row, **teacher_ua})
    write_choice(place.out, rows, candidates, job.select)
    seconds = {f"trial-{row['trial']}": row["seconds"] for row in rows}
    seconds |= {name: sum(made.seconds.values()) for name, made in opened.made.items()}
    return opened.session.finish({}, seconds)


def measure(
    opened: OpenedJob, params: MethodParams, prepared: Prepared | None, checkpoints: Checkpoints
) -> dict[str, float]:
    """Run one trial; return the numbers for selection, and further reported numbers."""
    session, split, method = opened.session, opened.split, opened.method
    inputs = [prepared.tensors] if prepared else []
    model, run = method.unlearn(params, *inputs, checkpoints=checkpoints)
    outputs, _ = compute_outputs(model, session.train, session.test)
    labels = session.data.labels
    prediction = split.divide(outputs.train.prediction, outputs.test.prediction)
    label = split.divide(labels.train, labels.test)
    numbers = accuracies(prediction, label, split.affected)
    numbers[score_name(MIA)] = measure_attack(outputs, labels, split, method.seed)
    if run.skipped or find_status(outputs, labels) == "diverged":
        numbers = dict.fromkeys(numbers, math.nan)
    retained = labels.train[split.retain]
    numbers["num_affected"] = int(np.isin(retained, split.affected).sum())
    reported = {**(prepared.reported if prepared else {}), **run.reported}
    numbers["teacher_ua"] = reported.get("teacher_ua", math.nan)
    seconds = sum(run.clock.seconds.values())
    return {**{name: numbers[name] for name in MEASURED}, "seconds": seconds}


def measure_attack(outputs: ModelOutputs, labels: Labels, split: Split, seed: int) -> float:
    """Return the score of the membership attack (MIA), on the same examples as the metric MIA."""
    drawn = draw(split.retain, len(labels.test), split.attack_seed(seed))
    train, test = (
        Examples(found.logits, found.confidence, found.prediction, label)
        for found, label in ((outputs.train, labels.train), (outputs.test, labels.test))
    )
    return attack_scores(train, test, split.forget, drawn, (MIA,))[MIA]


def write_choice(
    out: Path, rows: list[dict[str, Any]], candidates: list[Values], rule: Rule
) -> None:
    """Select a trial by `rule`; write all trials, the selected one, and what each rule selects."""
    trials = rows[: len(candidates)]
    chosen = choose(trials, rule)
    for row in rows:
        row["is_chosen"] = row["trial"] == chosen
    flags = ["is_candidate", "is_default", "is_chosen"]
    columns = ["trial", *sorted(candidates[0]), *flags, *MEASURED]
    # NaN, which is not equal to itself, is written as an empty field.
    fields = [{c: row[c] for c in columns if row[c] == row[c]} for row in rows]
    write_rows(out / layout.TRIALS, columns, fields)
    choice = {
        "params": candidates[chosen],
        "rule": rule,
        "by_rule": {
            name: None if index is None else candidates[index]
            for name, index in choose_by_rule(trials).items()
        },
        "num_candidates": len(candidates),
    }
    write_json(out / layout.SELECTED, choice)
