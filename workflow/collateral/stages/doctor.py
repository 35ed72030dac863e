"""Say what this machine has of what Collateral needs, and how to get what is missing."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path

from collateral.doctor.check import Check
from collateral.doctor.experiment import data_checks, needed_bytes, read_config
from collateral.doctor.machine import device_check, disk_check, memory_check, threads_check
from collateral.doctor.packages import NEEDED, package_checks
from collateral.doctor.programs import program_checks
from collateral.doctor.words import in_json, in_words
from collateral.plan import paths
from collateral.plan.home import default_config
from collateral.plan.slurm import IN_FLIGHT


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("config", type=Path, nargs="?", help="whose data to find")
    parser.add_argument(
        "--for", dest="purpose", choices=NEEDED, default="run", help="what must not be missing"
    )
    parser.add_argument("--results", type=Path, default=Path(paths.RESULTS), help="disk to look at")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: Namespace) -> None:
    """Print what was found; fail if something is missing."""
    checks = [*found(args)]
    print(in_json(checks) if args.json else in_words(checks))
    if any(check.status == "missing" for check in checks):
        raise SystemExit(1)


def found(args: Namespace) -> Iterator[Check]:
    """Look at everything; torch is imported for its device alone."""
    yield from package_checks(args.purpose)
    yield device_check(is_needed=args.purpose != "figures")
    yield threads_check()
    yield memory_check()
    checked, config = read_config(args.config or Path(default_config()))
    yield checked
    yield disk_check(args.results, needed_bytes(config, IN_FLIGHT) if config else None)
    if config:
        yield from data_checks(config)
    yield from program_checks(args.purpose)
