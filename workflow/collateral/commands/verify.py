"""Check that results match their records; all hashes are recomputed.

The exit code is 1 if a file is not sound and --fix is not given, or if a gate is red. --fix lists
and deletes the files that are not sound, so that the next run makes them again. With --config,
results are also compared with the plan of a config, and the exit code is 1 if they differ. For an
evidence.json, all numbers are computed again from the model outputs in results/.
"""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from collateral.config.load import read
from collateral.jobs import parse_job
from collateral.plan.diff import compare, describe
from collateral.plan.grid import build_grid
from collateral.plugins.find import STAGE
from collateral.results import layout
from collateral.results.files import InvalidResultError
from collateral.results.gates import describe_red_gates
from collateral.results.plan import BenchmarkPlan
from collateral.results.provenance import JOB, read_record, read_signed
from collateral.results.verification import Verification, files_below, verify_results


def verify(
    results: Annotated[Path, "folder of results, or an evidence.json; default: results"] = Path(
        "results"
    ),
    *,
    deep: Annotated[bool, "also compute metrics and tables again from the model outputs"] = False,
    fix: Annotated[bool, "delete files that are not sound"] = False,
    config: Annotated[Path | None, "config with whose plan the results are compared"] = None,
) -> None:
    """Print one line per fault, a summary, the failed checks, and differences from the plan."""
    if results.is_file() and results.suffix == ".json":
        # Imported here and not at the top, because `evidence` imports pandas.
        import_module("collateral.commands.evidence").verify_evidence(results)
        return
    found = check_results(results, deep=deep)
    closed = list_red_gates(results, found)
    for line in closed:
        print(line)
    is_planned = not config or compare_with_plan(config, results)
    if fix:
        delete_faults(found)
    if closed or not is_planned or (found.faults and not fix):
        raise SystemExit(1)


def check_results(results: Path, *, deep: bool) -> Verification:
    """Check all files below a folder, print one line per fault, and return the outcome."""
    if not any(path.name in layout.SIGNED for path in files_below(results)):
        raise ValueError(f"{results}: no folder of results: there is no record in it")
    found = verify_results(results)
    is_compared = deep and not found.faults
    if is_compared:
        found = replace(found, faults=differences(results))
    for fault in found.faults:
        print(f"{fault.path}: {fault.reason}")
    print(summary(found))
    if deep and not is_compared:
        print("Numbers were not made again: what they are made from must be sound first.")
    return found


def compare_with_plan(config: Path, results: Path) -> bool:
    """Print how the records differ from the plan of a config; return whether no record differs."""
    is_planned = True
    for name, benchmark in build_grid(read(config, "--config")).items():
        folder = results if results.name == name else results / name
        if folder.is_dir():
            found = compare(benchmark, folder)
            is_planned &= not found.different
            print(*describe(folder, found), sep="\n")
        else:
            print(f"{folder}: planned and not there")
    return is_planned


def list_red_gates(results: Path, found: Verification) -> list[str]:
    """Return one line per red gate (a failed check of a cell's results)."""
    lines = []
    for path in sorted(results.rglob(layout.GATES)):
        try:
            lines += describe_red_gates(path)
        except InvalidResultError:
            # If faults were found, this invalid gates.json is among them and already printed.
            if not found.faults:
                raise
    return lines


def differences(results: Path) -> list[InvalidResultError]:
    """Recompute metrics and tables from the stored outputs; return a fault for each difference."""
    faults: list[InvalidResultError] = []
    with TemporaryDirectory() as name:
        records, plans = results.rglob(layout.METRICS_RECORD), results.rglob(layout.PLAN)
        for path in sorted(records):
            # Only a cell's record has a job of metrics; a benchmark's record is skipped.
            if read_record(path).get("kind") == "metrics":
                again = compute_again(path, Path(name))
                faults += _compare_files(path.parent / layout.METRICS, again)
        for path in sorted(plans):
            faults += _pages(path, Path(name))
    return faults


def compute_again(record: Path, out: Path) -> Path:
    """Compute a cell's long table again from model outputs, and return the path of the new table.

    The table is written to the folder `out`.
    """
    # Imported only on call: stages import pandas and scikit-learn, which takes seconds.
    stage: Any = STAGE.load("metrics")
    job = parse_job(read_signed(record)[JOB])
    stage.write_numbers(stage.read_results(job, record.parent.parent), out, fresh=True)
    return out / layout.METRICS


def _pages(plan: Path, out: Path) -> Iterator[InvalidResultError]:
    """Compute a benchmark's numbers and tables again from its cells' numbers; yield differences."""
    folder, made = plan.parent, out / plan.parent.name
    cells = BenchmarkPlan.load(plan).cells
    STAGE.load("gather").write_numbers(folder, cells, made)
    for name in (layout.METRICS, layout.GATES):
        if (folder / name).exists():  # results of older versions have no gates.json
            yield from _compare_files(folder / name, made / name)
    stage: Any = STAGE.load("tables")
    table = stage.read_benchmark(folder, made / layout.GATES)
    stage.write_tables(table, made / layout.TABLES)
    for path in sorted((folder / layout.TABLES).rglob("*.csv")):
        yield from _compare_files(path, made / path.relative_to(folder))


def _compare_files(path: Path, again: Path) -> Iterator[InvalidResultError]:
    old, new = (file.read_text(encoding="utf-8").splitlines() for file in (path, again))
    if old != new:
        pairs = enumerate(zip_longest(old, new), start=1)
        line = next(number for number, (one, other) in pairs if one != other)
        yield InvalidResultError(
            path, f"made again from the same outputs, it differs in line {line}"
        )


def summary(found: Verification) -> str:
    """Return the number of checked files and of faults as text."""
    absent = f"; {len(found.absent)} that figures do not need are not here" if found.absent else ""
    wrong = f"{len(found.faults)} not sound" if found.faults else "all sound"
    return f"{found.num_files} files: {wrong}{absent}"


def delete_faults(found: Verification) -> None:
    """Delete all invalid files."""
    for path in found.to_delete:
        print(f"deleted: {path}")
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    if found.faults:
        print("Run again: what is needed is made anew.")
