"""Plug-ins that a config uses, before anything is asked of them: can they be imported at all?"""

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from collateral.config.schema import BenchmarkConfig, Config
from collateral.contract.metrics import Metric
from collateral.contract.params import TOUCHABLE
from collateral.contract.plugins import DATA, FINDING, FORGET, METHOD, Kind, PluginError
from collateral.contract.spelling import nearest, shown

# What the file that the Snakefile imports must have; of a method: its params.py.
MEMBERS = {
    METHOD: ("Params",),
    DATA: ("INFO", "Options", "load"),
    FORGET: ("Params", "select", "count", "chosen"),
    FINDING: (),
}
OF_METHODS = ("label", "touches")


def plugged_errors(config: Config) -> Iterator[str]:
    """Yield what is wrong with plug-ins that the config names, and with findings, all of them."""
    used = [item for benchmark in config.benchmarks.values() for item in _used(benchmark)]
    for kind, name in dict.fromkeys([*used, *((FINDING, name) for name in FINDING.names())]):
        if kind.is_plugged_in(name):
            yield from _errors(kind, name)
    if any(map(FINDING.is_plugged_in, FINDING.names())):
        yield from _clashes()


def _used(benchmark: BenchmarkConfig) -> Iterator[tuple[Kind, str]]:
    """Yield what a benchmark names; whether it is there is not asked yet."""
    yield DATA, str(benchmark.data.get("name"))
    for cell in benchmark.cells.values():
        yield FORGET, str(cell.forget.get("kind"))
    for name, raw in benchmark.methods.items():
        yield METHOD, str(raw.get("uses", name))


def _errors(kind: Kind, name: str) -> Iterator[str]:
    try:
        module = kind.load(name, "params" if kind is METHOD else "")
    except PluginError as error:
        yield str(error)
        return
    lacking = [*_lacking(kind, module)]
    for member in lacking:
        yield f"plugins: '{_file(module)}': has no {member}, which every {kind.what} has"
    if kind is METHOD and not lacking:
        for wrong in _touched_wrongly(module.Params.touches):
            yield f"plugins: '{_file(module)}': Params.touches: {wrong}"
    if kind is FINDING and not _are_metrics(getattr(module, "METRICS", {})):
        yield f"plugins: '{_file(module)}': METRICS: should be a dictionary of Metric by name"


def _clashes() -> Iterator[str]:
    """Yield the metrics of plugged-in findings whose names other findings have already."""
    known: dict[str, str] = {}
    for finding in FINDING.names():
        for metric in _metrics(finding):
            if other := known.get(metric):
                where = f"'{_file(FINDING.load(finding))}': METRICS: {shown(metric)}"
                yield f"plugins: {where}: the finding {other} has a metric of this name; rename it"
            known.setdefault(metric, finding)


def _metrics(finding: str) -> list[str]:
    """Return the names of a finding's metrics; none where something else is wrong with it."""
    try:
        metrics = getattr(FINDING.load(finding), "METRICS", {})
    except PluginError:
        return []
    return list(metrics) if _are_metrics(metrics) else []


def _are_metrics(value: Any) -> bool:
    """Tell whether this is a dictionary of Metric by name."""
    is_dictionary = isinstance(value, dict)
    return is_dictionary and all(isinstance(one, Metric) for one in value.values())


def _lacking(kind: Kind, module: ModuleType) -> Iterator[str]:
    missing = [member for member in MEMBERS[kind] if not hasattr(module, member)]
    yield from missing
    if kind is METHOD and not missing:
        yield from (f"Params.{name}" for name in OF_METHODS if not hasattr(module.Params, name))


def _touched_wrongly(touches: Any) -> Iterator[str]:
    """Yield what is wrong with what a method says that it touches."""
    allowed = f"allowed: {', '.join(TOUCHABLE)}"
    if not isinstance(touches, frozenset | set):
        yield f"{shown(touches)}: should be a frozenset of names; {allowed}"
        return
    for name in sorted(touches - {*TOUCHABLE}, key=str):
        yield f"{shown(name)} is not allowed; {allowed}{nearest(name, TOUCHABLE)}"


def _file(module: Any) -> Path:
    return Path(module.__file__)
