"""The verdict on a number, by what was measured about it."""

import math
from dataclasses import replace

import pytest

from collateral.contract.claims import Claim
from collateral.findings.trust.rule import (
    NOT,
    TRUST,
    WITH,
    Evidence,
    find_cells_with_something_to_forget,
    judge,
)

LEAST = {
    "least_auc": 0.8,
    "least_dose": 0.75,
    "passes": 0.65,
    "most_change": 0.2,
    "flat": 0.1,
    "least_models": 20,
}
HIGH, EVEN, LOW = (0.97, 0.90, 0.99), (0.50, 0.44, 0.56), (0.03, 0.01, 0.10)
# A number that is right about every known model.
RIGHT = Evidence(
    HIGH, silent=HIGH, damaged=HIGH, hurt=EVEN, recipe=EVEN, dose=0.9, change=0.1, seeds=20
)
# A number of harm that is right about every known model.
HURTS = Evidence(EVEN, silent=EVEN, damaged=EVEN, hurt=HIGH, recipe=EVEN, dose=0.5, seeds=20)
PROBE, UA = Claim("linear_accuracy", "inside", 1), Claim("ua", "outputs", 1)
TA, NEAR = Claim("ta", "harm", -1), Claim("near_loss", "harm", 1, "test")
SLOPE = Claim("locality_slope", "locality", 1, "test")


def verdicts(found):
    return {one.claim: one for one in judge(found, LEAST)}


def test_a_number_that_is_right_about_every_known_model_is_trusted():
    (found,) = judge({UA: {"part": RIGHT, "random": RIGHT}}, LEAST)
    assert (found.code, found.failures, found.words) == (TRUST, (), "trust")


@pytest.mark.parametrize(
    ("change", "failure"),
    [
        ({"auc": (0.85, 0.79, 0.95)}, "tells"),
        ({"dose": 0.74}, "dose"),
        ({"hurt": (0.60, 0.51, 0.70)}, "hurt"),
        ({"recipe": (0.80, 0.51, 0.95)}, "recipe"),
        ({"change": 0.21}, "change"),
        ({"reference": 0.21}, "reference"),
    ],
)
def test_a_metric_that_fails_in_one_cell_is_not_trusted(change, failure):
    worse = replace(RIGHT, **change)
    found = verdicts({UA: {"part": RIGHT, "random": worse}, PROBE: {"part": RIGHT}})
    assert (found[UA].code, found[UA].failures) == (NOT, (failure,))
    assert found[PROBE].code == TRUST


@pytest.mark.parametrize("impostor", ["silent", "damaged"])
def test_a_number_with_one_impostor_is_used_only_with_one_that_exposes_it(impostor):
    fooled = replace(RIGHT, **{impostor: (0.7, 0.64, 0.76)})
    found = verdicts({UA: {"part": fooled}, PROBE: {"part": RIGHT}})
    assert (found[UA].code, found[UA].partner) == (WITH, PROBE)
    alone = verdicts({UA: {"part": fooled}})
    assert (alone[UA].code, alone[UA].partner) == (NOT, None)


def test_two_impostors_are_one_too_many():
    fooled = replace(RIGHT, silent=EVEN, damaged=EVEN)
    found = verdicts({UA: {"part": fooled}, PROBE: {"part": RIGHT}})
    assert (found[UA].code, found[UA].failures) == (NOT, ("silent", "damaged"))


def test_where_no_output_tells_there_is_nothing_to_forget_and_no_failure():
    nothing = replace(RIGHT, auc=EVEN, dose=0.5, silent=EVEN, damaged=EVEN)
    found = {UA: {"part": RIGHT, "random": nothing}, PROBE: {"part": RIGHT, "random": nothing}}
    assert find_cells_with_something_to_forget(found) == {"part"}
    assert [one.code for one in judge(found, LEAST)] == [TRUST, TRUST]
    assert judge({UA: {"random": nothing}}, LEAST) == []


def test_a_sign_is_never_turned_round_afterwards():
    turned = replace(RIGHT, auc=LOW, silent=LOW, damaged=LOW, dose=0.1)
    found = verdicts({UA: {"part": turned}, PROBE: {"part": RIGHT}})
    assert found[UA].code == NOT
    assert found[UA].failures == ("tells", "dose", "silent", "damaged")


def test_a_number_of_the_inside_may_be_about_hidden_knowledge_alone():
    hidden = replace(RIGHT, auc=EVEN, dose=0.5)
    found = verdicts({PROBE: {"part": hidden}, UA: {"part": RIGHT}})
    assert found[PROBE].code == TRUST
    assert verdicts({UA: {"part": hidden}, PROBE: {"part": RIGHT}}).keys() == set()


def test_what_was_not_measured_is_not_judged():
    for key in ("dose", "silent", "damaged", "hurt"):
        unknown = math.nan if key == "dose" else (math.nan,) * 3
        assert judge({UA: {"part": replace(RIGHT, **{key: unknown})}}, LEAST) == []


def test_too_few_models_give_no_verdict_rather_than_a_bad_one():
    assert judge({UA: {"part": RIGHT, "random": replace(RIGHT, seeds=19)}}, LEAST) == []


def test_harm_must_be_seen_in_a_damaged_retrain_and_not_in_forgetting():
    found = verdicts({TA: {"part": HURTS}, NEAR: {"part": HURTS}, UA: {"part": RIGHT}})
    assert [found[one].code for one in (TA, NEAR, UA)] == [TRUST, TRUST, TRUST]
    moved = replace(HURTS, auc=(0.61, 0.55, 0.67))
    assert verdicts({TA: {"part": HURTS}, NEAR: {"part": moved}})[NEAR].failures == ("moves",)
    blind = replace(HURTS, hurt=(0.85, 0.79, 0.9))
    assert verdicts({TA: {"part": HURTS}, NEAR: {"part": blind}})[NEAR].failures == ("blind",)


def test_where_test_accuracy_differs_harm_may_move_with_the_forget_set():
    moved = replace(HURTS, auc=(0.61, 0.55, 0.67))
    found = verdicts({TA: {"part": moved}, NEAR: {"part": moved}})
    assert found[NEAR].code == TRUST


def test_locality_is_never_trusted_alone():
    flat = replace(HURTS, hurt=EVEN)
    found = verdicts({TA: {"part": HURTS}, NEAR: {"part": HURTS}, SLOPE: {"part": flat}})
    assert (found[SLOPE].code, found[SLOPE].partner) == (WITH, NEAR)
    alone = verdicts({TA: {"part": HURTS}, SLOPE: {"part": flat}})
    assert alone[SLOPE].code == NOT
    anywhere = verdicts({TA: {"part": HURTS}, NEAR: {"part": HURTS}, SLOPE: {"part": HURTS}})
    assert anywhere[SLOPE].failures == ("anywhere",)


def test_a_claim_states_a_known_subject_and_a_direction():
    with pytest.raises(ValueError, match="about"):
        Claim("ua", "fame", 1)
    with pytest.raises(ValueError, match="sign"):
        Claim("ua", "outputs", 0)
