"""docs/outputs.md names every table and figure that docs/formats.md has, and none besides."""

import re

import pytest
from markdown_reading import ROOT

FORMATS = (ROOT / "docs/formats.md").read_text()
TOUR = (ROOT / "docs/outputs.md").read_text()
NAME = r"[a-z][a-z-]*(?:<name>)?(?:-?\*)?"


def in_formats(kind: str) -> set[str]:
    """Return the names in the row of the files of a cell."""
    (row,) = re.findall(rf"^\| `<benchmark>/{kind}/<cell>/` \|(.*)$", FORMATS, re.M)
    return {name for name in re.findall(rf"`({NAME})`", row) if name != kind}


def in_tour(kind: str) -> set[str]:
    return set(re.findall(rf"`{kind}/<cell>/({NAME})(?:\.png)?`", TOUR))


@pytest.mark.parametrize("kind", ["tables", "figures"])
def test_the_tour_has_what_the_reference_has(kind):
    assert len(in_formats(kind)) > 5
    assert in_tour(kind) == in_formats(kind)
