"""What all of the package builds on: seeds from names, and the nearest spelling of a name."""

import pytest

from collateral.contract.conventions import derive_seed
from collateral.contract.messages import did_you_mean, unknown_name
from collateral.contract.params import MethodParams

# Whether an epoch depends on how many there are.


@pytest.mark.parametrize(
    ("values", "is_paced"),
    [
        ({}, False),
        ({"schedule": "constant", "warmup": 0}, False),
        ({"schedule": "cosine"}, True),
        ({"warmup": 2}, True),
    ],
)
def test_a_schedule_and_a_warm_up_make_a_run_paced(values, is_paced):
    class Params(MethodParams):
        schedule: str | None = None
        warmup: int = 0

    assert Params(**values).is_paced is is_paced
    assert not MethodParams().is_paced


# Seeds. The values are for ever: with others, every result would be another.


@pytest.mark.parametrize(
    ("names", "seed"),
    [
        (("run", 0), 8106486117605159450),
        (("forget", 0, "couch"), 9018704734136915018),
        (("digits", 0), 3166584853297174131),
    ],
)
def test_seeds_never_change(names, seed):
    assert derive_seed(*names) == seed


def test_a_seed_depends_on_all_names_and_on_their_order():
    seeds = {
        derive_seed("a", "b"),
        derive_seed("b", "a"),
        derive_seed("a"),
        derive_seed("ab"),
        derive_seed("a", "b", 0),
        derive_seed("a", "b", 1),
    }
    assert len(seeds) == 6


def test_a_seed_fits_numpy_and_torch():
    seeds = [derive_seed("some", index) for index in range(1000)]
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert len(set(seeds)) == 1000


# Spelling.


def test_the_nearest_spelling_is_offered_whatever_its_case():
    assert did_you_mean("SalUm", ["ft", "salun"]) == "; did you mean salun?"
    assert did_you_mean("zzz", ["ft", "salun"]) == ""
    assert did_you_mean(3, ["digit_3", "30"]) == "; did you mean 30?"


def test_an_unknown_name_is_answered_with_the_known_ones():
    assert unknown_name("method", "sdd", ["scrub", "ssd"]) == (
        "no method 'sdd'; known: scrub, ssd; did you mean ssd?"
    )


def test_a_long_list_is_cut_but_the_nearest_is_found_in_all_of_it():
    known = [f"class_{index}" for index in range(100)]
    said = unknown_name("class", "class-99", known)
    assert "class_19, ...; did you mean class_99?" in said
