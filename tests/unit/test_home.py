"""`collateral where`: the Snakefile of a checkout, or the one that the wheel brought."""

import os
from pathlib import Path

import pytest

import collateral
from collateral.cli import main
from collateral.plan import paths as install_paths

ROOT = Path(__file__).resolve().parents[2]


def test_in_a_checkout_it_is_the_one_at_the_top(capsys):
    main(["where"])
    main(["where", "--folder"])
    assert capsys.readouterr().out.split() == [str(ROOT / "Snakefile"), str(ROOT)]


def test_in_an_installed_package_it_is_the_one_inside(capsys, tmp_path, monkeypatch):
    (tmp_path / "Snakefile").touch()
    monkeypatch.setattr(install_paths, "SHIPPED", tmp_path)
    main(["where"])
    assert capsys.readouterr().out.strip() == str(tmp_path / "Snakefile")


def test_without_a_snakefile_the_searched_folders_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(install_paths, "SHIPPED", tmp_path / "one")
    monkeypatch.setattr(install_paths, "CHECKOUT", tmp_path / "two")
    with pytest.raises(SystemExit, match=r"collateral where: no Snakefile in .*/one or .*/two"):
        main(["where"])


def test_conda_gets_the_checkout_or_else_the_same_release(monkeypatch):
    for variable in (install_paths.CHECKOUT_VARIABLE, install_paths.VERSION_VARIABLE):
        monkeypatch.setenv(variable, "before")
    install_paths.set_install_variables(ROOT)
    assert os.environ[install_paths.CHECKOUT_VARIABLE] == str(ROOT)
    install_paths.set_install_variables(install_paths.SHIPPED)
    assert os.environ[install_paths.CHECKOUT_VARIABLE] == ""
    assert os.environ[install_paths.VERSION_VARIABLE] == collateral.__version__


def test_the_config_of_the_working_folder_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert install_paths.default_config() == str(ROOT / "config.yaml")
    (tmp_path / "config.yaml").touch()
    assert install_paths.default_config() == "config.yaml"
