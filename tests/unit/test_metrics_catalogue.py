import pytest

from collateral.findings.catalogue import METRICS, metric_of
from collateral.findings.gap.numbers import TERMS


def test_rates_and_their_differences_are_shown_in_hundreds():
    assert {METRICS[name].factor for name in ("ua", "avg_gap", "delta_acc")} == {100}
    assert {METRICS[name].factor for name in ("rte", "bin_low", "bin_count")} == {1}


def test_a_name_with_parts_is_of_its_family():
    assert metric_of("delta_acc:test:09") is METRICS["delta_acc"]
    assert metric_of("floor:ua") is METRICS["floor"]
    assert metric_of("seconds:teacher") is METRICS["seconds"]


def test_the_terms_of_each_gap_are_in_its_group_and_held_against_retrain():
    for gap, terms in TERMS.items():
        for name in terms:
            assert METRICS[name].group == METRICS[gap].group
            assert METRICS[name].ideal == "retrain"


@pytest.mark.parametrize("field", ["label", "description"])
def test_no_two_metrics_are_told_alike(field):
    texts = [getattr(metric, field) for metric in METRICS.values()]
    assert len(set(texts)) == len(texts) == len(METRICS) > 20


def test_what_is_neither_good_nor_bad_is_of_the_reference():
    without_ideal = {name for name, metric in METRICS.items() if metric.ideal is None}
    assert without_ideal == {n for n, metric in METRICS.items() if metric.group == "reference"}
