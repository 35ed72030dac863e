"""Programs besides Python: a cluster's, a browser, conda."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from collateral.config.errors import ConfigError
from collateral.config.yaml import read_file
from collateral.doctor.check import Check
from collateral.plan.slurm import (
    ClusterError,
    asked_partitions,
    cluster_settings,
    partition_names,
    partition_problems,
    partitions,
)

PLUGIN = "snakemake_executor_plugin_slurm"
PROFILE = Path("profiles/slurm/config.yaml")


def program_checks(purpose: str) -> Iterator[Check]:
    """Yield a line for each program that some use of Collateral needs."""
    yield slurm_check(is_needed=purpose == "cluster")
    yield from partition_checks(is_needed=purpose == "cluster")
    yield _program("browser", "chromium", "to test the page: `apt install chromium`")
    yield _program("conda", "conda", "only for `snakemake --sdm conda`: conda-forge's Miniforge")


def slurm_check(*, is_needed: bool) -> Check:
    """Say whether jobs can be submitted, and whether the cluster answers."""
    sbatch = shutil.which("sbatch")
    if not sbatch:
        how = "only for a cluster: work on its login node"
        return Check("SLURM", "no sbatch", how, is_needed)
    found = _version(sbatch)
    if find_spec(PLUGIN) is None:
        how = "`pip install 'collateral[workflow]'`"
        return Check("SLURM", f"{found}; no executor plugin", how, is_needed)
    try:
        settings = cluster_settings()
    except ClusterError as error:
        why = str(error).splitlines()[-1]
        how = "is this a login node? `scontrol show config` must answer"
        return Check("SLURM", f"{found}; it does not answer: {why}", how, is_needed)
    job = f"; inside job {os.environ['SLURM_JOB_ID']}" if "SLURM_JOB_ID" in os.environ else ""
    return Check("SLURM", f"{found}, cluster {settings.get('ClusterName', '?')}{job}")


def partition_checks(*, is_needed: bool) -> Iterator[Check]:
    """Say whether the partitions that the profile names are there, where it names any."""
    try:
        asked = profile_partitions(PROFILE) if PROFILE.is_file() else []
        problems = partition_problems(asked, partition_names(partitions())) if asked else []
    except ClusterError:
        return  # which was said
    except ConfigError as error:
        yield Check("partition", str(error), "mend the profile", is_needed)
        return
    if asked:
        found = f"{', '.join(asked)}, by {PROFILE}"
        yield Check("partition", found, "; ".join(problems), is_needed)


def profile_partitions(profile: Path) -> list[str]:
    """Return the partitions that a profile names, for all jobs or for those of a rule."""
    content = _mapping(read_file(profile))
    blocks = [content.get("default-resources"), *_mapping(content.get("set-resources")).values()]
    found = [name for block in blocks for name in asked_partitions(_mapping(block))]
    return [*dict.fromkeys(found)]


def _mapping(value: object) -> Mapping[str, object]:
    """Return a value that may be nothing, or a list of words, as a mapping."""
    return value if isinstance(value, Mapping) else {}


def _program(name: str, program: str, remedy: str) -> Check:
    path = shutil.which(program)
    return Check(name, _version(path)) if path else Check(name, f"no {program}", remedy)


def _version(path: str) -> str:
    """Return what a program says of itself, or where it is if it says nothing in time."""
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=20, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return path
    return " ".join(done.stdout.split()) or path
