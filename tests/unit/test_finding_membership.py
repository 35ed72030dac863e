"""Membership attacks: what they look at, and scores beside those of a plain SVC."""

import math

import numpy as np
import pytest
from sklearn.svm import SVC

from collateral.contract.rows import ATTACKS, MIA, score_name
from collateral.findings.membership import FEATURES as DESCRIPTIONS
from collateral.findings.membership import SCORES
from collateral.metrics.membership import (
    FEATURES,
    MAX_VECTORS,
    Examples,
    attack_scores,
    draw,
    entropy,
    modified_entropy,
    non_member_rate,
)

P = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]])
Y = np.array([0, 1, 2])
RETAIN = np.arange(2, 10)


def confidences(seed: int, n: int, surer: float = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Make confidences as of a net that is sure of its training data and less so of the rest."""
    rng = np.random.default_rng(seed)
    right = rng.normal(4 + surer, 2, n)
    test = np.where(rng.random(n) < 0.7, right, rng.normal(-2, 2, n))
    logits = rng.normal(6 + surer, 1.8, n), test, rng.normal(0.5 + surer, 3, 2000)
    members, non_members, targets = (1 / (1 + np.exp(-x)) for x in logits)
    return members, non_members, targets


def plain_rate(members: np.ndarray, non_members: np.ndarray, targets: np.ndarray) -> float:
    x = np.concatenate([members, non_members])[:, None]
    y = np.repeat([1, 0], [len(members), len(non_members)])
    return 1 - SVC(C=3, gamma="auto").fit(x, y).predict(targets[:, None]).mean()


def test_modified_entropy_is_as_worked_out_by_hand():
    # First row: -(0.3 ln 0.7 + 0.2 ln 0.8 + 0.1 ln 0.9) = 0.1070 + 0.0446 + 0.0105.
    assert modified_entropy(P, Y) == pytest.approx([0.162, 0.066, 0.764], abs=5e-4)  # 3 digits


def test_entropy_is_as_worked_out_by_hand():
    # First row: 0.7 * 0.35667 + 0.2 * 1.60944 + 0.1 * 2.30259.
    assert entropy(P)[0] == pytest.approx(0.80182, abs=5e-6)  # 5 digits
    assert entropy(np.full((1, 4), 0.25)) == pytest.approx([math.log(4)])


def test_certainty_has_finite_entropies():
    certain = np.array([[1.0, 0.0]])
    assert entropy(certain) == pytest.approx([0])
    assert modified_entropy(certain, np.array([0])) == pytest.approx([0])
    # Certain and wrong: both terms are -ln of the clamp, 1e-30.
    assert modified_entropy(certain, np.array([1])) == pytest.approx([60 * math.log(10)])


def test_features_come_from_the_right_part_of_the_outputs():
    logits, confidence = np.log(P).astype(np.float16), np.array([0.9, 0.8, 0.7])
    examples = Examples(logits, confidence, np.array([0, 1, 0]), Y)
    values = {name: feature(examples) for name, feature in FEATURES.items()}
    assert values["confidence"].tolist() == [0.9, 0.8, 0.7]  # the float32 pass, not the logits
    assert values["correctness"].tolist() == [1, 1, 0]
    assert values["probability"] == pytest.approx(P, abs=1e-3)  # float16 has 11 bits
    assert values["modified_entropy"] == pytest.approx([0.162, 0.066, 0.764], abs=3e-3)


def test_every_attack_looks_at_something_and_says_at_what():
    assert [*FEATURES] == [*DESCRIPTIONS] == [*ATTACKS]
    assert [*SCORES] == [score_name(attack) for attack in ATTACKS]
    assert SCORES[score_name(MIA)].label == "MIA"


def test_the_boundary_of_mirrored_groups_is_in_their_middle():
    members, non_members = np.ones(3), np.zeros(3)
    targets = np.array([0.1, 0.49, 0.51, 0.52, 0.9])
    assert non_member_rate(members, non_members, targets) == pytest.approx(2 / 5)


def test_the_boundary_of_mirrored_groups_of_vectors_is_in_their_middle():
    members, non_members = np.tile([1.0, 0.0], (3, 1)), np.tile([0.0, 1.0], (3, 1))
    targets = np.array([[0.4, 0.6], [0.1, 0.9], [0.6, 0.4], [0.3, 0.7]])
    assert non_member_rate(members, non_members, targets) == 0.75


def test_a_larger_group_outvotes_a_smaller_one_of_the_same_value():
    crowd, few = np.full(20, 0.5), np.full(10, 0.5)
    targets = np.array([0.5])
    assert non_member_rate(crowd, few, targets) == 0
    assert non_member_rate(few, crowd, targets) == 1


def test_weights_stand_for_repeated_points():
    values, counts = np.array([0.1, 0.4, 0.5, 0.6, 0.9]), np.array([4, 3, 2, 5, 7])
    is_member = np.array([0, 0, 1, 0, 1])
    # Tight: the default tolerance stops both somewhere near the same optimum.
    weighted = SVC(C=3, gamma="auto", tol=1e-10).fit(values[:, None], is_member, counts)
    repeated = SVC(C=3, gamma="auto", tol=1e-10).fit(
        np.repeat(values, counts)[:, None], np.repeat(is_member, counts)
    )
    grid = np.linspace(0, 1, 101)[:, None]
    difference = weighted.decision_function(grid) - repeated.decision_function(grid)
    assert np.abs(difference).max() < 1e-8


@pytest.mark.parametrize("seed", range(3))
def test_collapsing_gives_the_score_of_the_plain_svc(seed):
    members, non_members, targets = (x.round(3) for x in confidences(seed, 500))
    assert non_member_rate(members, non_members, targets) == plain_rate(
        members, non_members, targets
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("surer", [0, 3])  # with 3, nine members in ten are above 0.999
def test_collapsing_moves_the_score_by_at_most_a_fifth_of_a_point(seed, surer):
    members, non_members, targets = confidences(seed, 2000, surer)
    ours = non_member_rate(members, non_members, targets)
    changed = abs(ours - plain_rate(members, non_members, targets)) * len(targets)
    # Only targets beside the boundary can change sides.
    assert round(changed) <= 0.002 * len(targets)


def test_values_that_round_to_the_same_are_one_point_in_their_middle():
    # By hand: the boundary is in the middle of the groups' means, 0.0002 and 0.99955; rounded, the
    # groups would be 0 and 1, and the boundary 0.5.
    members, non_members = np.array([0.9995, 0.9996]), np.array([0.0, 0.0004])
    boundary = (0.99955 + 0.0002) / 2
    targets = np.array([boundary - 1e-5, boundary + 1e-5])
    assert non_member_rate(members, non_members, targets) == 0.5


def test_the_score_is_invariant_to_the_order_of_the_examples():
    groups = confidences(0, 300)
    rng = np.random.default_rng(1)
    shuffled = [rng.permutation(group) for group in groups]
    assert non_member_rate(*groups) == non_member_rate(*shuffled)


def test_a_score_of_numbers_that_are_not_is_undefined():
    for bad in (np.nan, np.inf):
        assert math.isnan(non_member_rate(np.ones(2), np.zeros(2), np.array([0.5, bad])))
        assert math.isnan(non_member_rate(np.array([1, bad]), np.zeros(2), np.ones(1)))


def test_long_lists_of_vectors_are_cut():
    near, far = np.tile([1.0, 0.0], (MAX_VECTORS, 1)), np.tile([0.0, 1.0], (MAX_VECTORS, 1))
    # What comes after the first 2,000 contradicts them, and is not looked at.
    members, non_members = np.concatenate([near, far, far]), np.concatenate([far, near, near])
    assert non_member_rate(members, non_members, np.array([[0.9, 0.1]])) == 0


def test_members_are_as_many_retained_examples_as_there_are_test_examples():
    drawn = draw(RETAIN, 5, seed=0)
    assert len(set(drawn.members.tolist())) == 5
    assert set(drawn.members.tolist()) <= set(RETAIN.tolist())
    assert sorted(drawn.non_members.tolist()) == list(range(5))


def test_members_are_all_retained_examples_where_these_are_fewer():
    drawn = draw(RETAIN, 20, seed=0)
    assert sorted(drawn.members.tolist()) == RETAIN.tolist()
    assert len(drawn.non_members) == 20


def test_the_draw_depends_on_the_seed_and_the_retained_examples_alone():
    other = np.array([1, *range(3, 10)])
    first = draw(RETAIN, 8, seed=0)
    assert np.array_equal(draw(RETAIN, 8, seed=0).members, first.members)
    assert not np.array_equal(draw(RETAIN, 8, seed=1).non_members, first.non_members)
    assert {*draw(other, 8, seed=0).members.tolist()} == {*other.tolist()}


def test_scores_hold_the_forget_set_against_members_and_test_set():
    # All retained examples are sure and right, all test examples unsure and wrong; of the two
    # forgotten ones, the first looks like the members and the second like the test set.
    sure, unsure = [4.0, -4.0], [-0.5, 0.5]
    train = np.array([sure, unsure, sure, sure, sure])
    test = np.array([unsure, unsure, unsure])
    forget, retain = np.array([0, 1]), np.array([2, 3, 4])

    def examples(logits: np.ndarray) -> Examples:
        p = np.exp(logits[:, 0]) / np.exp(logits).sum(axis=1)
        label = np.zeros(len(logits), dtype=np.int64)
        halves, confidence = logits.astype(np.float16), p.astype(np.float32)
        return Examples(halves, confidence, logits.argmax(axis=1), label)

    given = examples(train), examples(test), forget, draw(retain, 3, seed=0)
    assert attack_scores(*given, ATTACKS) == dict.fromkeys(ATTACKS, 0.5)
    assert attack_scores(*given, ["confidence"]) == {"confidence": 0.5}
