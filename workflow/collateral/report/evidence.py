"""Collect the content of an evidence record: a request, the unlearned model, and its numbers."""

from __future__ import annotations

import hashlib
import json
import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from collateral.contract.tables import Source
from collateral.contract.verdicts import MEASURES
from collateral.findings import groups
from collateral.findings.checks import NEED_RETRAIN, run_checks
from collateral.findings.metric_index import find_metric
from collateral.findings.registry import excluded_findings
from collateral.findings.verdict.sentences import find_verdicts
from collateral.metrics.statistics import mean, std
from collateral.report.images import Gallery
from collateral.report.page import template
from collateral.results import layout
from collateral.results.address import FoundRun
from collateral.results.dataset import Labels
from collateral.results.files import read_json
from collateral.results.gates import read_gates
from collateral.results.plan import BenchmarkPlan
from collateral.results.provenance import (
    FILES,
    INPUTS,
    JOB,
    SEAL,
    content_hash,
    read_record,
    read_signed,
    verify,
)
from collateral.results.split import Split, ids_hash
from collateral.results.table import BenchmarkTable, CellTable, read_tables

Content = dict[str, Any]
ENDS = ("low", "high")  # suffixes of the metrics that are the ends of an interval
COLOURS = ("red", "amber", "grey", "green")
# Labels of the measures that the verdict tests.
MEASURED = {
    "ua": "Accuracy on the forgotten images (UA)",
    "mia": "Forgotten images that an attack takes for unseen ones (MIA)",
    "near": "Loss of the nearest retained images",
    "near_test": "Loss of the nearest test images",
    "far": "Loss of all other retained images",
    "far_test": "Loss of test images that are not near",
    "damage": "Damage: near loss minus far loss",
}
SHADOW_ATTACK = "ulira_auc"
ACCURACIES = ("ua", "ra", "ta")
ATTACKS = (
    *("mia", "mia_correctness", "mia_entropy", "mia_modified_entropy", "mia_probability"),
    *("rmia_auc", "rmia_tpr", "residual_accuracy", "linear_accuracy"),
    *("relearn_gap", "resurface_gap", SHADOW_ATTACK),
)
# Label of each loss of accuracy: near or far from the forget set, on retained or test examples.
PLACES = {
    ("near", "retain"): "Nearest retained images",
    ("far", "retain"): "All other retained images",
    ("near", "test"): "Nearest test images",
    ("far", "test"): "All other test images",
}
# For each metric of an optional result: the sentence that the result was not computed.
OPTIONAL = {
    SHADOW_ATTACK: "No attack with shadow models was run (`shadows:`).",
    "residual_accuracy": "Hidden features were not probed (`probe:`).",
}
NO_ORIGINAL = "The model before was not measured (`controls: [original]`)."
NO_RETRAIN = (
    "There is no Retrain, so nothing shows how a model without these images behaves: no verdict, "
    "no intervals and no margins; losses are counted against the {before}. Left out: "
    "{findings}; checks: {checks}."
)
OTHER_TOOL = (
    "Another tool unlearned this model. Its weights are known by their hash; its method, "
    "parameters, data, random seed and time, and the model that it started from, are not recorded."
)
LATER = (
    "The model that was in use before this request was not measured on these images. Where there "
    "is a column Base, it is the model that was trained on all images, also on those of earlier "
    "requests."
)
# What no record shows.
LIMITS = (
    "Whether a law or a duty is met. We know of no authority that has published a threshold for "
    "these numbers, and this record sets none.",
    "That nothing about the forgotten images is left in the weights. Only the attacks above were "
    "run; another or a stronger attack may succeed.",
    "That the list is complete, or that it is the list of the person who made the request. It was "
    "used as it was given.",
    "That the images are gone elsewhere: from data sets, backups, copies that differ in a pixel, "
    "features, or other models that were trained on them.",
    "That the images of earlier requests stay forgotten. Only those of this request are measured.",
    "Harm to people, groups or uses that the images of this data set do not contain.",
    "That these results are honest. Hashes show that a file is the one that was recorded; a "
    "signature shows who signed.",
)


def read_cell(found: FoundRun) -> CellTable:
    """Read the long table of the run's cell, and the outcomes of its sanity checks."""
    root = found.benchmark
    table = _read_table(found, verify(root / found.cell / layout.METRICS, root))
    return _select_cell(found, table.with_gates(read_gates(verify(root / layout.GATES, root))))


def check_again(found: FoundRun, metrics: Path) -> CellTable:
    """Read a long table that was computed again, and run the sanity checks on it."""
    table = _read_table(found, metrics)
    return _select_cell(found, table.with_gates(run_checks(table)[0]))


def _read_table(found: FoundRun, metrics: Path) -> BenchmarkTable:
    return read_tables(BenchmarkPlan.load(found.benchmark / layout.PLAN), metrics)


def _select_cell(found: FoundRun, table: BenchmarkTable) -> CellTable:
    (cell,) = table.cells
    if found.run not in cell.kinds:
        raise ValueError(f"{found}: not among the runs of {layout.PLAN}")
    return cell


def gather(found: FoundRun, cell: CellTable) -> Content:
    """Return the content of a record, all of which can be computed again from the results."""
    request = _describe_request(found)
    columns = {found.run: "This model", cell.reference: cell.reference_label}
    if layout.ORIGINAL in cell.kinds:
        # In later rounds, unlearning starts from another model than the base model.
        columns[layout.ORIGINAL] = "Base" if request["earlier"] else "Model before"
    columns[found.run] = "This model"
    differences_by_group = list(_group_rows(found, cell))
    tested = [row for row in differences_by_group if "low" in row["number"]]
    untested = len(differences_by_group) - len(tested)
    gates = sorted(cell.gates, key=lambda gate: COLOURS.index(gate.colour))
    content = {
        "run": _describe_run(found, cell),
        "request": request,
        "models": _list_models(found, cell),
        "verdict": _describe_verdict(found.run, cell),
        "accuracies": list(_rows(found, cell, columns, ACCURACIES)),
        "attacks": list(_rows(found, cell, columns, ATTACKS)),
        "losses": list(_loss_rows(found, cell, columns)),
        "groups": sorted(tested, key=_group_order),
        "untested": list(_untested_groups(cell)),
        "checks": [{"colour": g.colour, "name": g.name, "text": g.text} for g in gates],
        "missing": list(_missing(found, cell, bool(request["earlier"]), untested)),
        "limits": [*LIMITS, _limit_of_seeds(cell)],
        "columns": columns,
        "versions": found.record.get("versions", {}),
        "commands": _commands(found),
    }
    # Convert the content to JSON and back, as if read from a file; undefined numbers become None.
    plain: Content = json.loads(json.dumps(content), parse_constant=lambda _: None)
    return plain


def _describe_run(found: FoundRun, cell: CellTable) -> Content:
    record = found.record
    about = cell.benchmark.about.get(found.run)
    return {
        "address": f"{found.benchmark.name}/{found.cell}",
        "run": found.run,
        "label": {**cell.labels, **cell.benchmark.labels}[found.run],
        "about": about.text if about else "",
        "seed": found.seed,
        "seeds": list(cell.seeds),
        "reference": cell.reference,
        "status": record["status"],
        "data": cell.benchmark.data.get("name", ""),
        "model": record.get("model", cell.benchmark.model),
        "params": record.get("params", {}),
        "numerics": record.get("numerics", {}),
    }


def _describe_request(found: FoundRun) -> Content:
    """Describe the deletion request by numbers, classes and hashes, without names of files."""
    root = found.benchmark
    labels = Labels.load(verify(root / layout.LABELS, root))
    split = Split.load(root / layout.SPLIT.format(cell=found.cell), root)
    counts, totals = (
        np.bincount(of, minlength=len(labels.class_names))
        for of in (labels.train[split.forget], labels.train)
    )
    return {
        "images": len(split.forget),
        "of": split.num_train,
        # Number of images in earlier requests, which are neither in the forget set nor retained.
        "earlier": len(split.earlier),
        # Number of images in this request that were also in an earlier request.
        "requested_before": split.chosen.get("requested_before", 0),
        "classes": {
            labels.class_names[c]: {"forgotten": int(counts[c]), "of": int(totals[c])}
            for c in split.affected
        },
        "kind": split.chosen.get("kind", ""),
        "list_sha256": split.chosen.get("sha256"),  # hash of the user's list file
        "indices_sha256": ids_hash(split.forget),
    }


def _list_models(found: FoundRun, cell: CellTable) -> list[Content]:
    """Return hash and origin of the models before and after unlearning, and of Retrain."""
    roles = {"before": _folder_before(found), "after": found.folder}
    if cell.has_retrain:
        retrain = FoundRun(found.benchmark, found.cell, layout.RETRAIN, found.seed, found.seeds)
        roles["reference"] = retrain.folder
    return [{"role": role, **_describe_model(at, found)} for role, at in roles.items()]


def _folder_before(found: FoundRun) -> Path:
    """Return the folder of the model that the run started from; by default the base's folder."""
    models = [place for place in found.record[INPUTS] if Path(place).name == layout.MODEL]
    if models:
        return found.benchmark / Path(models[0]).parent
    numbers = read_record(_metrics_record(found), found.benchmark)["numbers"]
    seed = numbers["base_seeds"][numbers["seeds"].index(found.seed)]
    return found.benchmark / layout.BASE.format(seed=seed)


def _describe_model(folder: Path, found: FoundRun) -> Content:
    record, path = read_record(folder / layout.RECORD, found.benchmark), folder / layout.MODEL
    if path.exists():
        verify(path, found.benchmark)
    own = record.get("weights") or {}
    return {
        "seed": record["seed"],
        "sha256": record[FILES].get(layout.MODEL),
        "file": path.relative_to(found.benchmark).as_posix(),
        # The name of the weight file is omitted, because it may contain the name of a person.
        "weights": {"sha256": own["hash"]} if own else None,
        "trained_on_sha256": record.get("trained_on"),
    }


def _metrics_record(found: FoundRun) -> Path:
    return found.benchmark / found.cell / layout.METRICS_RECORD


def _describe_verdict(run: str, cell: CellTable) -> Content:
    """Return the verdict, or why there is none, and the tested differences from Retrain."""
    verdicts = {one.run: one for one in find_verdicts(cell)}
    one = verdicts.get(run)
    rows = [
        {
            "label": MEASURED[at],
            "difference": _number(cell, Source(run, "difference", at=at)),
            "equivalence": [cell.number(run, f"equivalence_{end}", at=at) for end in ENDS],
            "margin": _number(cell, Source(run, "margin", at=at)),
        }
        for at in MEASURES
        if cell.has_retrain and not math.isnan(cell.number(run, "difference", at=at))
    ]
    reason = "" if one else _no_verdict(run, cell)
    return {
        "word": one.title if one else None,
        "sentence": one.sentence if one else reason,
        "measures": [] if cell.red_gates else rows,
    }


def _no_verdict(run: str, cell: CellTable) -> str:
    if not cell.has_retrain:
        return "There is no verdict, because there is no Retrain."
    if run == cell.reference:
        return "This model is Retrain itself: it was trained from the start without the images."
    if red := cell.red_gates:
        return f"There is no verdict, because a check failed: {', '.join(g.name for g in red)}."
    return "There is no verdict on a control, on a run of a sweep, or on a run that was skipped."


def _number(cell: CellTable, source: Source, seed: int | None = None) -> Content | None:
    """Return a number with its source link, its values by seed, and its interval if it has one."""
    key = (source.run, source.metric, source.set, source.at)
    values, metric = cell.values(*key), find_metric(source.metric)
    is_by_seed = not np.isnan(values).all()
    value = mean(values) if is_by_seed else cell.number(*key)
    if math.isnan(value):
        return None
    is_signed = metric.unit == "points" and source.metric != "margin"
    text = metric.text(value, std(values), sign=is_signed)
    found: Content = {"source": str(source), "value": value}
    if is_by_seed:
        by_seed = dict(zip(map(str, cell.seeds), values.tolist(), strict=True))
        found["by_seed"] = {s: v for s, v in by_seed.items() if not math.isnan(v)}
        own = found["by_seed"].get(str(seed), math.nan)
        text = f"{metric.text(own, sign=is_signed)} ({text})" if seed is not None else text
    ends = [cell.number(source.run, f"{source.metric}_{end}", *key[2:]) for end in ENDS]
    if not any(map(math.isnan, ends)):
        found |= dict(zip(ENDS, ends, strict=True))
        if not is_by_seed:
            text += f" [{', '.join(metric.text(end, sign=is_signed) for end in ends)}]"
    return {**found, "text": text}


def _rows(
    found: FoundRun, cell: CellTable, columns: Iterable[str], metrics: Sequence[str]
) -> Iterator[Content]:
    """Yield one row per metric that is known for any model, with the values of all models."""
    for name in metrics:
        sources = {run: Source(run, name) for run in columns}
        if name == SHADOW_ATTACK:  # Original's AUC is stored in the reference's rows.
            original = Source(cell.reference, "lira_auc", "forget")
            sources = {found.run: Source(found.run, name, "forget"), layout.ORIGINAL: original}
        metric, numbers = find_metric(name), _numbers(found, cell, sources)
        if numbers and (name != SHADOW_ATTACK or found.run in numbers):
            about = metric.describe(cell.reference_label)
            yield {"label": metric.heading, "about": about, "numbers": numbers}


def _numbers(found: FoundRun, cell: CellTable, sources: Mapping[str, Source]) -> Content:
    numbers = {run: _number(cell, source, found.seed) for run, source in sources.items()}
    return {run: one for run, one in numbers.items() if one}


def _loss_rows(found: FoundRun, cell: CellTable, columns: Iterable[str]) -> Iterator[Content]:
    """Yield the accuracy that each run lost near the forget set and far from it."""
    runs = [run for run in columns if run != cell.reference]
    for (part, subset), label in PLACES.items():
        numbers = _numbers(found, cell, {run: Source(run, f"{part}_loss", subset) for run in runs})
        count = cell.number(cell.reference, f"{part}_count", subset)
        size = "" if math.isnan(count) else f" ({count:.0f})"
        if numbers:
            yield {"label": f"{label}{size}", "numbers": numbers}


def _group_rows(found: FoundRun, cell: CellTable) -> Iterator[Content]:
    """Yield, for each group of examples, how the run differs from Retrain."""
    for name in (f"{measure}_gap" for measure in groups.MEASURES):
        for subset, at in _list_groups(cell, found.run, name):
            if number := _number(cell, Source(found.run, name, subset, at)):
                label = f"{at}, {subset}: {groups.METRICS[name].label}"
                about = groups.METRICS[name].describe(cell.reference_label)
                yield {"label": label, "about": about, "number": number}


def _untested_groups(cell: CellTable) -> Iterator[str]:
    """Yield the groups with too few examples for a test, with their number of examples."""
    for name in dict.fromkeys(count for *_, count in groups.MEASURES.values()):
        for subset, at in _list_groups(cell, cell.reference, name):
            count = cell.number(cell.reference, name, subset, at)
            if count < groups.LEAST_EXAMPLES:
                yield f"{at}, {subset} ({count:.0f} {name.removeprefix('group_')})"


def _list_groups(cell: CellTable, run: str, metric: str) -> list[tuple[str, str]]:
    """Return the set and the name of every group of examples for which the metric is known."""
    return [(name, at) for name in ("retain", "test") for at in cell.indices(run, metric, name)]


def _group_order(row: Content) -> tuple[bool, float]:
    """Return a group's sort key: first groups whose interval excludes zero, then by difference."""
    number = row["number"]
    is_found = number["low"] > 0 or number["high"] < 0
    return not is_found, -abs(number["value"])


def _missing(
    found: FoundRun, cell: CellTable, is_later: bool, groups_without_interval: int
) -> Iterator[str]:
    """Yield a sentence for each part of a complete record that these results do not have."""
    if found.record.get("method") == "given":
        yield OTHER_TOOL
    if not cell.has_retrain:
        before = "base" if is_later else "model before"
        findings = ", ".join(excluded_findings(cell.reference))
        yield NO_RETRAIN.format(before=before, findings=findings, checks=", ".join(NEED_RETRAIN))
    if is_later:
        yield LATER
    elif layout.ORIGINAL not in cell.kinds:
        yield NO_ORIGINAL
    if groups_without_interval:
        count = groups_without_interval
        yield f"{count} differences by group have no interval, so they are left out."
    known = cell.metrics(found.run)
    yield from (text for metric, text in OPTIONAL.items() if metric not in known)


def _limit_of_seeds(cell: CellTable) -> str:
    count = len(cell.seeds)
    if count == 1:
        return "What chance does: there is one seed."
    return (
        f"That this model behaves as the mean. Verdict and intervals are of the method over {count}"
        " seeds; this model is one of them."
    )


def _commands(found: FoundRun) -> Content:
    address = shlex.quote(f"{found.benchmark.name}/{found.cell}")
    run = shlex.quote(found.run)
    return {
        "results": "snakemake --cores all --configfile CONFIG",
        "record": f"collateral evidence {address} {run} --seed {found.seed}",
        "check": "collateral verify evidence.json",
    }


def list_records(found: FoundRun) -> list[Path]:
    """Return the files behind the numbers: plan, request, long table, and records of the runs."""
    root, cell = found.benchmark, found.benchmark / found.cell
    shared = [root / layout.PLAN, root / layout.DATA_RECORD, cell / Path(layout.SPLIT).name]
    shared += [cell / layout.METRICS, cell / layout.METRICS_RECORD]
    patterns = [
        layout.run_folder(run).format(cell=found.cell, seed="*", run=run)
        for run in dict.fromkeys((layout.ORIGINAL, layout.RETRAIN, found.run))
    ]
    runs = [path for one in patterns for path in sorted(root.glob(f"{one}/{layout.RECORD}"))]
    before = [_folder_before(replace(found, seed=seed)) / layout.RECORD for seed in found.seeds]
    return list(dict.fromkeys([*shared, *runs, *before]))


def copy_records(found: FoundRun) -> dict[str, bytes]:
    """Return a dict from path to content of each file from which the numbers were computed."""
    copies = {path.relative_to(found.benchmark): path.read_bytes() for path in list_records(found)}
    split = Path(layout.SPLIT.format(cell=found.cell))
    copies[split] = _copy_split(found.benchmark / split)
    return {path.as_posix(): content for path, content in copies.items()}


def _copy_split(path: Path) -> bytes:
    """Return split.json without the path of the user's list and the indices of earlier requests."""
    content = read_json(path)
    del content[SEAL]  # the hash is removed, because this copy is not the signed file
    for one in (content["chosen"], content.get(JOB, {}).get("params", {})):
        one.pop("path", None)
    content["num_earlier"] = len(content.pop("earlier", []))
    content["copy_of_sha256"] = content_hash(path)
    return json.dumps(content, indent=2).encode()


def hash_records(found: FoundRun) -> dict[str, str]:
    """Return the hash of each copied file; the long table's hash is taken from its record."""
    hashes = {
        place: hashlib.sha256(content).hexdigest() for place, content in copy_records(found).items()
    }
    recorded = read_signed(_metrics_record(found), found.benchmark)[FILES][layout.METRICS]
    return hashes | {f"{found.cell}/{layout.METRICS}": recorded}


def render(content: Content, gallery: Gallery | None = None) -> str:
    """Return the record as a page of HTML, with pictures if there is a gallery."""
    return template("evidence.html.j2").render(**content, gallery=gallery)


def differences(old: Any, new: Any, place: str = "") -> Iterator[str]:
    """Yield one line per value of a record that differs from the value in the results."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted({*old, *new}):
            yield from differences(old.get(key), new.get(key), f"{place}.{key}".lstrip("."))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, pair in enumerate(zip(old, new, strict=True)):
            yield from differences(*pair, f"{place}.{number}")
    elif not _is_same(old, new):
        yield f"{place}: {json.dumps(old)} in the record, {json.dumps(new)} from the results"


def _is_same(old: Any, new: Any) -> bool:
    """Tell whether two values are equal; numbers may differ by rounding errors of processors."""
    if isinstance(old, float) and isinstance(new, float):
        return math.isclose(old, new, rel_tol=1e-9, abs_tol=1e-12)
    return bool(old == new)


def changed_files(folder: Path, files: Mapping[str, str], unlisted: Iterable[str]) -> list[str]:
    """Return the files of a folder that are missing, not listed, or have another hash."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    there = {path.relative_to(folder).as_posix(): path for path in paths}
    names = sorted((there.keys() | files.keys()) - {*unlisted})
    return [n for n in names if n not in there or content_hash(there[n]) != files.get(n)]
