"""List methods, data sets, models or findings, plug-ins included, with their parameters."""

import ast
import builtins
import csv
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib.util import find_spec
from itertools import groupby, islice
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel

from collateral.contract.params import Between
from collateral.plugins import find as plugins
from collateral.plugins.find import CONTROL, DATA, FINDING, FORGET, METHOD, MODEL, Kind
from collateral.plugins.modules import is_shipped

FILE = Path(__file__).with_name("tuning.csv")  # file written by docs/make_tuning.py
# Columns of tuning.csv: metrics with their printed labels, and columns that identify a run.
SHOWN = {"ua": "UA", "ra": "RA", "ra_affected": "affected RA"}
ABOUT = ("config", "cell", "retrain_ua", "method", "run")
COLUMNS = (*ABOUT, "which", "values", *SHOWN, "gap")


class TunedRun(NamedTuple):
    """A tuned method in a cell: the trial with default values, and the trial nearest to Retrain."""

    config: str
    cell: str
    retrain_ua: str
    run: str
    default: str
    nearest: str


@cache
def find_tuned(method: str) -> Sequence[TunedRun]:
    """Return the tuned runs of a method; the list may be empty."""
    with FILE.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["method"] == method]
    runs = []
    for about, trials in groupby(rows, lambda row: [row[key] for key in ABOUT]):
        config, cell, retrain_ua, _, run = about
        by_which = {"default": "not tried"} | {row["which"]: _in_words(row) for row in trials}
        shown = by_which["default"], by_which["nearest"]
        runs.append(TunedRun(config, cell, _points(retrain_ua), run, *shown))
    return runs


def _in_words(row: dict[str, str]) -> str:
    numbers = ", ".join(f"{word} {_points(row[name])}" for name, word in SHOWN.items())
    return f"{row['values']}: {numbers}, gap {100 * float(row['gap']):.1f}"


def _points(share: str) -> str:
    return f"{100 * float(share):.0f}" if share not in ("", "nan") else "–"


def listing(kind: Kind, name: str, facts: Callable[[str], Iterator[str]]) -> str:
    """Return a text on one method, metric or other part: description, parameters, own file."""
    file = _file(kind, name)
    head = name if is_shipped(file) else f"{name}, from {file}"
    return "\n".join([head, *(f"  {line}".rstrip() for line in facts(name))])


def short_listing(kind: Kind, facts: Callable[[str], Iterator[str]]) -> Iterator[str]:
    """Yield one line per entry: name, description, data that a method uses, file of a plug-in."""
    width = max(map(len, kind.names()), default=0)
    for name in kind.names():
        lines = islice(facts(name), 2)
        touched = next(lines).partition("; ")[2] if facts is _method else ""
        place = "" if is_shipped(file := _file(kind, name)) else f"from {file}"
        parts = (next(lines, "").removesuffix("."), touched, place)
        yield f"{name:{width}}  {'; '.join(filter(None, parts))}"


def _file(kind: Kind, name: str) -> Path:
    part = kind.pattern.partition("/")[2].removesuffix(".py").replace("__init__", "")
    spec = find_spec(kind.module(name, part))
    assert spec is not None and spec.origin is not None
    return Path(spec.origin)


def _method(name: str) -> Iterator[str]:
    params, prepare = plugins.params_class(name), plugins.prepare_class(name)
    yield f"{params.label}; touches: {', '.join(sorted(params.touches)) or 'nothing'}"
    yield from (inspect.getdoc(params) or "").splitlines()
    for source, values in params.published.items():
        yield f"published, {source}: {format_values(values)}"
    for one in find_tuned(name):
        where = f"{one.config}, {one.cell}, {one.run} (Retrain's UA {one.retrain_ua} %)"
        yield f"tried, {where}: defaults, {one.default}; nearest of the config's, {one.nearest}"
    yield from _parameters(params, prepare)


def format_values(values: Mapping[str, Any]) -> str:
    """Return parameters and their published values as text."""
    return ", ".join(f"{name} {_format_value(value)}" for name, value in values.items())


def _format_value(value: Any) -> str:
    if isinstance(value, Between):
        return f"{_format_value(value.low)} to {_format_value(value.high)}"
    if isinstance(value, Mapping):
        return f"({format_values(value)})"
    if value is None:
        return "null"
    if isinstance(value, builtins.list):
        return " or ".join(map(_format_value, value))
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}".replace("e-0", "e-") if isinstance(value, int | float) else str(value)


def _declared(kind: Kind, name: str) -> Iterator[str]:
    """Yield lines on a data set or a kind of forget set: description, source, licence, options."""
    module = kind.load(name)
    yield from (inspect.getdoc(module) or "").splitlines()
    if info := getattr(module, "INFO", None):
        yield f"source: {info.source}; licence: {info.licence}"
    yield from _parameters(module.Options if kind is DATA else module.Params)


def _model(name: str) -> Iterator[str]:
    # The file is parsed and not imported, because the import needs torch.
    tree = ast.parse(_file(MODEL, name).read_bytes())
    yield from (ast.get_docstring(tree) or "").splitlines()


def _finding(name: str) -> Iterator[str]:
    module = FINDING.load(name)
    yield from (inspect.getdoc(module) or "").splitlines()
    parts = [part for part in plugins.PARTS if FINDING.module(name, part) in FINDING.parts(part)]
    yield f"has: {', '.join(parts)}"
    for key, metric in getattr(module, "METRICS", {}).items():
        unit = f" ({metric.unit})" if metric.unit else ""
        yield f"  {key}, {metric.label}{unit}: {metric.describe()}"


def _parameters(model: type[BaseModel], prepare: type[BaseModel] | None = None) -> Iterator[str]:
    first_phase = prepare.model_fields if prepare else {}
    for field, info in model.model_fields.items():
        mark = " [prepare]" if field in first_phase else ""
        default = "(required)" if info.is_required() else info.default
        yield f"  {info.alias or field} = {default}{mark}: {info.description}"


KINDS: dict[str, tuple[Kind, Callable[[str], Iterator[str]]]] = {
    "methods": (METHOD, _method),
    "controls": (CONTROL, _method),
    "data": (DATA, partial(_declared, DATA)),
    "forget": (FORGET, partial(_declared, FORGET)),
    "models": (MODEL, _model),
    "findings": (FINDING, _finding),
}


def list(
    kind: Annotated[str | None, "the names of all kinds if left out", {"choices": KINDS}] = None,
    name: Annotated[Sequence[str], "all about these; one line per entry if none is given"] = (),
) -> None:
    """Print the names of all methods, data sets, models and so on.

    With `kind`, print one line per entry of this kind; with `name`, all about the named entries.
    """
    if kind is None:
        for plural, (one, _) in KINDS.items():
            print(f"{plural}: {', '.join(one.names())}")
        print(f"\nOne line per entry: collateral list KIND; KIND is {' or '.join(KINDS)}")
        return
    its_kind, facts = KINDS[kind]
    if name:
        print("\n\n".join(listing(its_kind, one, facts) for one in name))
        return
    print(*short_listing(its_kind, facts), sep="\n")
    print(f"\nAll about one: collateral list {kind} NAME")
