"""Files for Snakemake's tools: conda's environments, and the schema that the catalog shows."""

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

from collateral.config.json_schema import DIALECT, Schema, json_schema

ROOT = Path(__file__).resolve().parents[2]
# Names on conda-forge that differ from those on PyPI.
CONDA_NAMES = {"torch": "pytorch", "matplotlib": "matplotlib-base"}
RULES = {
    "figures": "the rules that need neither torch nor a GPU",
    "torch": "the rules that train, infer or read data sets",
}
SHOWN = ("description", "type", "default", "enum", "minimum", "maximum", "required")


def conda_file(name: str) -> str:
    """Return a conda environment: an extra of the package with the versions of constraints.txt."""
    head = (
        f"# For `snakemake --sdm conda`: {RULES[name]}; the package itself comes by "
        f"{name}.post-deploy.sh.\n# Written by docs/generate.py from pyproject.toml and "
        "constraints.txt.\nchannels: [conda-forge, nodefaults]\ndependencies:\n"
    )
    python = project()["requires-python"]
    lines = [f"python {python}", "pip", *conda_pins(name)]
    return head + "".join(f"  - {line}\n" for line in lines)


def whole_environment() -> str:
    """Return the conda environment of everything: pip installs in it what `make setup` installs."""
    [package] = re.findall(r"^\$\(VENV\)/\.done:(?:.*\n\t)+?.* -e '(\S+)'$", makefile(), re.M)
    oldest = project()["requires-python"].removeprefix(">=")
    lines = [f"python {oldest}.*", "pip", "pip:"]
    lines += ["  - --constraint envs/constraints.txt", f"  - --editable {package}"]
    return (
        "# `conda env create --file environment.yml` in a checkout: what `make setup` installs.\n"
        "# Written by docs/generate.py from the Makefile.\n"
        "name: collateral\nchannels: [conda-forge, nodefaults]\ndependencies:\n"
    ) + "".join(f"{'    ' if line.startswith('  ') else '  - '}{line}\n" for line in lines)


def makefile() -> str:
    """Return the text of the Makefile."""
    return (ROOT / "Makefile").read_text()


def conda_pins(name: str) -> list[str]:
    """Return the dependencies of an extra with exact versions, as conda writes them."""
    versions = constraints()
    names = sorted(dependencies(name), key=str.lower)
    return [f"{CONDA_NAMES.get(one, one.lower())} =={versions[one.lower()]}" for one in names]


def dependencies(extra: str) -> set[str]:
    """Return the names of the packages that an extra needs, with those of extras that it names."""
    about = project()
    texts = [*about["dependencies"], *about["optional-dependencies"][extra]]
    found = {re.split(r"[<>=,]", text)[0] for text in texts}
    others = {re.fullmatch(r"collateral\[(\w+)\]", one) for one in found} - {None}
    for other in others:
        found = found - {other[0]} | dependencies(other[1])
    return found


def project() -> dict[str, Any]:
    """Return the table `project` of pyproject.toml."""
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return found


def constraints() -> dict[str, str]:
    """Return the exact version of every package by its name in lower case."""
    lines = (ROOT / "envs/constraints.txt").read_text().splitlines()
    pins = [line.split("==") for line in lines if not line.startswith("#")]
    return {name.lower(): version for name, version in pins}


def catalog_schema() -> str:
    """Return the config's schema with every reference written out, as the catalog needs it.

    The Snakemake workflow catalog makes a table of `properties`, and follows no `$ref`.
    """
    schema = json_schema()
    parts = schema["$defs"]
    top = written_out(schema, parts)
    benchmark = written_out(parts["BenchmarkConfig"], parts)
    top["properties"]["benchmarks"]["properties"] = {"<name>": benchmark}
    head = "# The config's keys for the Snakemake workflow catalog. Written by docs/generate.py.\n"
    return head + yaml.safe_dump({"$schema": DIALECT, **top}, sort_keys=False, width=100)


def written_out(schema: Schema, parts: dict[str, Schema]) -> Schema:
    """Return what the catalog shows of a schema, and of its properties."""
    schema = follow(schema, parts)
    found = {key: schema[key] for key in SHOWN if key in schema}
    if below := schema.get("properties"):
        found["properties"] = {name: written_out(one, parts) for name, one in below.items()}
    return found


def follow(schema: Schema, parts: dict[str, Schema]) -> Schema:
    """Return a schema with the one that it refers to, as its whole or as its first choice."""
    choices = [schema, *schema.get("anyOf", []), *schema.get("allOf", [])]
    names = [one["$ref"].rpartition("/")[2] for one in choices if "$ref" in one]
    return {**parts[names[0]], **schema} if names else schema
