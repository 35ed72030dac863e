"""Sections of the pages of methods, data sets, models and findings, each made from its files."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill
from typing import Any

from markdown_reading import ROOT
from reference_tables import REQUIRED, default_of, in_cell, keys, table, written

from collateral.config.yaml import read_file
from collateral.contract.data import DataOptions, DatasetSize
from collateral.contract.plugins import (
    CONTROL,
    DATA,
    FINDING,
    METHOD,
    MODEL,
    PARTS,
    kind_of,
    params_class,
    prepare_class,
)
from collateral.models._facts import facts_of

FORMULA = "Formula: "  # begins the last paragraph of the docstring of `Params`
WIDTH = 90  # letters of a formula's line
EXAMPLES = (("config.yaml", "digits"), ("configs/field.yaml", "field"))
SHAPES = ((8, 8, 1), (32, 32, 3))


def section(name: str, parts: Iterator[str]) -> str:
    return "\n\n".join([f"## {name}", *filter(None, (part.rstrip() for part in parts))]) + "\n"


def page(names: list[str], parts: Any) -> str:
    return "\n".join(section(name, parts(name)) for name in names)


def contents(names: list[str]) -> str:
    return ", ".join(f"[{name}](#{name})" for name in names) + "\n"


def table_of_methods() -> str:
    """Return a line a method: what its docstring's first sentence says, and what it touches."""
    lines = ["| name | method | touches |", "| --- | --- | --- |"]
    for name in METHOD.names() + CONTROL.names():
        params = params_class(name)
        sentence = paragraphs(params.__doc__)[0].rstrip(".")
        touched = ", ".join(sorted(params.touches)) or "nothing"
        lines.append(f"| [{name}](#{name}) | {sentence} | {touched} |")
    return "\n".join(lines) + "\n"


def paragraphs(text: str | None) -> list[str]:
    """Return a docstring's paragraphs, each in a line; what could be mark-up is kept as it is."""
    found = (" ".join(part.split()) for part in inspect.cleandoc(text or "").split("\n\n"))
    return [part.replace("*", "\\*") for part in found if part]


# Methods and controls.


def methods() -> str:
    return page(METHOD.names() + CONTROL.names(), _method)


def formula_of(name: str) -> str:
    said = [part for part in paragraphs(params_class(name).__doc__) if part.startswith(FORMULA)]
    return said[-1].removeprefix(FORMULA).rstrip(".").replace("\\*", "*") if said else ""


def _method(name: str) -> Iterator[str]:
    params, prepare = params_class(name), prepare_class(name)
    about = [part for part in paragraphs(params.__doc__) if not part.startswith(FORMULA)]
    yield f"**{about[0].rstrip('.')}.**"
    yield from about[1:]
    yield f"```text\n{fill(formula_of(name), WIDTH, break_on_hyphens=False)}\n```"
    yield _facts_of_method(name)
    yield from (f"*As implemented.* {part}" for part in _notes(name))
    yield keys(params, params.published) if params.model_fields else "No parameters."
    if prepare and prepare.model_fields:
        listed = ", ".join(f"`{field}`" for field in prepare.model_fields)
        yield f"Read by `prepare`, once for all values of the others: {listed}."
    yield _configured(name)


def _facts_of_method(name: str) -> str:
    params = params_class(name)
    facts = [f"Touches: {', '.join(sorted(params.touches)) or 'nothing'}."]
    facts += ["Given Retrain's soft labels."] if params.needs_retrain else []
    facts += [f"Takes its parameters from `{params.inherits}`."] if params.inherits else []
    facts += [f"Skipped where: {reason}." for reason in skipped(name)]
    return " ".join(facts)


def _folder(name: str) -> Path:
    kind = kind_of(name)
    return Path(kind.paths[0]) / name


def _notes(name: str) -> list[str]:
    """Return what method.py says after its first line: what differs from public code, and why."""
    file = _folder(name) / "method.py"
    if not file.exists():
        return []
    return paragraphs(ast.get_docstring(ast.parse(file.read_text())))[1:]


def skipped(name: str) -> list[str]:
    """Return the reasons for which a method raises Skipped."""
    trees = [ast.parse(file.read_text()) for file in sorted(_folder(name).glob("*.py"))]
    calls = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [
        str(ast.literal_eval(call.args[0]))
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id == "Skipped"
    ]


def _configured(name: str) -> str:
    for file, benchmark in EXAMPLES:
        entry = read_file(ROOT / file)["benchmarks"][benchmark]
        if name in entry["methods"]:
            line = f"{name}: {written(entry['methods'][name])}"
            return f"In `{file}`:\n\n```yaml\nmethods:\n  {line}\n```"
    return f"```yaml\ncontrols: [{name}]\n```"


# Data sets.


def data_sets() -> str:
    return page(DATA.names(), _data_set)


def _data_set(name: str) -> Iterator[str]:
    module = DATA.load(name)
    yield from paragraphs(module.__doc__)
    yield _table_of_data(module)
    own = set(module.Options.model_fields) - set(DataOptions.model_fields)
    if own:
        yield keys(module.Options, skip=DataOptions.model_fields)
    if how := getattr(getattr(module, "FILES", None), "how", ""):
        yield f"By hand: {how}"
    yield f"```yaml\ndata: {written(example_of(name))}\n```"


def _table_of_data(module: Any) -> str:
    rows = [("source", module.INFO.source), ("licence", module.INFO.licence)]
    if module.INFO.size:
        rows[:0] = _sizes(module.INFO.size)
    return table(["", ""], ([key, value] for key, value in rows))


def _sizes(size: DatasetSize) -> list[tuple[str, str]]:
    names = ", ".join(f"`{name}`" for name in size.class_names[:12])
    more = ", ..." if size.num_classes > 12 else ""
    return [
        ("classes", f"{size.num_classes}: {names}{more}"),
        ("train, test", f"{size.num_train:,}, {size.num_examples - size.num_train:,}"),
        ("images", " x ".join(map(str, size.shape))),
    ]


# Of what is required, where it is not any path.
REQUIRED_VALUES = {("arrays", "path"): "my-images.npz", ("torchvision", "dataset"): "CIFAR10"}


def example_of(name: str) -> dict[str, Any]:
    """Return the smallest block that names a data set: what is required, and nothing else."""
    fields = DATA.load(name).Options.model_fields
    required = [key for key, info in fields.items() if default_of(info) == REQUIRED]
    return {"name": name} | {
        key: REQUIRED_VALUES.get((name, key), f"my-{name}") for key in required
    }


# Models.


def models() -> str:
    files = {MODEL.own[name]: None for name in MODEL.names()}
    return "\n".join(section(file, _model(file)) for file in files)


def sizes_of_models() -> str:
    head = ["model", "features", "numbers", *("x".join(map(str, s)) for s in SHAPES)]
    rows = []
    for name in MODEL.names():
        facts = [facts_of(name, shape) for shape in SHAPES]
        work = [f"{fact.multiply_adds / 1e6:,.2f}" for fact in facts]
        weights = facts[-1].bytes(10) // 4
        link = f"[`{name}`](#{MODEL.own[name]})"
        rows.append([link, str(facts[0].features), f"{weights:,}", *work])
    return table(head, rows)


def _model(file: str) -> Iterator[str]:
    tree = ast.parse((Path(MODEL.paths[0]) / f"{file}.py").read_text())
    yield from paragraphs(ast.get_docstring(tree))
    names = [name for name in MODEL.names() if MODEL.own[name] == file]
    yield f"Names: {', '.join(f'`{name}`' for name in names)}."
    yield f"```yaml\nmodel: {names[-1]}\n```"


# Findings.


def findings() -> str:
    return page(in_order(), _finding)


def in_order() -> list[str]:
    """Return the findings in the order in which the page has them."""
    return sorted(FINDING.names(), key=lambda name: (order_of(name), name))


def order_of(name: str) -> int:
    return int(getattr(FINDING.load(name), "ORDER", 1000))


def _finding(name: str) -> Iterator[str]:
    module = FINDING.load(name)
    question, *more = paragraphs(module.__doc__)
    yield f"**{question}**"
    yield from more
    yield _facts_of_finding(name)
    if metrics := getattr(module, "METRICS", {}):
        rows = (
            [f"`{key}`", m.label, m.unit, m.ideal or "", m.description]
            for key, m in metrics.items()
        )
        yield table(["metric", "label", "unit", "best", "meaning"], rows)


def _facts_of_finding(name: str) -> str:
    module = FINDING.load(name)
    parts = [part for part in PARTS if FINDING.module(name, part) in FINDING.parts(part)]
    facts = [f"Has: {', '.join(parts)}."] if parts else []
    if after := getattr(module, "AFTER", ()):
        facts.append(f"Reads: {', '.join(f'[{other}](#{other})' for other in after)}.")
    if getattr(module, "NEEDS", "") == "retrain":
        facts.append("Needs Retrain.")
    return in_cell(" ".join(facts))
