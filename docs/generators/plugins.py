"""Sections of docs/methods.md and data-sets.md, made from docstrings and schemas."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill
from typing import Any

from collateral.contract.data import DataOptions, DatasetSize
from collateral.contract.params import TrainedParams, WarmedParams
from collateral.models._metadata import find_metadata
from collateral.plugins.find import (
    CONTROL,
    DATA,
    METHOD,
    MODEL,
    method_kind,
    params_class,
)
from generators.tables import (
    REQUIRED,
    Key,
    default_of,
    list_of,
    rows_of,
    table,
    written,
)

ROOT = Path(__file__).resolve().parents[2]
FORMULA = "Formula: "  # First word of the last paragraph in the docstring of `Params`.
OF_THE_METHOD = "the method's"  # Shown as default where every method has its own.
WIDTH = 90  # Characters per line of a formula.
EVERYTHING = ("forget images", "forget labels", "retain")  # Data that a method may use.
SHAPE = (32, 32, 3)


def section(name: str, parts: Iterator[str]) -> str:
    """Return a Markdown section of the non-empty paragraphs."""
    return "\n\n".join([f"## {name}", *filter(None, (part.rstrip() for part in parts))]) + "\n"


def page(names: list[str], parts: Any) -> str:
    """Return one section per name; `parts(name)` yields its paragraphs."""
    return "\n".join(section(name, parts(name)) for name in names)


def _source_and_deed(name: str) -> tuple[str, str]:
    """Return the citation and the description in the first sentence of a method's docstring."""
    sentence = paragraphs(params_class(name).__doc__)[0].rstrip(".")
    source, is_parted, deed = sentence.partition("): ")
    return (f"{source})", deed) if is_parted else (sentence, sentence.partition(" (")[0])


def paragraphs(text: str | None) -> list[str]:
    """Return the paragraphs of a docstring, one line each, with asterisks escaped."""
    found = (" ".join(part.split()) for part in inspect.cleandoc(text or "").split("\n\n"))
    return [part.replace("*", "\\*") for part in found if part]


# Methods and controls.


def methods() -> str:
    """Return the sections of all methods."""
    return page(METHOD.names(), _method)


def table_of_controls() -> str:
    """Return a table with one row per control: what it is, how it is made, and its formula."""
    head = ["name", "what it is", "formula", "made by"]
    return table(head, ([f"`{name}`", *_control(name)] for name in CONTROL.names()))


def _control(name: str) -> Iterator[str]:
    yield paragraphs(params_class(name).__doc__)[0]
    yield f"`{formula_of(name)}`"
    yield f"`{params_class(name).made_by or 'controls'}`"


def formula_of(name: str) -> str:
    """Return the formula in the docstring of a method's parameters."""
    said = [part for part in paragraphs(params_class(name).__doc__) if part.startswith(FORMULA)]
    return said[-1].removeprefix(FORMULA).rstrip(".").replace("\\*", "*") if said else ""


def _method(name: str) -> Iterator[str]:
    about = [p for p in paragraphs(params_class(name).__doc__) if not p.startswith(FORMULA)]
    source, deed = _source_and_deed(name)
    touched = sorted(params_class(name).touches)
    data = "" if len(touched) == len(EVERYTHING) else f" *Reads {', '.join(touched)}.*"
    yield f"**{source}:** {deed}.{data}"
    yield from about[1:]
    yield f"```text\n{fill(formula_of(name), WIDTH, break_on_hyphens=False)}\n```"
    yield from (f"*As implemented.* {part}" for part in _notes(name))
    yield " ".join(_facts_of_method(name))


def _facts_of_method(name: str) -> Iterator[str]:
    if "Skipped where" not in str(params_class(name).__doc__):
        yield from (f"Skipped where: {reason}." for reason in skipped(name))
    keys = [f"{row.key.strip('`')}: {row.default.strip('`')}" for row in _of_the_method(name)]
    yield f"Defaults: `{', '.join(keys)}`."


def _of_the_method(name: str) -> Iterator[Key]:
    """Yield the keys that methods do not share, and shared ones with another default."""
    shared = {row.key: row.default for row in rows_of(WarmedParams)}
    is_trained = issubclass(params_class(name), TrainedParams)
    for row in rows_of(params_class(name)):
        if not is_trained or shared.get(row.key) != row.default:
            yield row


# Keys of methods; keys that all methods share have one table of their own.


def shared_keys() -> str:
    """Return the table of the keys that all methods with training steps share."""
    rows = []
    for field, row in zip(WarmedParams.model_fields, rows_of(WarmedParams), strict=True):
        who = [f"`{n}`" for n in METHOD.names() if field in params_class(n).model_fields]
        only = "" if field in TrainedParams.model_fields else f" Of {', '.join(who)}."
        default = OF_THE_METHOD if row.default == REQUIRED else row.default
        rows.append(row._replace(default=default, what=row.what + only))
    return list_of(rows)


def _folder(name: str) -> Path:
    kind = method_kind(name)
    return Path(kind.paths[0]) / name


def _notes(name: str) -> list[str]:
    """Return the docstring of method.py after its first line: deviations from public code."""
    file = _folder(name) / "method.py"
    if not file.exists():
        return []
    return paragraphs(ast.get_docstring(ast.parse(file.read_text())))[1:]


def skipped(name: str) -> list[str]:
    """Return the messages with which a method raises Skipped."""
    trees = [ast.parse(file.read_text()) for file in sorted(_folder(name).glob("*.py"))]
    calls = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [
        str(ast.literal_eval(call.args[0]))
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id == "Skipped"
    ]


# Data sets.


def data_sets() -> str:
    """Return the sections of all data sets."""
    return page(DATA.names(), _data_set)


def table_of_data() -> str:
    """Return a table with one row per data set: size, source and licence."""
    head = ["name", "train, test", "images", "classes", "source", "licence"]
    return table(head, map(_line_of_data, DATA.names()))


def _line_of_data(name: str) -> list[str]:
    info = DATA.load(name).INFO
    sizes = _sizes(info.size) if info.size else ["", "", ""]
    return [f"[{name}](#{name})", *sizes, info.source, info.licence]


def _sizes(size: DatasetSize) -> list[str]:
    return [
        f"{size.num_train:,}, {size.num_examples - size.num_train:,}",
        "x".join(map(str, size.shape)),
        f"{size.num_classes}: `{size.class_names[0]}` to `{size.class_names[-1]}`",
    ]


def _options_of(name: str) -> Iterator[str]:
    """Yield the options of a data set with their defaults, without those that all have."""
    for row in rows_of(DATA.load(name).Options):
        key = row.key.strip("`")
        if key not in DataOptions.model_fields:
            yield f"{key}: {row.default.strip('`')}"


def _data_set(name: str) -> Iterator[str]:
    module = DATA.load(name)
    yield from paragraphs(module.__doc__)
    if own := ", ".join(_options_of(name)):
        yield f"Options: `{own}`."
    if how := getattr(module, "HOW", None):
        root = written(module.Options.model_fields["root"].default)
        yield f"By hand, into `root:` (`{root}/`): {how}"
    yield f"```yaml\ndata: {written(example_of(name))}\n```"


# Example values of required options that are not an arbitrary path.
REQUIRED_VALUES = {("arrays", "path"): "my-images.npz", ("torchvision", "dataset"): "CIFAR10"}


def example_of(name: str) -> dict[str, Any]:
    """Return the smallest valid `data` block of a data set: its name and required options."""
    fields = DATA.load(name).Options.model_fields
    required = [key for key, info in fields.items() if default_of(info) == REQUIRED]
    return {"name": name} | {
        key: REQUIRED_VALUES.get((name, key), f"my-{name}") for key in required
    }


# Models.


def models() -> str:
    """Return a table of the features, weights and docstrings of all models."""
    files = {MODEL.own[name]: None for name in MODEL.names()}
    return table(["model", "features", "numbers", "what it is"], map(_model, files))


def _model(file: str) -> list[str]:
    names = [name for name in MODEL.names() if MODEL.own[name] == file]
    facts = [find_metadata(name, SHAPE) for name in names]
    tree = ast.parse((Path(MODEL.paths[0]) / f"{file}.py").read_text())
    numbers = ", ".join(f"{one.bytes(10) // 4:,}" for one in facts)
    about = " ".join(paragraphs(ast.get_docstring(tree)))
    return [", ".join(f"`{name}`" for name in names), str(facts[0].features), numbers, about]
