"""`collateral doctor`: what is here, what lacks, how to get it, and the exit code."""

import json
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.requirements import Requirement

from collateral.cli import main
from collateral.commands import doctor
from collateral.commands.doctor import (
    Check,
    check_machine,
    data_check,
    in_json,
    in_words,
    needed_bytes,
    read_config,
)
from collateral.config.load import load
from collateral.plan.grid import build_grid
from collateral.plan.paths import default_config

CONFIG = {
    "benchmarks": {
        "own": {
            "data": {"name": "digits"},
            "model": "resnet8",
            "seeds": [0],
            "classes": [0],
            "fractions": [0.5],
            "methods": {"ft": {}},
        }
    }
}


def checked(data) -> Check:
    """Return what is said of the data of a benchmark."""
    config = load({"benchmarks": {"own": CONFIG["benchmarks"]["own"] | {"data": data}}})
    return data_check(build_grid(config)["own"])


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def no_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(doctor.shutil, "which", lambda _: None)


def test_a_missing_thing_is_needed_or_optional():
    assert Check("a", "here").status == "ok"
    assert Check("a", "no a", "get it", is_needed=False).status == "optional"
    assert Check("a", "no a", "get it").status == "missing"


# Packages.


def test_the_groups_are_those_of_pyproject():
    groups = doctor.by_group(
        ["a>=1", 'b>=2; extra == "torch"', 'collateral[figures]; extra == "torch"']
    )
    assert {group: [r.name for r in listed] for group, listed in groups.items() if listed} == {
        "core": ["a"],
        "torch": ["b"],
    }
    assert {name for purpose in doctor.NEEDED.values() for name in purpose} < {*doctor.OPTIONAL}


def test_the_groups_hold_all_that_the_package_asks_for():
    wanted = doctor.distribution("collateral").requires
    groups = doctor.by_group(wanted)
    assert all(groups.values())
    named = {Requirement(text).name for text in wanted} - {"collateral"}
    assert {requirement.name for listed in groups.values() for requirement in listed} == named


def test_a_package_out_of_range_or_absent_is_asked_for_by_its_range(monkeypatch):
    have = {"one": "1.0", "two": "3.1"}

    def version(name):
        if name not in have:
            raise PackageNotFoundError(name)
        return have[name]

    monkeypatch.setattr(doctor, "version", version)
    wanted = [Requirement(text) for text in ("one>=1", "two>=2,<3", "three>=4")]
    check = doctor.group_check("torch", wanted)
    assert check.found == "one 1.0, two 3.1, three absent"
    assert check.remedy == "without them one cannot train: `pip install 'two<3,>=2' 'three>=4'`"
    assert check.status == "missing"
    assert doctor.group_check("torch", wanted[:1]) == Check("torch", "one 1.0")


def test_a_package_that_is_not_installed_says_how(monkeypatch):
    def distribution(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(doctor, "distribution", distribution)
    (check,) = doctor.package_checks()
    assert check.status == "missing" and "make setup" in check.remedy


# The machine.


def test_without_torch_the_device_is_unknown_and_training_is_not_possible(no_torch):
    check = doctor.device_check()
    assert check.found.startswith("unknown: torch does not import (")
    assert check.status == "missing"
    assert "pip install 'collateral[torch]'" in check.remedy


def fake_torch(monkeypatch, *, gpus=(), cuda="13.0", has_mps=False):
    torch = SimpleNamespace(
        cuda=SimpleNamespace(
            is_available=lambda: bool(gpus),
            device_count=lambda: len(gpus),
            get_device_properties=lambda index: gpus[index],
        ),
        backends=SimpleNamespace(mps=SimpleNamespace(is_available=lambda: has_mps)),
        version=SimpleNamespace(cuda=cuda),
    )
    monkeypatch.setitem(sys.modules, "torch", torch)


def test_every_gpu_is_named_with_its_memory(monkeypatch):
    gpus = [SimpleNamespace(name="A100", total_memory=40e9)] * 2
    fake_torch(monkeypatch, gpus=gpus)
    found = doctor.device_check().found
    assert found == "cuda 13.0: A100 (40.0 GB), A100 (40.0 GB)"


@pytest.mark.parametrize(
    ("cuda", "has_mps", "found"),
    [
        ("13.0", False, "cpu; torch is built for CUDA 13.0 and finds no GPU"),
        (None, False, "cpu; torch is without CUDA"),
        (None, True, "mps"),
    ],
)
def test_without_a_gpu_the_reason_is_shown(monkeypatch, cuda, has_mps, found):
    fake_torch(monkeypatch, cuda=cuda, has_mps=has_mps)
    assert doctor.device_check() == Check("device", found)


def test_a_memory_limit_of_a_container_is_shown(monkeypatch, tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal: 9000000 kB\nMemAvailable: 2000000 kB\n")
    (tmp_path / "limit").write_text("1000000000\n")
    monkeypatch.setattr(doctor, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(doctor, "MEMORY_LIMIT", tmp_path / "limit")
    assert doctor.memory_check().found.endswith(", 2.0 GB available, limited to 1.0 GB")
    (tmp_path / "limit").write_text("max\n")
    assert "limited" not in doctor.memory_check().found


def test_the_number_of_threads_is_shown_with_its_limit(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert "cores; OMP_NUM_THREADS=3" in doctor.threads_check().found


def test_a_disk_that_will_not_do_is_missing(tmp_path):
    assert doctor.disk_check(tmp_path / "results", 1.0).status == "ok"
    assert doctor.disk_check(tmp_path / "results", None).status == "ok"
    assert doctor.disk_check(tmp_path / "results", 1e18).status == "missing"


# The experiment.


def test_the_error_of_an_invalid_config_is_shown(tmp_path):
    (tmp_path / "bad.yaml").write_text("benchmark: {}\n")
    check, config = read_config(Path("bad.yaml"))
    assert config is None and check.status == "missing"
    assert "did you mean benchmarks" in check.remedy


def test_a_config_that_is_not_there_is_missing():
    check, config = read_config(Path("config.yaml"))
    assert config is None and check.status == "missing"
    assert check.found == "there is no file config.yaml"


def test_data_that_comes_with_a_package_is_there():
    assert checked({"name": "digits"}) == Check("data of own", "digits, nothing to fetch")


def test_data_that_would_be_downloaded_is_optional_and_else_missing():
    check = checked({"name": "svhn"})
    assert check.status == "optional"
    assert "data/train_32x32.mat; a run downloads it" in check.found
    check = checked({"name": "svhn", "download": False})
    assert check.status == "missing" and "housenumbers" in check.remedy


def test_data_in_its_folder_is_found(tmp_path):
    for name in ("train_32x32.mat", "test_32x32.mat"):
        (tmp_path / name).touch()
    assert checked({"name": "svhn", "root": str(tmp_path)}).found == f"svhn, in {tmp_path}"


def test_data_that_was_read_is_not_looked_for(tmp_path):
    (tmp_path / "results/own").mkdir(parents=True)
    (tmp_path / "results/own/dataset.npz").touch()
    assert checked({"name": "svhn", "download": False}).found == "svhn, read already"


def test_a_file_of_ones_own_is_named_where_it_is_not(tmp_path):
    data = {"name": "arrays", "path": str(tmp_path / "own.npz")}
    check = checked(data)
    assert check.found == f"arrays: there is no {tmp_path / 'own.npz'}"
    assert check.status == "missing" and "`data:`" in check.remedy
    (tmp_path / "own.npz").touch()
    assert checked(data).found == f"arrays, in {tmp_path / 'own.npz'}"


def test_the_disk_that_a_config_takes_is_known_but_for_data_of_ones_own(tmp_path):
    assert needed_bytes(load(CONFIG), 1) > 1e6
    data = {"name": "arrays", "path": str(tmp_path / "own.npz")}
    own = {"benchmarks": {"own": CONFIG["benchmarks"]["own"] | {"data": data}}}
    assert needed_bytes(load(own), 1) is None


# Programs.


def test_without_slurm_only_a_cluster_misses_it(no_torch):
    checks = {purpose: [*check_machine(Path("none"), purpose, Path())] for purpose in doctor.NEEDED}
    found = {purpose: one for purpose in checks for one in checks[purpose] if one.name == "SLURM"}
    assert found.keys() == doctor.NEEDED.keys()
    assert [purpose for purpose in found if found[purpose].status == "missing"] == ["cluster"]


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """Return a function that makes a SLURM whose `scontrol` does what it is told."""

    def make(scontrol: str) -> None:
        scripts = {"sbatch": "echo slurm 22.05.8", "scontrol": scontrol}
        for name, script in scripts.items():
            (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
            (tmp_path / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    return make


def test_a_cluster_that_answers_is_named(slurm, monkeypatch):
    slurm("echo 'ClusterName = big'")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    found = doctor.slurm_check()
    assert found == Check("SLURM", "slurm 22.05.8, cluster big; inside job 7")


def test_the_last_line_of_a_cluster_that_does_not_answer_is_shown(slurm):
    slurm("echo first >&2; echo 'fatal: no controller' >&2; exit 1")
    check = doctor.slurm_check()
    assert check.found == "slurm 22.05.8; it does not answer: fatal: no controller"
    assert check.status == "missing"


@pytest.fixture
def profile(tmp_path):
    """Return a function that writes the profile, with these resources for all and for `base`."""

    def write(all_jobs: object, base: object = None) -> None:
        (tmp_path / "profiles/slurm").mkdir(parents=True)
        content = {"default-resources": all_jobs, "set-resources": {"base": base}}
        (tmp_path / doctor.PROFILE).write_text(json.dumps(content))

    return write


def partition_checks() -> list[Check]:
    return [*doctor.partition_checks()]


def test_a_partition_that_is_not_there_is_missing(slurm, profile):
    slurm("echo PartitionName=gpu; echo PartitionName=cpu")
    profile({"slurm_partition": "cpu"}, {"slurm_partition": "gpus"})
    (check,) = partition_checks()
    assert check.found == "cpu, gpus, by profiles/slurm/config.yaml"
    assert check.remedy == "no partition 'gpus'; known: gpu, cpu; did you mean gpu?"
    assert check.status == "missing"


def test_a_profile_that_cannot_be_read_is_named(slurm, profile, tmp_path):
    slurm("true")
    profile({})
    (tmp_path / doctor.PROFILE).write_text("jobs: [")
    (check,) = partition_checks()
    assert check.found.startswith("profiles/slurm/config.yaml: line 1: ")
    assert check.status == "missing"


def test_partitions_that_are_there_are_named(slurm, profile):
    slurm("echo PartitionName=gpu")
    profile({"slurm_partition": "gpu"})
    (check,) = partition_checks()
    assert check == Check("partition", "gpu, by profiles/slurm/config.yaml")


@pytest.mark.parametrize("resources", [None, {}, ["slurm_partition=gpu"], {"qos": "fast"}])
def test_without_a_partition_in_the_profile_nothing_is_said(slurm, profile, resources):
    slurm("echo PartitionName=cpu")
    profile(resources)
    assert partition_checks() == []


def test_partitions_of_a_cluster_that_does_not_answer_are_not_looked_for(slurm, profile):
    slurm("exit 1")
    profile({"slurm_partition": "gpu"})
    assert partition_checks() == []


# All of it.


def test_missing_things_come_last_with_a_remedy():
    checks = [Check("one", "1"), Check("three", "no", "buy it")]
    said = in_words(checks).splitlines()
    assert said[2:] == ["  one    1", "  three  no", "", "Missing:", "  three: buy it"]
    assert in_words(checks[:1]).endswith("\n\nNothing is missing.")


def test_machines_read_the_same():
    told = json.loads(in_json([Check("one", "1"), Check("two", "no", "buy it", is_needed=False)]))
    assert told["is_whole"] is True
    assert [check["status"] for check in told["checks"]] == ["ok", "optional"]
    assert {"collateral", "package", "python", "platform"} < told.keys()


def test_where_the_folder_has_no_config_the_shipped_one_is_looked_at(tmp_path, capsys):
    main(["doctor", "--json", "--for", "figures", "--results", str(tmp_path)])
    checks = json.loads(capsys.readouterr().out)["checks"]
    (check,) = [check for check in checks if check["name"] == "config"]
    assert check["status"] == "ok"
    assert check["found"].startswith(f"{default_config()}: ")


def test_figures_need_no_torch_and_a_run_does(no_torch, capsys, tmp_path):
    (tmp_path / "config.yaml").write_text(json.dumps(CONFIG))
    main(["doctor", "--for", "figures"])
    assert "Nothing is missing." in capsys.readouterr().out
    with pytest.raises(SystemExit) as stop:
        main(["doctor", "--json"])
    assert stop.value.code == 1
    told = json.loads(capsys.readouterr().out)
    assert [check["name"] for check in told["checks"] if check["status"] == "missing"] == ["device"]
