"""How numbers are told: labels, units, digits, signs, headings."""

import math
import re
from pathlib import Path

import pytest

from collateral.contract.metrics import DIGITS, Metric, format_exact_percent, format_percent
from collateral.findings.gap import TERMS
from collateral.findings.metric_index import find_metric, is_known
from collateral.plugins.find import FINDING

KNOWN = {
    name: metric
    for finding in FINDING.names()
    for name, metric in getattr(FINDING.load(finding), "METRICS", {}).items()
}


def test_rates_and_their_differences_are_shown_in_hundreds():
    assert {find_metric(name).factor for name in ("ua", "avg_gap", "delta_acc")} == {100}
    assert {find_metric(name).factor for name in ("rte", "bin_low", "bin_count")} == {1}


def test_the_terms_of_each_gap_are_metrics_with_retrain_as_ideal():
    for gap, terms in TERMS.items():
        assert find_metric(gap).ideal == "low"
        assert {find_metric(name).ideal for name in terms} == {"retrain"}


@pytest.mark.parametrize("field", ["label", "description"])
def test_no_two_metrics_have_the_same_text(field):
    texts = [getattr(metric, field) for metric in KNOWN.values()]
    assert len(set(texts)) == len(texts) == len(KNOWN) > 60


def test_the_guide_lists_every_unit_and_how_it_is_shown():
    text = (Path(__file__).resolve().parents[2] / "docs" / "extend.md").read_text()
    rows = [row.split(" | ") for row in text.splitlines() if row.startswith('| `"')]
    listed = [unit for row in rows for unit in re.findall(r'`"(.*?)"`', row[0])]
    assert sorted(listed) == sorted(DIGITS)
    for first, _, stored, as_text in rows:
        units = re.findall(r'`"(.*?)"`', first)
        values = [float(n) for n in re.findall(r"-?[\d.]+(?![\d\]])", _plain(stored))]
        shown = as_text.removesuffix(" |").split("; ")
        for place, unit in enumerate(units):
            value, expected = values[place % len(values)], shown[place % len(shown)]
            assert Metric("", "", unit).text(value) == expected, unit


def _plain(stored: str) -> str:
    """Return a value of the guide's table without what is said of it."""
    return stored.replace("−", "-").removesuffix(", in [0, 1]").rpartition("1: ")[2]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (("percent",), "metric 'Own': unit: 'percent' is not allowed; allowed: ['%', 'points', "),
        ((None,), "unit: None is not allowed"),
        (("%", "best"), "ideal: 'best' is not allowed; allowed: [None, 'retrain', 'high', 'low']"),
    ],
)
def test_an_unknown_unit_or_ideal_is_refused_where_a_metric_is_made(values, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        Metric("Own", "mine", *values)


def test_a_name_that_no_finding_declares_is_what_a_method_reports():
    assert not is_known("mine")
    assert find_metric("mine").description == "a number that a method reports"


def test_only_times_and_memory_are_costs():
    costs = {name for name, metric in KNOWN.items() if metric.is_cost}
    of_times = {"rte_share", "paying_deletions", "on_device", "budget_gap", "budget_epoch"}
    of_times |= {"rounds_share", "retrain_by_cost", "rte_share_with_tuning"}
    assert costs - of_times == {n for n, metric in KNOWN.items() if metric.unit in ("s", "MB")}


@pytest.mark.parametrize(
    ("unit", "value", "text"),
    [
        ("%", 0.47449, "47.4"),
        ("points", -0.258, "−25.8"),
        ("points", -0.0002, "0.0"),
        ("s", 3.14159, "3.1"),
        ("s", 0.0501, "0.1"),
        ("s", 0.0499, "< 0.1"),
        ("s", 0.0, "0.0"),
        ("s", 314.159, "314"),
        ("MB", 301.7, "302"),
        ("nats", 0.12345, "0.123"),
        ("cosine", 0.756, "0.76"),
        ("", 0.123456, "0.1235"),
        ("", 1234567.0, "1.235e+06"),
    ],
)
def test_a_number_is_written_in_its_unit_with_its_digits(unit, value, text):
    assert Metric("x", "x", unit).text(value) == text


def test_a_share_in_a_sentence_is_rounded_and_one_of_the_config_is_not():
    assert [format_percent(share) for share in (0.5, 0.125, 0.01, 0.0034)] == [
        "50 %",
        "12 %",
        "1 %",
        "0.3 %",
    ]
    assert [format_exact_percent(share) for share in (0.5, 0.125, 0.29)] == [
        "50 %",
        "12.5 %",
        "29 %",
    ]


def test_a_metric_may_have_digits_of_its_own():
    assert Metric("x", "x", "cosine", digits=3).text(0.7564) == "0.756"


def test_the_spread_has_the_digits_of_the_number():
    assert Metric("x", "x", "s").text(31.4159, 0.567) == "31.4 ± 0.6"
    assert Metric("x", "x", "%").text(0.5, math.nan) == "50.0"


def test_a_difference_has_its_sign_unless_it_rounds_to_zero():
    points = Metric("x", "x", "points")
    texts = [points.text(value, sign=True) for value in (0.258, -0.258, 0.0004, -0.0004)]
    assert texts == ["+25.8", "−25.8", "0.0", "0.0"]


def test_an_undefined_number_is_a_dash():
    assert Metric("x", "x", "%").text(math.nan, 0.1) == "–"


@pytest.mark.parametrize(
    ("unit", "heading"), [("%", "X (%)"), ("s", "X (s)"), ("points", "X"), ("epochs", "X")]
)
def test_a_heading_has_the_unit_where_the_label_does_not_say_it(unit, heading):
    assert Metric("X", "x", unit).heading == heading


def test_a_slope_is_shown_in_points_per_tenth():
    assert find_metric("class_slope").text(-0.5049) == "−5.05"


def test_a_spread_in_the_last_bits_is_none():
    assert Metric("x", "x", "").text(0.99, 1.4e-16) == "0.99 ± 0"
    assert Metric("x", "x", "").text(0.99, 1.4e-4) == "0.99 ± 0.00014"
