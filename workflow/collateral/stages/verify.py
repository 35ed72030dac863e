"""Check that results are what their records say, with every hash recomputed.

Exit code 1 where something is wrong and stays so, or a gate is red. With --fix exactly what is not
sound is deleted, after it is listed, so that the next run makes it again. With --config results are
also compared with the plan of a config; what differs is code 1 too.
"""

import shutil
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from collateral.config.load import read
from collateral.plan.comparison import compare, describe
from collateral.plan.grid import build_grid
from collateral.results import layout
from collateral.results.chain import read_sealed
from collateral.results.files import Unsound
from collateral.results.gates import red
from collateral.results.verification import Walk, files_below, walk

# What `metrics` writes, by its options; and what `gather` does.
NUMBERS = {"out": layout.METRICS, "costs": layout.COSTS, "problems": layout.PROBLEMS}
GATHERED = {**NUMBERS, "gates": layout.GATES}


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("results", type=Path, nargs="?", default=Path("results"))
    parser.add_argument(
        "--deep", action="store_true", help="also make metrics and tables again from outputs"
    )
    parser.add_argument("--fix", action="store_true", help="delete what is not sound")
    parser.add_argument("--config", type=Path, help="also compare with the plan of this config")


def run(args: Namespace) -> None:
    """Print what is wrong, a line each, and a last line that sums up."""
    if not any(path.name in layout.SEALED for path in files_below(args.results)):
        raise ValueError(f"{args.results}: no folder of results: there is no record in it")
    found = walk(args.results)
    is_compared = args.deep and not found.faults
    if is_compared:
        found = replace(found, faults=differences(args.results))
    for fault in found.faults:
        print(f"{fault.path}: {fault.reason}")
    print(summary(found))
    if args.deep and not is_compared:
        print("Numbers were not made again: what they are made from must be sound first.")
    closed = red_gates(args.results, found)
    for line in closed:
        print(line)
    is_planned = not args.config or compare_with_plan(args.config, args.results)
    if args.fix:
        fix(found)
    if closed or not is_planned or (found.faults and not args.fix):
        raise SystemExit(1)


def compare_with_plan(config: Path, results: Path) -> bool:
    """Print how the records of a config's benchmarks differ from its plan; tell if none does."""
    if not config.is_file():
        raise ValueError(f"--config: there is no file {config}")
    is_planned = True
    for name, benchmark in build_grid(read(config)).items():
        folder = results if results.name == name else results / name
        if folder.is_dir():
            found = compare(benchmark, folder)
            is_planned &= not found.different
            print(*describe(folder, found), sep="\n")
        else:
            print(f"{folder}: planned and not there")
    return is_planned


def red_gates(results: Path, found: Walk) -> list[str]:
    """Return a line for each red gate, but for those in files that are not sound themselves."""
    lines = []
    for path in sorted(results.rglob(layout.GATES)):
        try:
            lines += red(path)
        except Unsound:
            if not found.faults:  # else it is one of them, or made from one
                raise
    return lines


def differences(results: Path) -> list[Unsound]:
    """Return what another computation from the same outputs gives otherwise."""
    with TemporaryDirectory() as name:
        records, plans = results.rglob(layout.METRICS_RECORD), results.rglob(layout.PLAN)
        of_cells = [fault for path in sorted(records) for fault in _metrics(path, Path(name))]
        of_all = [fault for path in sorted(plans) for fault in _pages(path, Path(name))]
    return [*of_cells, *of_all]


def _metrics(record: Path, out: Path) -> Iterator[Unsound]:
    """Make the numbers of a cell again; a benchmark's record has no options."""
    content = read_sealed(record)
    if "options" not in content:
        return
    again = {option: out / name for option, name in NUMBERS.items()}
    # Older records say less.
    options = {"probed": [], "exposed": [], "reference": layout.RETRAIN, **content["options"]}
    about = {"folder": record.parent.parent, "cell": content["cell"], **options}
    _stage("metrics").run(Namespace(fresh=True, **about, **again))
    yield from _compared(record.parent / layout.METRICS, again["out"])


def _pages(plan: Path, out: Path) -> Iterator[Unsound]:
    """Make a benchmark's numbers and tables again from those of its cells."""
    folder, made = plan.parent, out / plan.parent.name
    written = {option: made / name for option, name in GATHERED.items()}
    _stage("gather").run(Namespace(folder=folder, **written))
    for name in (layout.METRICS, layout.GATES):
        if (folder / name).exists():  # older results have no gates
            yield from _compared(folder / name, made / name)
    numbers = {"metrics": folder / layout.METRICS, "costs": folder / layout.COSTS}
    _stage("tables").run(Namespace(plan=plan, **numbers, out=made / layout.TABLES))
    for path in sorted((folder / layout.TABLES).rglob("*.csv")):
        yield from _compared(path, made / path.relative_to(folder))


def _stage(name: str) -> Any:
    # By name: pandas and scikit-learn take seconds, and a plain walk needs neither.
    return import_module(f"collateral.stages.{name}")


def _compared(path: Path, again: Path) -> Iterator[Unsound]:
    old, new = (file.read_text(encoding="utf-8").splitlines() for file in (path, again))
    if old != new:
        pairs = enumerate(zip_longest(old, new), start=1)
        line = next(number for number, (one, other) in pairs if one != other)
        yield Unsound(path, f"made again from the same outputs, it differs in line {line}")


def summary(found: Walk) -> str:
    """Say how much was looked at."""
    absent = f"; {len(found.absent)} that figures do not need are not here" if found.absent else ""
    wrong = f"{len(found.faults)} not sound" if found.faults else "all sound"
    return f"{found.num_files} files: {wrong}{absent}"


def fix(found: Walk) -> None:
    """Delete what is not sound."""
    for path in found.to_delete:
        print(f"deleted: {path}")
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    if found.faults:
        print("Run again: what is needed is made anew.")
