"""Checks of a SLURM cluster: partitions exist, and Snakemake will notice when a job ends.

Snakemake uses `squeue`, which forgets ended jobs, or `sacct`, which waits forever on a cluster
without accounting.
"""

import re
import subprocess
import sys
from collections.abc import Iterable, Mapping

from collateral.contract.messages import unknown_name

# Minimum number of seconds for which squeue must list a finished job, so that Snakemake sees it:
# the plug-in waits up to 180 s between two looks at the queue, and an answer may take a minute.
LEAST_MEMORY = 240
IN_FLIGHT = 100  # maximum number of submitted jobs, as in profiles/slurm
# Resources that send a job to another cluster, whose partitions cannot be checked here.
OTHER_CLUSTERS = ("slurm_cluster", "cluster", "clusters")
OTHER_CLUSTERS_OPTION = re.compile(r"""(^|[\s'"])(-M|--clusters[=\s])""")  # in slurm_extra


class ClusterError(Exception):
    """`scontrol` failed or gave no answer."""


def cluster_settings() -> dict[str, str]:
    """Return the cluster's configuration as `scontrol` shows it."""
    return _pairs(_scontrol_show("config").splitlines())


def partitions() -> list[dict[str, str]]:
    """Return all partitions, including hidden ones, as `scontrol` shows them."""
    found = [_pairs(line.split()) for line in _scontrol_show("partition", "--all").splitlines()]
    return [part for part in found if "PartitionName" in part]


def partition_names(partitions: Iterable[Mapping[str, str]]) -> list[str]:
    """Return the names of partitions."""
    return [part["PartitionName"] for part in partitions]


def cancelling_partitions(partitions: Iterable[Mapping[str, str]]) -> list[str]:
    """Return the names of partitions that cancel a job if another job preempts it."""
    return partition_names(part for part in partitions if "CANCEL" in part.get("PreemptMode", ""))


def _scontrol_show(what: str, *options: str) -> str:
    """Return the output of `scontrol show`."""
    command = ["scontrol", *options, "--oneliner", "show", what]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except subprocess.CalledProcessError as error:
        raise ClusterError(error.stderr.strip()) from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ClusterError(str(error)) from None
    return done.stdout


def _pairs(texts: Iterable[str]) -> dict[str, str]:
    pairs = (text.split("=", 1) for text in texts if "=" in text)
    return {name.strip(): value.strip() for name, value in pairs}


def status_problem(command: str, wait: int, settings: Mapping[str, str]) -> str | None:
    """Return why Snakemake, if it asks `command`, may not notice the end of a job; add a remedy.

    The result is None if there is no such problem.
    """
    has_accounts = not settings["AccountingStorageType"].endswith(("none", "(null)"))
    age, needed = memory_seconds(settings), max(LEAST_MEMORY, 3 * wait)
    if (command == "squeue" and age >= needed) or (command == "sacct" and has_accounts):
        return None
    if command == "sacct":
        return "accounting is off and sacct would wait; set it to squeue"
    cause = f"squeue forgets a job {age} s after its end (MinJobAge), and {needed} s are needed"
    if has_accounts:
        return f"{cause}; set it to sacct"
    return f"{cause}; accounting is off too: ask your administrators for a longer MinJobAge"


def memory_seconds(settings: Mapping[str, str]) -> int:
    """Return for how many seconds squeue lists a finished job; if MinJobAge is 0, forever."""
    return int(settings["MinJobAge"].split()[0]) or sys.maxsize


def preemption_problem(partitions: Iterable[str]) -> str | None:
    """Return a warning that these partitions cancel preempted jobs; None if the list is empty."""
    names = ", ".join(partitions)
    if not names:
        return None
    return (
        f"PreemptMode is CANCEL in {names}: snakemake waits for ever for a job that is preempted "
        "there. Use another partition."
    )


def list_partitions(resources: Mapping[str, object]) -> list[str]:
    """Return the partitions that a job's resources name; empty if they cannot be checked."""
    if _is_elsewhere(resources):
        return []
    named = str(resources.get("slurm_partition") or "").strip("'\"")
    return [*filter(None, named.split(","))] if re.fullmatch(r"[\w.,-]+", named) else []


def _is_elsewhere(resources: Mapping[str, object]) -> bool:
    """Tell whether a job is sent to another cluster."""
    extra = str(resources.get("slurm_extra") or "")
    is_named = any(resources.get(key) for key in OTHER_CLUSTERS)
    return is_named or bool(OTHER_CLUSTERS_OPTION.search(extra))


def partition_problems(names: Iterable[str], there: Iterable[str]) -> list[str]:
    """Return one line per unknown partition; empty if the cluster lists no partitions."""
    there = [*there]
    wrong = [name for name in dict.fromkeys(names) if name not in there] if there else []
    return [unknown_name("partition", name, there) for name in wrong]
