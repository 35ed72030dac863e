"""Sections of docs/methods.md and data-sets.md, made from docstrings and schemas."""

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from textwrap import fill
from typing import Any

from collateral.config.yaml import read_file
from collateral.contract.data import DataOptions, DatasetSize
from collateral.contract.params import TrainedParams, TrainingParams, WarmedParams
from collateral.models._metadata import find_metadata
from collateral.plugins.find import (
    CONTROL,
    DATA,
    METHOD,
    MODEL,
    method_kind,
    params_class,
    prepare_class,
)
from generators.tables import (
    REQUIRED,
    Key,
    default_of,
    list_of,
    owners,
    rows_of,
    table,
    without_source,
    written,
)

ROOT = Path(__file__).resolve().parents[2]
FORMULA = "Formula: "  # First word of the last paragraph in the docstring of `Params`.
OF_THE_METHOD = "the method's"  # Shown as default where every method has its own.
WIDTH = 90  # Characters per line of a formula.
EVERYTHING = ("forget images", "forget labels", "retain")  # Data that a method may use.
EXAMPLES = (("config.yaml", "digits_resnet"), ("configs/field.yaml", "field"))
SHAPE = (32, 32, 3)


def section(name: str, parts: Iterator[str]) -> str:
    """Return a Markdown section of the non-empty paragraphs."""
    return "\n\n".join([f"## {name}", *filter(None, (part.rstrip() for part in parts))]) + "\n"


def page(names: list[str], parts: Any) -> str:
    """Return one section per name; `parts(name)` yields its paragraphs."""
    return "\n".join(section(name, parts(name)) for name in names)


def contents(names: list[str]) -> str:
    """Return a line of links to the sections."""
    return ", ".join(f"[{name}](#{name})" for name in names) + "\n"


def table_of_methods() -> str:
    """Return a table with one row per method: its first sentence and the data that it uses."""
    rows = []
    for name in METHOD.names() + CONTROL.names():
        touched = sorted(params_class(name).touches)
        all_of_it = len(touched) == len(EVERYTHING)
        said = "all" if all_of_it else ", ".join(touched) or "nothing"
        rows.append([f"[{name}](#{name})", _source_and_deed(name)[1], said])
    return table(["name", "what it does", "touches"], rows)


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
    """Return the sections of all methods and controls."""
    return page(METHOD.names() + CONTROL.names(), _method)


def formula_of(name: str) -> str:
    """Return the formula in the docstring of a method's parameters."""
    said = [part for part in paragraphs(params_class(name).__doc__) if part.startswith(FORMULA)]
    return said[-1].removeprefix(FORMULA).rstrip(".").replace("\\*", "*") if said else ""


def _method(name: str) -> Iterator[str]:
    about = [p for p in paragraphs(params_class(name).__doc__) if not p.startswith(FORMULA)]
    yield f"**{_source_and_deed(name)[0]}.**"
    yield from about[1:]
    yield f"```text\n{fill(formula_of(name), WIDTH, break_on_hyphens=False)}\n```"
    yield from (f"*As implemented.* {part}" for part in _notes(name))
    yield " ".join(_facts_of_method(name))
    yield _own_keys(name)
    yield _configured(name)


def _facts_of_method(name: str) -> Iterator[str]:
    params, prepare = params_class(name), prepare_class(name)
    if params.needs_retrain:
        yield "Given Retrain's soft labels."
    if params.inherits:
        listed = ", ".join(f"`{field}`" for field in params.model_fields)
        yield f"Takes from `{params.inherits}`: {listed}."
    if "Skipped where" not in str(params.__doc__):
        yield from (f"Skipped where: {reason}." for reason in skipped(name))
    if changed := [f"{key}: {value}" for key, value in _changed(name)]:
        yield f"[Shared](#shared-keys): `{', '.join(changed)}`."
    for row in _epochs(name):
        yield f"`epochs: {row.default.strip('`')}`: {row.what[0].lower()}{row.what[1:]}"
    if prepare and prepare.model_fields:
        read = [f"`{field}`" for field in prepare.model_fields]
        assert [row.key for row in _own(name)][: len(read)] == read, name
        several = f"the keys of this list down to {read[-1]}"
        yield f"`prepare` reads {read[0] if len(read) == 1 else several}."


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


def _own(name: str) -> list[Key]:
    """Return the rows of the keys that are specific to a method."""
    params = params_class(name)
    rows = [row for row in rows_of(params, params.published) if row not in _epochs(name)]
    if issubclass(params, TrainingParams):  # the keys of `base` are listed in docs/config.md
        rows = [row for row in rows if row not in rows_of(TrainingParams)]
    return [row for row in rows if not (issubclass(params, TrainedParams) and _is_shared(row))]


def _epochs(name: str) -> list[Key]:
    """Return the row of the key `epochs`, or no row if the method has no such key."""
    params = params_class(name)
    rows = () if params.inherits else rows_of(params, params.published)
    return [row for row in rows if row.key == "`epochs`"]


@cache
def _shared() -> dict[str, Key]:
    return {row.key: row for row in rows_of(WarmedParams)}


def _is_shared(row: Key) -> bool:
    said = {key: without_source(shared.what, {}, {}) for key, shared in _shared().items()}
    return row.key in said and without_source(row.what, {}, {}) in ("", said[row.key])


def _changed(name: str) -> Iterator[tuple[str, str]]:
    """Yield the shared keys whose default differs for this method, with that default."""
    params = params_class(name)
    shared = {key: row.default for key, row in _shared().items()}
    own = {row.key for row in _own(name)}
    for row in rows_of(params) if issubclass(params, TrainedParams) and not params.inherits else ():
        if row.key in shared.keys() - own and shared[row.key] != row.default:
            yield row.key.strip("`"), row.default.strip("`")


def _own_keys(name: str) -> str:
    if params_class(name).inherits:
        return ""
    if issubclass(params_class(name), TrainingParams):
        listed = list_of(_own(name)) if _own(name) else ""
        return f"{listed}\n\nAnd the training keys of [`base`](config.md#base).".strip()
    if rows := _own(name):
        return list_of(rows)
    return "" if params_class(name).model_fields else "No parameters."


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


def _configured(name: str) -> str:
    for file, benchmark in EXAMPLES:
        entry = read_file(ROOT / file)["benchmarks"][benchmark]
        if name in entry["methods"]:
            line = f"{{{name}: {written(entry['methods'][name])}}}"
            return f"```yaml\nmethods: {line} # {file}\n```"
    if key := params_class(name).made_by:
        made = "seeds: [0, 1, 2]\ntrust: {references: 1}"
        return f"Made by the key [`{key}`](config.md#{key}) alone.\n\n```yaml\n{made}\n```"
    return f"```yaml\ncontrols: [{name}]\n```"


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


def shared_options() -> str:
    """Return the table of the options that several data sets share."""
    of = _of_several()
    return list_of(list(of), of)


@cache
def _of_several() -> dict[Key, str]:
    """Return the options that several data sets share, with the names of these data sets."""
    of = owners((name, row) for name in DATA.names() for row in _options_of(name))
    return {row: who for row, who in of.items() if ", " in who}


def _options_of(name: str) -> Iterator[Key]:
    """Yield the options of a data set without those that every data set has."""
    general = {f"`{field}`" for field in DataOptions.model_fields}
    return (row for row in rows_of(DATA.load(name).Options) if row.key not in general)


def _data_set(name: str) -> Iterator[str]:
    module = DATA.load(name)
    yield from paragraphs(module.__doc__)
    if own := [row for row in _options_of(name) if row not in _of_several()]:
        yield list_of(own)
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
    """Return the sections of all model files."""
    files = {MODEL.own[name]: None for name in MODEL.names()}
    return "\n".join(section(file, _model(file)) for file in files)


def sizes_of_models() -> str:
    """Return a table of features and weights of every model."""
    rows = []
    for name in MODEL.names():
        facts = find_metadata(name, SHAPE)
        link = f"[`{name}`](#{MODEL.own[name]})"
        rows.append([link, str(facts.features), f"{facts.bytes(10) // 4:,}"])
    return table(["model", "features", "numbers"], rows)


def _model(file: str) -> Iterator[str]:
    tree = ast.parse((Path(MODEL.paths[0]) / f"{file}.py").read_text())
    yield from paragraphs(ast.get_docstring(tree))
    names = [name for name in MODEL.names() if MODEL.own[name] == file]
    yield f"Names: {', '.join(f'`{name}`' for name in names)}."
    yield f"```yaml\nmodel: {names[-1]}\n```"
