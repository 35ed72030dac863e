"""The packages that are installed, against the ranges that pyproject.toml asks for."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution, version

from packaging.requirements import Requirement

from collateral.doctor.check import Check

PACKAGE = "collateral"
CORE = "core"
# The groups of pyproject.toml, and what one cannot do without them.
GROUPS = {
    CORE: "read a config",
    "figures": "make tables, figures and pages",
    "torch": "train",
    "workflow": "run snakemake",
    "ann": "search neighbours approximately (LTD's `search: approximate`)",
    "parquet": "read data sets in parquet files",
    "docs": "make the site of docs/ (`make docs` has an environment of its own)",
    "dev": "run the tests",
}
# By purpose: the groups whose packages must be there.
NEEDED = {
    "figures": (CORE, "figures", "workflow"),
    "run": (CORE, "figures", "torch", "workflow"),
    "cluster": (CORE, "figures", "torch", "workflow"),
    "test": (CORE, "figures", "torch", "workflow", "dev"),
}


def package_checks(purpose: str) -> Iterator[Check]:
    """Yield a line for each group of packages."""
    try:
        wanted = distribution(PACKAGE).requires or []
    except PackageNotFoundError:
        how = "`make setup` in a checkout, or `pip install 'collateral[torch,workflow]'`"
        yield Check("packages", "collateral itself is not installed", how, is_needed=True)
        return
    for group, requirements in by_group(wanted).items():
        yield group_check(group, requirements, is_needed=group in NEEDED[purpose])


def by_group(wanted: Iterable[str]) -> dict[str, list[Requirement]]:
    """Sort what the package asks for by its extras; a group within a group is left out."""
    found: dict[str, list[Requirement]] = {group: [] for group in GROUPS}
    for requirement in map(Requirement, wanted):
        for group, listed in found.items():
            if requirement.name != PACKAGE and _is_of(requirement, group):
                listed.append(requirement)
    return found


def group_check(group: str, requirements: Iterable[Requirement], *, is_needed: bool) -> Check:
    """Say which versions there are of a group, and how to get what lacks."""
    found, lacking = [], []
    for requirement in requirements:
        installed = _installed(requirement.name)
        if installed is None or not requirement.specifier.contains(installed, prereleases=True):
            lacking.append(requirement)
        found.append(f"{requirement.name} {installed or 'absent'}")
    if not lacking:
        return Check(group, ", ".join(found))
    asked = [f"{requirement.name}{requirement.specifier}" for requirement in lacking]
    remedy = f"without them one cannot {GROUPS[group]}: `pip install {shlex.join(asked)}`"
    return Check(group, ", ".join(found), remedy, is_needed)


def _is_of(requirement: Requirement, group: str) -> bool:
    if requirement.marker is None:
        return group == CORE
    # Of a marker such as `extra == "dev"`, whatever else it says.
    asked = {extra for extra in GROUPS if requirement.marker.evaluate({"extra": extra})}
    return group == CORE if asked == {*GROUPS} else group in asked


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
