"""List methods, data sets, models, findings or metrics, with their parameters; also plug-ins."""

import ast
import builtins
import csv
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel

from collateral.contract.messages import did_you_mean, listed, quoted
from collateral.contract.params import Between
from collateral.contract.terminal import fill_paragraphs, hang
from collateral.findings.metric_index import find_metric, is_interval_end, is_known, known_metrics
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


@dataclass(frozen=True)
class Listed:
    """A kind of things that the command lists; the functions take a name."""

    names: Callable[[], Sequence[str]]
    has: Callable[[str], bool]  # whether a name is known; `names` may leave some names out
    sentence: Callable[[str], str]  # one sentence, for the list of all names
    paragraphs: Callable[[str], Iterator[str]]  # everything else that is known
    no_such: Callable[[str], str]  # error message for an unknown name
    source: Callable[[str], str]  # file of a user's plug-in; empty if it is shipped
    note: str = ""  # sentence below the list of all names

    def in_short(self) -> Iterator[str]:
        """Yield an entry per name: the name, a sentence, and the file of a plug-in."""
        names = self.names()
        width = max(map(len, names), default=0)
        for name in names:
            parts = (self.sentence(name).removesuffix("."), self.source(name))
            yield hang(f"{name:{width}}  ", "; ".join(filter(None, parts)))

    def in_full(self, name: str) -> Iterator[str]:
        """Yield the full description of a plug-in, line by line."""
        if not self.has(name):
            raise ValueError(self.no_such(name))
        yield ", ".join(filter(None, (name, self.source(name))))
        yield from self.paragraphs(name)


def _list_plug_ins(
    kind: Kind, sentence: Callable[[str], str], paragraphs: Callable[[str], Iterator[str]]
) -> Listed:
    def source(name: str) -> str:
        file = kind.file(name)
        return "" if is_shipped(file) else f"from {file}"

    return Listed(kind.names, kind.has, sentence, paragraphs, kind.no_such, source)


def _first_paragraph(text: str | None) -> str:
    return " ".join(inspect.cleandoc(text or "").split("\n\n")[0].split())


# Methods and controls.

PREPARE = (
    "[prepare]: read by the first phase of the method, whose result all runs with the same values "
    "of these parameters share."
)
SPOKEN = {"retain": "retained examples"}  # entries of `touches` that are no words


def _summarise_method(name: str) -> str:
    params = plugins.params_class(name)
    return f"{_first_paragraph(params.__doc__).removesuffix('.')}; {_describe_data(params)}"


def _describe_data(params: Any) -> str:
    read = (SPOKEN.get(one, one) for one in sorted(params.touches))
    return f"reads: {', '.join(read) or 'nothing'}"


def _method(name: str) -> Iterator[str]:
    params, prepare = plugins.params_class(name), plugins.prepare_class(name)
    yield fill_paragraphs(f"{params.label}; {_describe_data(params)}", "  ")
    yield ""
    yield fill_paragraphs(inspect.getdoc(params) or "", "  ")
    yield ""
    for source, values in params.published.items():
        yield hang("  ", f"published, {source}: {format_values(values)}", 4)
    for one in find_tuned(name):
        where = f"{one.config}, {one.cell}, {one.run} (Retrain's UA {one.retrain_ua} %)"
        text = f"tried, {where}: defaults, {one.default}; nearest of the config's, {one.nearest}"
        yield hang("  ", text, 4)
    if params.model_fields:
        yield "\n  Parameters:"
    yield from _parameters(params, prepare)
    if prepare and prepare.model_fields:
        yield hang("  ", PREPARE)


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


def _parameters(model: type[BaseModel], prepare: type[BaseModel] | None = None) -> Iterator[str]:
    first_phase = prepare.model_fields if prepare else {}
    for field, info in model.model_fields.items():
        mark = " [prepare]" if field in first_phase else ""
        default = "(required)" if info.is_required() else _format_default(info.default)
        head = f"{info.alias or field} = {default}{mark}:"
        yield hang("    ", f"{head} {info.description}", 8)


def _format_default(value: Any) -> str:
    """Return a default as it is written in a config."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return str([*value]) if isinstance(value, tuple) else str(value)


# Data sets, kinds of forget sets, models and findings.


def _summarise_module(kind: Kind, name: str) -> str:
    return _first_paragraph(kind.load(name).__doc__)


def _declared(kind: Kind, name: str) -> Iterator[str]:
    """Yield lines on a data set or a kind of forget set: description, source, licence, options."""
    module = kind.load(name)
    yield fill_paragraphs(inspect.getdoc(module) or "", "  ")
    if info := getattr(module, "INFO", None):
        yield hang("  ", f"source: {info.source}; licence: {info.licence}", 4)
    yield from _parameters(module.Options if kind is DATA else module.Params)


def _model_text(name: str) -> str:
    # The file is parsed and not imported, because the import needs torch.
    return ast.get_docstring(ast.parse(MODEL.file(name).read_bytes())) or ""


def _model(name: str) -> Iterator[str]:
    yield fill_paragraphs(_model_text(name), "  ")


def _finding(name: str) -> Iterator[str]:
    module = FINDING.load(name)
    yield fill_paragraphs(inspect.getdoc(module) or "", "  ")
    parts = [part for part in plugins.PARTS if FINDING.module(name, part) in FINDING.parts(part)]
    yield f"  has: {', '.join(parts)}"
    for key in getattr(module, "METRICS", {}):
        yield hang("    ", f"{key}, {_summarise_metric(key)}", 8)


# Metrics, which findings declare.


def _summarise_metric(name: str) -> str:
    metric = find_metric(name)
    unit = f" ({metric.unit})" if metric.unit else ""
    return f"{metric.label}{unit}: {metric.describe()}"


def _list_metrics() -> Sequence[str]:
    """Return the names of all metrics, without the ends of their intervals."""
    return [name for name in known_metrics() if not is_interval_end(name)]


def _metric(name: str) -> Iterator[str]:
    metric = find_metric(name)
    yield fill_paragraphs(_summarise_metric(name), "  ")
    yield f"  finding: {known_metrics()[name]}"
    yield f"  file: {'costs.csv' if metric.is_cost else 'metrics.csv'}"
    if metric.ideal:
        yield f"  best: {'near Retrain' if metric.ideal == 'retrain' else metric.ideal}"
    if ends := [end for end in known_metrics() if is_interval_end(end, name)]:
        yield hang("  ", f"ends of its intervals: {', '.join(ends)}", 4)


KINDS: dict[str, Listed] = {
    "methods": _list_plug_ins(METHOD, _summarise_method, _method),
    "controls": _list_plug_ins(CONTROL, _summarise_method, _method),
    "data": _list_plug_ins(DATA, partial(_summarise_module, DATA), partial(_declared, DATA)),
    "forget": _list_plug_ins(
        FORGET, partial(_summarise_module, FORGET), partial(_declared, FORGET)
    ),
    "models": _list_plug_ins(MODEL, lambda name: _first_paragraph(_model_text(name)), _model),
    "findings": _list_plug_ins(FINDING, partial(_summarise_module, FINDING), _finding),
    "metrics": Listed(
        _list_metrics,
        is_known,
        _summarise_metric,
        _metric,
        lambda name: _no_such("metric", name, _list_metrics()),
        lambda name: "",
        "A metric with an interval also has the metrics NAME_low and NAME_high.",
    ),
}


def _no_such(what: str, word: str, known: Iterable[str]) -> str:
    """Return the message on an unknown name: the nearest one, or all known ones in short lines."""
    known = [*known]
    hint = did_you_mean(word, known) or f";\n{hang('  ', listed('known', known), 4)}"
    return f"no {what} {quoted(word)}{hint}"


def list(
    kind: Annotated[
        str | None,
        f"{', '.join(KINDS)}; the names of all of them but metrics if left out",
        {"metavar": "KIND"},
    ] = None,
    name: Annotated[
        Sequence[str],
        "everything about these; a sentence on each of the kind if left out",
        {"metavar": "NAME"},
    ] = (),
) -> None:
    """Print the names of all methods, data sets, models and so on.

    With `kind`, print a sentence on each entry of this kind; with `name`, everything about the
    named entries.
    """
    if kind is None:
        for plural, one in KINDS.items():
            names = one.names()
            print(
                hang(f"{plural}: ", f"{len(names)}" if plural == "metrics" else ", ".join(names), 4)
            )
        print("\nA sentence on each: collateral list KIND, such as collateral list methods")
        return
    if kind not in KINDS:
        raise ValueError(_no_such("list of", kind, KINDS))
    chosen = KINDS[kind]
    if name:
        print("\n\n".join("\n".join(chosen.in_full(one)) for one in name))
        return
    print(*chosen.in_short(), sep="\n")
    print(*filter(None, ("", chosen.note)), sep="\n", end="\n" if chosen.note else "")
    print(f"\nEverything about one: collateral list {kind} NAME")
