"""Checks of the plug-ins that a config uses: they can be imported and have all members."""

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from collateral.config.schema import BenchmarkConfig, Config
from collateral.contract.messages import did_you_mean, quoted
from collateral.contract.metrics import Metric
from collateral.contract.params import TOUCHABLE
from collateral.contract.plugins import DATA, FINDING, FORGET, METHOD, Kind, PluginError

# Required members of the file that the Snakefile imports (of a method: params.py).
MEMBERS = {
    METHOD: ("Params",),
    DATA: ("INFO", "Options", "load"),
    FORGET: ("Params", "select", "count", "chosen"),
    FINDING: (),
}
METHOD_MEMBERS = ("label", "touches")


def plugin_errors(config: Config) -> Iterator[str]:
    """Yield the errors of all plug-ins that the config names, and of all plugged-in findings."""
    used = [item for benchmark in config.benchmarks.values() for item in _named_plugins(benchmark)]
    for kind, name in dict.fromkeys([*used, *((FINDING, name) for name in FINDING.names())]):
        if kind.is_plugged_in(name):
            yield from _errors(kind, name)
    if any(map(FINDING.is_plugged_in, FINDING.names())):
        yield from _clashes()


def _named_plugins(benchmark: BenchmarkConfig) -> Iterator[tuple[Kind, str]]:
    """Yield the names of plug-ins in a benchmark, whether they exist or not."""
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
    missing = [*_missing_members(kind, module)]
    for member in missing:
        yield f"plugins: '{_file(module)}': has no {member}, which every {kind.what} has"
    if kind is METHOD and not missing:
        for wrong in _touches_errors(module.Params.touches):
            yield f"plugins: '{_file(module)}': Params.touches: {wrong}"
    if kind is FINDING and not _are_metrics(getattr(module, "METRICS", {})):
        yield f"plugins: '{_file(module)}': METRICS: should be a dictionary of Metric by name"


def _clashes() -> Iterator[str]:
    """Yield an error for each metric of a plugged-in finding whose name is used already."""
    known: dict[str, str] = {}
    for finding in FINDING.names():
        for metric in _metrics(finding):
            if other := known.get(metric):
                where = f"'{_file(FINDING.load(finding))}': METRICS: {quoted(metric)}"
                yield f"plugins: {where}: the finding {other} has a metric of this name; rename it"
            known.setdefault(metric, finding)


def _metrics(finding: str) -> list[str]:
    """Return the names of the metrics of a finding; none if it has another error."""
    try:
        metrics = getattr(FINDING.load(finding), "METRICS", {})
    except PluginError:
        return []
    return list(metrics) if _are_metrics(metrics) else []


def _are_metrics(value: Any) -> bool:
    """Tell whether a value is a dictionary of Metric by name."""
    is_dictionary = isinstance(value, dict)
    return is_dictionary and all(isinstance(one, Metric) for one in value.values())


def _missing_members(kind: Kind, module: ModuleType) -> Iterator[str]:
    missing = [member for member in MEMBERS[kind] if not hasattr(module, member)]
    yield from missing
    if kind is METHOD and not missing:
        yield from (f"Params.{name}" for name in METHOD_MEMBERS if not hasattr(module.Params, name))


def _touches_errors(touches: Any) -> Iterator[str]:
    """Yield the errors of `Params.touches`."""
    allowed = f"allowed: {', '.join(TOUCHABLE)}"
    if not isinstance(touches, frozenset | set):
        yield f"{quoted(touches)}: should be a frozenset of names; {allowed}"
        return
    for name in sorted(touches - {*TOUCHABLE}, key=str):
        yield f"{quoted(name)} is not allowed; {allowed}{did_you_mean(name, TOUCHABLE)}"


def _file(module: Any) -> Path:
    return Path(module.__file__)
