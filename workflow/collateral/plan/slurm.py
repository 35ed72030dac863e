"""Whether a SLURM cluster takes the jobs, and whether Snakemake will see them end.

Snakemake asks `squeue`, which forgets ended jobs, or `sacct`, which waits for ever where nothing
is kept.
"""

import re
import subprocess
import sys
from collections.abc import Iterable, Mapping

from collateral.contract.messages import unknown_name

# Snakemake, or the controller that it asks, may be held up. Where squeue does not remember three of
# its waits the executor plugin turns to sacct by itself.
LEAST_MEMORY = 180
IN_FLIGHT = 100  # jobs, as in profiles/slurm
# By which a job goes to another cluster, whose partitions are not known here.
OTHER_CLUSTERS = ("slurm_cluster", "cluster", "clusters")
OTHER_CLUSTERS_OPTION = re.compile(r"""(^|[\s'"])(-M|--clusters[=\s])""")  # in slurm_extra


class ClusterError(Exception):
    """The cluster does not say how it is set up."""


def cluster_settings() -> dict[str, str]:
    """Return the cluster's configuration as `scontrol` shows it."""
    return _pairs(_shown("config").splitlines())


def partitions() -> list[dict[str, str]]:
    """Return all partitions, hidden ones too, as `scontrol` shows them."""
    found = [_pairs(line.split()) for line in _shown("partition", "--all").splitlines()]
    return [part for part in found if "PartitionName" in part]


def partition_names(partitions: Iterable[Mapping[str, str]]) -> list[str]:
    """Return the names of partitions."""
    return [part["PartitionName"] for part in partitions]


def cancelling_partitions(partitions: Iterable[Mapping[str, str]]) -> list[str]:
    """Return the names of those whose jobs are cancelled when others need their place."""
    return partition_names(part for part in partitions if "CANCEL" in part.get("PreemptMode", ""))


def _shown(what: str, *options: str) -> str:
    """Return what `scontrol` shows."""
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
    """Return why `command` may miss the end of a job, with the remedy; None if it will not."""
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
    """Return how long squeue tells how a job ended; MinJobAge 0 is for ever."""
    return int(settings["MinJobAge"].split()[0]) or sys.maxsize


def preemption_problem(partitions: Iterable[str]) -> str | None:
    """Return why a job that one of these cancels would never be seen again; None without any."""
    names = ", ".join(partitions)
    if not names:
        return None
    return (
        f"PreemptMode is CANCEL in {names}: snakemake waits for ever for a job that is preempted "
        "there. Use another partition."
    )


def asked_partitions(resources: Mapping[str, object]) -> list[str]:
    """Return the partitions of this cluster that a job's resources name; an expression has none."""
    if _is_elsewhere(resources):
        return []
    named = str(resources.get("slurm_partition") or "").strip("'\"")
    return [*filter(None, named.split(","))] if re.fullmatch(r"[\w.,-]+", named) else []


def _is_elsewhere(resources: Mapping[str, object]) -> bool:
    """Tell whether a job goes to another cluster."""
    extra = str(resources.get("slurm_extra") or "")
    is_named = any(resources.get(key) for key in OTHER_CLUSTERS)
    return is_named or bool(OTHER_CLUSTERS_OPTION.search(extra))


def partition_problems(asked: Iterable[str], there: Iterable[str]) -> list[str]:
    """Return a line for each partition that is not there; where none is shown, nothing is known."""
    there = [*there]
    wrong = [name for name in dict.fromkeys(asked) if name not in there] if there else []
    return [unknown_name("partition", name, there) for name in wrong]
