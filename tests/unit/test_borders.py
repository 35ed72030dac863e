"""How many points verdicts of the default run are from changing, from numbers that are made up."""

import re

import pandas as pd
import pytest
from generators.borders import FILE, borders_table, find_border

from collateral.contract.verdicts import MEASURES
from collateral.findings.verdict import DIFFERENT, HARM, LIKE

# Mean, both ends of the interval of the difference, both of the equivalence test; margin, in rates.
QUIET = (0.0, -0.01, 0.01, -0.008, 0.009, 0.05)


class Numbers:
    """Stands for a cell: numbers of one run, QUIET unless a measure is given."""

    def __init__(self, **given: tuple[float, ...]) -> None:
        self.of = dict.fromkeys(MEASURES, QUIET) | given

    def number(self, run: str, name: str, at: str) -> float:
        ends = [
            f"{test}_{end}" for test in ("difference", "equivalence") for end in ("low", "high")
        ]
        return dict(zip(["difference", *ends, "margin"], self.of[at], strict=True))[name]


def border(verdict: str, **given: tuple[float, ...]) -> tuple[str, float]:
    found = find_border(Numbers(**given), "a", verdict)
    return found.measure, pytest.approx(found.points)


def test_like_retrain_ends_where_the_first_measure_leaves_its_margin():
    assert border(LIKE, mia=(0.02, 0.0, 0.04, 0.01, 0.035, 0.04)) == ("mia", 0.5)
    assert border(LIKE, ua=(-0.02, -0.04, 0.0, -0.047, 0.0, 0.05)) == ("ua", 0.3)


def test_harm_ends_where_the_last_loss_is_not_shown():
    """Its interval then has zero, or its mean is within the margin: what comes first."""
    near = (0.11, 0.07, 0.15, 0.08, 0.14, 0.05)
    far = (0.06, 0.05, 0.07, 0.05, 0.07, 0.03)
    assert border(HARM, near=near) == ("near", 6.0)
    assert border(HARM, near=near, far=far) == ("near", 6.0)
    assert border(HARM, far=far) == ("far", 3.0)
    assert border(HARM, near=near, ua=(0.9, 0.8, 1.0, 0.8, 1.0, 0.1)) == ("near", 6.0)


def test_a_difference_ends_where_it_is_not_shown_or_where_a_loss_is():
    ua = (-0.3, -0.36, -0.24, -0.35, -0.25, 0.1)
    assert border(DIFFERENT, ua=ua) == ("near", 5.0)
    assert border(DIFFERENT, ua=ua, far=(0.02, -0.004, 0.044, 0.0, 0.04, 0.03)) == ("far", 1.0)
    assert border(DIFFERENT, ua=(-0.13, -0.16, -0.1, -0.15, -0.11, 0.1)) == ("ua", 3.0)


def test_the_table_has_both_kinds_of_cpu_and_one_verdict_per_method():
    kept = pd.read_csv(FILE)
    assert kept.groupby("cpu").size().tolist() == [8, 8]
    assert (kept.groupby("method")["verdict"].nunique() == 1).all()
    assert (kept["points"] > 0).all()
    rows = borders_table().splitlines()[2:]
    assert len(rows) == 8
    assert all(re.search(r"\| \d+\.\d \| \d+\.\d \|$", row) for row in rows)
