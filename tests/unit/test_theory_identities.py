"""Every identity of P1 to P4, over random data of random size."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paper.theory.checks import DEFAULT_TOLERANCE, TOLERANCES
from paper.theory.identities import PROPOSITIONS, Sides, Size, error

RUNS = 8


def names(proposition):
    return list(PROPOSITIONS[proposition](np.random.default_rng(0), Size(1, 4, 8, 2, 3)))


IDENTITIES = [(p, name) for p in PROPOSITIONS for name in names(p)]


@st.composite
def sizes(draw):
    short = draw(st.integers(3, 15))
    # Square Gaussian matrices have no bounded condition number, and would test float64 instead.
    long = short + draw(st.integers(4, 20))
    return Size(RUNS, short, long, draw(st.integers(1, short - 2)), draw(st.integers(1, 40)))


@pytest.mark.parametrize(("proposition", "name"), IDENTITIES, ids=[name for _, name in IDENTITIES])
@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), size=sizes())
def test_both_sides_agree(proposition, name, seed, size):
    sides = PROPOSITIONS[proposition](np.random.default_rng(seed), size)[name]
    assert error(sides) <= TOLERANCES.get(name, DEFAULT_TOLERANCE)


def test_every_listed_identity_is_there():
    count = {p: sum(q == p for q, _ in IDENTITIES) for p in PROPOSITIONS}
    assert count == {"P1": 8, "P2": 9, "P3": 3, "P4": 10}


def test_tolerances_name_identities_that_exist():
    assert set(TOLERANCES) < {name for _, name in IDENTITIES}


def test_the_error_is_relative_to_the_largest_entry_of_each_row():
    sides = Sides(np.array([[1.0, 4.0], [0.1, 0.4]]), np.array([[1.0, 5.0], [0.1, 0.8]]))
    assert error(sides) == pytest.approx(0.4 / 0.8)


def test_the_error_is_relative_to_a_given_scale():
    sides = Sides(np.array([[1.0, 4.0]]), np.array([[1.0, 5.0]]), scale=np.array([10.0]))
    assert error(sides) == pytest.approx(0.1)
