"""Estimate the cost of a config before anything runs: jobs, GPU-hours, CPU-hours, disk."""

import shutil
from importlib import import_module
from pathlib import Path
from typing import Annotated

from collateral.commands.doctor import free_bytes
from collateral.config.load import read
from collateral.config.schema import Config
from collateral.contract.work import count_cores
from collateral.plan import estimate as plan_estimate
from collateral.plan import paths
from collateral.plan.estimate import in_json, in_words, lead
from collateral.plan.slurm import IN_FLIGHT
from collateral.plan.throughput import SHIPPED, Rate, Rates, read_rates
from collateral.results.files import atomic


def estimate(
    config: Annotated[Path, "a config, as configs/paper.yaml"],
    *,
    device: Annotated[
        str | None,
        "whose rates to take; by default a100, cpu without a GPU",
        {"choices": SHIPPED},
    ] = None,
    calibrate: Annotated[bool, "measure the rates on this device"] = False,
    rates: Annotated[Path | None, "take the rates that --save wrote"] = None,
    save: Annotated[Path | None, "write the rates to this file"] = None,
    jobs: Annotated[
        int | None, f"how many run at a time: {IN_FLIGHT} with GPUs, else one a core"
    ] = None,
    results: Annotated[Path, "disk to look at"] = Path(paths.RESULTS),
    json: Annotated[bool, "print JSON"] = False,
) -> None:
    """Print the estimate."""
    for option, path in (("config", config), ("--rates", rates)):
        if path and not path.is_file():
            raise ValueError(f"{option}: there is no file {path}")
    wanted, cores = read(config), count_cores()
    chosen = chosen_rates(wanted, device, rates, calibrate=calibrate)
    num_jobs = jobs or (IN_FLIGHT if chosen.is_gpu else cores)
    if save:
        with atomic(save) as temporary:
            temporary.write_bytes(chosen.to_json())
    found, free = plan_estimate.estimate(wanted, chosen, num_jobs), free_bytes(results)
    if json:
        print(in_json(found, free))
        return
    print(lead(found, cores), end="\n\n")
    print(in_words(found, free))
    if chosen == SHIPPED["cpu"] and not device:
        elsewhere = lead(plan_estimate.estimate(wanted, SHIPPED["a100"], IN_FLIGHT))
        print(f"\nNo GPU is here. With --device a100: {elsewhere}")


def chosen_rates(
    config: Config, device: str | None, file: Path | None, *, calibrate: bool
) -> Rates:
    """Return the rates of a device, of a file, or measured here; only one may be given."""
    given = {"--device": device, "--calibrate": calibrate, "--rates": file}
    options = [option for option, value in given.items() if value]
    if len(options) > 1:
        raise ValueError(f"{options[1]}: not with {options[0]}; leave one of them out")
    if file:
        return read_rates(file)
    if not calibrate:
        return SHIPPED[device or default_device()]
    # By name: without --calibrate no torch is needed.
    calibration = import_module("collateral.training.calibration")
    trained = plan_estimate.estimate(config, SHIPPED["a100"], IN_FLIGHT).trained
    return Rates(
        calibration.device_name(),
        calibration.is_gpu(),
        "measured by --calibrate, on noise, in float32",
        tuple(Rate(*item, *calibration.measure(*item)) for item in sorted(trained)),
    )


def default_device() -> str:
    """Return the name of the default rates: those of a GPU if this machine has one."""
    return "a100" if shutil.which("nvidia-smi") else "cpu"
