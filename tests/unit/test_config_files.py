"""Snakemake reads config files by its own reader; ours goes before it."""

from importlib import import_module

import pytest

configfile = pytest.importorskip("snakemake.common.configfile")
from snakemake.exceptions import WorkflowError  # noqa: E402
from snakemake.settings.types import ConfigSettings  # noqa: E402

import snakemake_logger_plugin_collateral as config_files  # noqa: E402


@pytest.fixture(autouse=True)
def strict(monkeypatch):
    monkeypatch.setattr(configfile, config_files.READER, config_files.ORIGINAL)
    config_files.read_strictly()


def complaint(path, text) -> str:
    path.write_text(text)
    with pytest.raises(WorkflowError) as error:
        ConfigSettings(configfiles=[path])
    return str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: !!python/object:os.system {}", "line 1: the tag 'tag:yaml.org,2002:python/object:os"),
        ("a: 1\na: 2", "line 2: while constructing a mapping: found duplicate key"),
        ("a: 1\n\tb: 2", "line 2: while scanning"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_before_snakemake_reads_it(tmp_path, text, said):
    path = tmp_path / "config.yaml"
    assert complaint(path, text).startswith(f"The config is not valid:\n{path}: {said}")


def test_code_in_a_config_is_not_run(tmp_path):
    done = tmp_path / "done"
    text = f"__use_yte__: true\na: ?open({str(done)!r}, 'w')\n"
    assert "__use_yte__" in complaint(tmp_path / "config.yaml", text)
    assert not done.exists()


def test_what_is_right_snakemake_reads_itself(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("a: {b: [1, 2]}")
    assert ConfigSettings(configfiles=[path]).overwrite_config == {"a": {"b": [1, 2]}}


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    for path, said in ((tmp_path / "no.yaml", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(WorkflowError, match=f"{path}: {said}"):
            ConfigSettings(configfiles=[path])


def test_the_logger_sees_to_it(monkeypatch):
    """Snakemake makes its loggers before it reads config files."""
    called = []
    plugin = import_module("snakemake_logger_plugin_collateral")
    monkeypatch.setattr(plugin, "read_strictly", lambda: called.append(True))
    settings = import_module("snakemake.settings.types").OutputSettings()
    plugin.LogHandler(settings, None).close()
    assert called == [True]
