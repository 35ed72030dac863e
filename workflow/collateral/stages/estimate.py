"""Say what a config will cost before anything runs: jobs, GPU-hours, CPU-hours, disk."""

import argparse
import shutil
from importlib import import_module
from pathlib import Path

from collateral.config.load import read
from collateral.config.schema import Config
from collateral.contract.cores import num_cores
from collateral.doctor.machine import free_bytes
from collateral.plan import paths
from collateral.plan.estimate import estimate, in_json, in_words, lead
from collateral.plan.slurm import IN_FLIGHT
from collateral.plan.throughput import SHIPPED, Rate, Rates, read_rates
from collateral.results.files import atomic


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("config", type=Path, help="a config, as configs/paper.yaml")
    rates = parser.add_mutually_exclusive_group()
    rates.add_argument(
        "--device", choices=SHIPPED, help="whose rates to take; by default a100, cpu without a GPU"
    )
    rates.add_argument("--calibrate", action="store_true", help="measure the rates on this device")
    rates.add_argument("--rates", type=Path, help="take the rates that --save wrote")
    parser.add_argument("--save", type=Path, help="write the rates to this file")
    parser.add_argument(
        "--jobs", type=int, help=f"how many run at a time: {IN_FLIGHT} with GPUs, else one a core"
    )
    parser.add_argument("--results", type=Path, default=Path(paths.RESULTS), help="disk to look at")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> None:
    """Print the estimate."""
    for option, path in (("config", args.config), ("--rates", args.rates)):
        if path and not path.is_file():
            raise ValueError(f"{option}: there is no file {path}")
    config = read(args.config)
    rates, cores = chosen_rates(args, config), num_cores()
    jobs = args.jobs or (IN_FLIGHT if rates.is_gpu else cores)
    if args.save:
        with atomic(args.save) as temporary:
            temporary.write_bytes(rates.to_json())
    found, free = estimate(config, rates, jobs), free_bytes(args.results)
    if args.json:
        print(in_json(found, free))
        return
    print(lead(found, cores), end="\n\n")
    print(in_words(found, free))
    if rates == SHIPPED["cpu"] and not args.device:
        elsewhere = lead(estimate(config, SHIPPED["a100"], IN_FLIGHT))
        print(f"\nNo GPU is here. With --device a100: {elsewhere}")


def chosen_rates(args: argparse.Namespace, config: Config) -> Rates:
    """Return the rates that the command line asks for."""
    if args.rates:
        return read_rates(args.rates)
    if not args.calibrate:
        return SHIPPED[args.device or default_device()]
    # By name: without --calibrate no torch is needed.
    calibration = import_module("collateral.training.calibration")
    trained = estimate(config, SHIPPED["a100"], IN_FLIGHT).trained
    return Rates(
        calibration.device_name(),
        calibration.is_gpu(),
        "measured by --calibrate, on noise, in float32",
        tuple(Rate(*item, *calibration.measure(*item)) for item in sorted(trained)),
    )


def default_device() -> str:
    """Return whose rates to take: a GPU's where there is one."""
    return "a100" if shutil.which("nvidia-smi") else "cpu"
