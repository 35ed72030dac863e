"""What Snakemake's tools read: conda's environments, the catalog's schema, .test/."""

import re

import pytest
import yaml
from generators.snakemake_files import RULES, constraints, dependencies, written_out
from markdown_reading import ROOT

from collateral.config.load import read
from collateral.config.schema import BenchmarkConfig
from collateral.plan.paths import default_config

SCHEMA = ROOT / "workflow/schemas/config.schema.yaml"
# What PyPI calls a package that has another name on conda-forge.
PYPI = {"pytorch": "torch", "matplotlib-base": "matplotlib"}


@pytest.mark.parametrize("name", RULES)
def test_a_conda_environment_has_the_versions_of_the_constraints(name):
    packages = yaml.safe_load((ROOT / f"envs/{name}.yaml").read_text())["dependencies"]
    pins = dict(one.split(" ==") for one in packages if one != "pip" and " >=" not in one)
    assert len(pins) == len(packages) - 2  # Python and pip
    lines = (ROOT / "envs/constraints.txt").read_text().lower().splitlines()
    assert all(f"{PYPI.get(one, one)}=={version}" in lines for one, version in pins.items())


def test_an_environment_has_the_packages_of_its_extra_and_of_those_that_it_names():
    assert {"pandas", "pydantic"} < dependencies("figures") < dependencies("torch")
    assert "torch" in dependencies("torch") - dependencies("figures")
    assert not any("collateral" in name for name in dependencies("torch"))
    assert constraints()["jinja2"] == constraints()["Jinja2".lower()]


def rows(schema, place=""):
    """Return what the catalog's table shows: the path of every key, and its schema."""
    for name, one in schema.get("properties", {}).items():
        yield f"{place}{name}", one
        yield from rows(one, f"{place}{name}.")


def test_the_catalogs_table_has_every_key_of_a_benchmark_with_its_description():
    table = dict(rows(yaml.safe_load(SCHEMA.read_text())))
    keys = {name for name in table if re.fullmatch(r"benchmarks\.<name>\.\w+", name)}
    assert keys == {f"benchmarks.<name>.{name}" for name in BenchmarkConfig.model_fields}
    assert table["benchmarks.<name>.base.epochs"]["default"] == 200
    assert {"benchmarks.<name>.shadows.count", "figures.width"} < table.keys()
    assert all(one.get("description") for name, one in table.items() if name.count(".") == 3)
    assert "$ref" not in SCHEMA.read_text()


def test_a_reference_is_written_out_and_what_stands_beside_it_counts():
    parts = {"P": {"type": "object", "description": "P.", "properties": {"a": {"type": "string"}}}}
    shown = written_out({"anyOf": [{"$ref": "#/$defs/P"}, {"type": "null"}], "default": 1}, parts)
    assert shown == {**parts["P"], "default": 1}
    assert written_out({"$ref": "#/$defs/P", "description": "Own."}, parts)["description"] == "Own."


def test_the_config_of_test_is_the_smoke_run(monkeypatch):
    """As snakemake-github-action looks for it: `--directory .test`."""
    monkeypatch.chdir(ROOT / ".test")
    assert default_config() == "config/config.yaml"
    assert [*read(ROOT / ".test" / default_config()).benchmarks] == ["smoke"]
