"""Whether SLURM jobs will be taken and seen to end, by what the cluster says of itself."""

import pytest

from collateral.plan.slurm import (
    ClusterError,
    cancelling_partitions,
    cluster_settings,
    list_partitions,
    partition_names,
    partition_problems,
    partitions,
    preemption_problem,
    status_problem,
)

OFF, OLD_OFF, ON = "(null)", "accounting_storage/none", "accounting_storage/slurmdbd"


def problem(command, accounting, age, wait=10):
    settings = {"AccountingStorageType": accounting, "MinJobAge": f"{age} sec"}
    return status_problem(command, wait, settings)


@pytest.mark.parametrize("accounting", [OFF, OLD_OFF, ON])
def test_squeue_will_do_where_it_remembers_long_enough(accounting):
    assert problem("squeue", accounting, 300) is None
    assert problem("squeue", accounting, 240) is None
    assert problem("squeue", accounting, 0) is None  # it never forgets


@pytest.mark.parametrize("age", [0, 2, 300])
def test_sacct_will_do_where_accounts_are_kept(age):
    assert problem("sacct", ON, age) is None


@pytest.mark.parametrize("accounting", [OFF, OLD_OFF])
def test_sacct_would_wait_for_ever_where_no_accounts_are_kept(accounting):
    assert problem("sacct", accounting, 300).endswith("set it to squeue")


@pytest.mark.parametrize("age", [2, 239])
def test_squeue_forgets_too_soon(age):
    assert problem("squeue", ON, age).endswith("set it to sacct")
    assert "ask your administrators" in problem("squeue", OFF, age)


def test_a_longer_interval_between_queries_needs_a_larger_min_job_age():
    assert problem("squeue", OFF, 300, wait=101).startswith("squeue forgets a job 300 s after")


def test_preemption_that_cancels_is_warned_of():
    assert "in idle, spare:" in preemption_problem(["idle", "spare"])
    assert preemption_problem([]) is None


@pytest.mark.parametrize(
    ("resources", "asked"),
    [
        ({}, []),
        ({"slurm_partition": None}, []),
        ({"slurm_partition": "gpu"}, ["gpu"]),
        ({"slurm_partition": "'gpu,gpu-long'"}, ["gpu", "gpu-long"]),  # as a profile may have it
        ({"slurm_partition": 7}, ["7"]),
        ({"slurm_partition": "gpu,"}, ["gpu"]),
        ({"slurm_partition": "'a' if attempt < 2 else 'b'"}, []),
        ({"slurm_partition": "gpu", "clusters": "theirs"}, []),
        ({"slurm_partition": "gpu", "slurm_extra": "--clusters=theirs"}, []),
        ({"slurm_partition": "gpu", "slurm_extra": "'--exclude=a --clusters theirs'"}, []),
        ({"slurm_partition": "gpu", "slurm_extra": "'-M theirs'"}, []),
        ({"slurm_partition": "gpu", "slurm_extra": "--exclusive -Mtheirs"}, []),
        ({"slurm_partition": "gpu", "slurm_extra": "--exclude=node-M1 -m block"}, ["gpu"]),
    ],
)
def test_the_partitions_that_a_job_asks_for(resources, asked):
    assert list_partitions(resources) == asked


def test_a_partition_that_is_not_there_is_named_once_with_those_that_are():
    there = ["main", "urgent"]
    assert partition_problems(["main", "mian", "mian"], there) == [
        "no partition 'mian'; known: main, urgent; did you mean main?"
    ]
    assert partition_problems(["urgent", "main"], there) == []
    assert partition_problems([], there) == []
    assert partition_problems(["main"], []) == []  # what a cluster does not tell


# What `scontrol` says.


def set_scontrol(monkeypatch, folder, script):
    program = folder / "scontrol"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def test_settings_are_read_as_scontrol_shows_them(monkeypatch, tmp_path):
    shown = "Configuration data as of today\\nMinJobAge     = 300 sec\\nPrologFlags = a=b"
    set_scontrol(monkeypatch, tmp_path, f'printf "{shown}"')
    assert cluster_settings() == {"MinJobAge": "300 sec", "PrologFlags": "a=b"}


def test_partitions_are_read_and_hidden_ones_and_those_that_cancel_too(monkeypatch, tmp_path):
    shown = ["main PreemptMode=REQUEUE", "g-2 Hidden=YES PreemptMode=GANG,CANCEL", "old"]
    lines = "\\n".join(f"PartitionName={part}" for part in shown)
    set_scontrol(monkeypatch, tmp_path, f'[ "$1$4" = --allpartition ] && printf "{lines}"')
    assert partition_names(partitions()) == ["main", "g-2", "old"]
    assert cancelling_partitions(partitions()) == ["g-2"]


def test_a_cluster_without_partitions_has_none(monkeypatch, tmp_path):
    set_scontrol(monkeypatch, tmp_path, "echo No partitions in the system")
    assert partitions() == []


def test_a_cluster_that_does_not_answer_is_an_error(monkeypatch, tmp_path):
    set_scontrol(monkeypatch, tmp_path, "echo no controller >&2; exit 1")
    with pytest.raises(ClusterError, match="no controller"):
        cluster_settings()


def test_a_machine_without_slurm_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClusterError, match="scontrol"):
        cluster_settings()
