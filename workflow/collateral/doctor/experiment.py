"""The experiment that a config asks for: is it valid, and is its data here?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from collateral.config.errors import ConfigError
from collateral.config.load import read
from collateral.config.schema import Config
from collateral.contract.data import DataOptions
from collateral.contract.plugins import DATA
from collateral.contract.spelling import looked_for
from collateral.doctor.check import Check
from collateral.plan import paths
from collateral.plan.estimate.total import estimate
from collateral.plan.grid import Benchmark, build_grid
from collateral.plan.rates import SHIPPED
from collateral.plan.soundness import check_plan
from collateral.plan.workload import SizeUnknownError


def read_config(path: Path) -> tuple[Check, Config | None]:
    """Read a config, and say what is wrong with it."""
    if not path.is_file():
        how = "work in a checkout, or name one: `collateral doctor my.yaml`"
        return Check("config", f"there is no file {path}", how, is_needed=True), None
    try:
        config = read(path)
        check_plan(build_grid(config))
    except ConfigError as error:
        lines = str(error).splitlines()
        return Check("config", f"{path} is not valid", "; ".join(lines), is_needed=True), None
    return Check("config", f"{path}: {', '.join(config.benchmarks)}"), config


def data_checks(config: Config) -> Iterator[Check]:
    """Yield a line for the data of each benchmark."""
    for benchmark in build_grid(config).values():
        yield data_check(benchmark)


def data_check(benchmark: Benchmark) -> Check:
    """Say whether the data of a benchmark was read already, is here, or must be fetched."""
    options = dict(benchmark.config.data)
    name = str(options.pop("name"))
    label = f"data of {benchmark.name}"
    if Path(paths.DATA.format(benchmark=benchmark.name)).is_file():
        return Check(label, f"{name}, read already")
    module = DATA.load(name)
    given: DataOptions = module.Options.model_validate(options)
    files = getattr(module, "FILES", None)
    if files is None and getattr(given, "download", False):
        root = getattr(given, "root", "data")
        return Check(label, f"{name}: a run looks in {root}/, else downloads it")
    if files is None or not hasattr(given, "root"):
        return _own_files(label, name, given)
    root = given.root.expanduser()
    lacking = [path for path in files.paths if not (root / path).is_file()]
    if not lacking:
        return Check(label, f"{name}, in {root}/")
    downloads = bool(getattr(given, "download", False))
    said = f"{name}: {', '.join(lacking)} not in {root}/"
    found = f"{said}; a run downloads it where there is internet" if downloads else said
    return Check(label, found, files.how, is_needed=not downloads)


def needed_bytes(config: Config, jobs: int) -> float | None:
    """Return the most that is on disk at one time; None where only the data can tell."""
    try:
        return estimate(config, SHIPPED["a100"], jobs).peak_bytes
    except SizeUnknownError:
        return None


def _own_files(label: str, name: str, options: DataOptions) -> Check:
    """Look for every file and folder that the options name."""
    named = _paths(options.model_dump())
    for key, path in named.items():
        if not path.expanduser().exists():
            remedy = f"put it there, or set `{key}:` to where it is"
            found = f"{name}: there is no {path}{looked_for(path)}"
            return Check(label, found, remedy, is_needed=True)
    where = f"in {', '.join(map(str, named.values()))}" if named else "nothing to fetch"
    return Check(label, f"{name}, {where}")


def _paths(options: Mapping[str, object]) -> dict[str, Path]:
    return {key: value for key, value in options.items() if isinstance(value, Path)}
