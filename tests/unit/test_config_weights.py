"""Weights of one's own in a config: what may be given, and what is said when it is wrong."""

import pytest
from small_config import complaint, config

from collateral.config.load import load


@pytest.mark.parametrize(
    ("file", "sharing"), [("mine.safetensors", "shared"), ("mine-{seed}.pt", "matched")]
)
def test_the_name_of_a_base_of_ones_own_tells_who_shares_it(file, sharing):
    base = load(config(base={"weights": file})).benchmarks["b"].base
    assert base.sharing == sharing


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"base": {"weights": "a.pt", "sharing": "matched"}},
            "sharing: 'matched': weights without {seed} in their name are shared",
        ),
        (
            {"base": {"weights": "a-{seed}.pt", "sharing": "shared"}},
            "sharing: 'shared': weights with {seed} in their name are matched",
        ),
        (
            {"base": {"weights": "a.ckpt"}},
            "base.weights: 'a.ckpt': should end with one of .safetensors, .pt, .pth",
        ),
        (
            {"init": {"weights": "a.npz"}},
            "init.weights: 'a.npz': should end with one of .safetensors, .pt, .pth",
        ),
        (
            {"init": {"weights": "a-{seed}.pt"}},
            "init.weights: 'a-{seed}.pt': one file for all seeds, so without {seed}",
        ),
        ({"base": {"rename": {"a.": ""}}}, "base.rename: goes with `weights`, which is not given"),
        ({"init": {"weights": "a.pt", "renam": {}}}, "did you mean rename?"),
        ({"data": {"name": "digits", "mean": [0.5]}}, "`mean` and `std` go together"),
        ({"data": {"name": "digits", "mean": [0.5], "std": [0]}}, "greater than 0"),
    ],
)
def test_what_is_wrong_with_weights_of_ones_own_is_named(changes, said):
    assert said in complaint(**changes)


GIVEN = {"weights": "theirs-{seed}.pt"}


def test_weights_may_be_given_where_no_method_is_listed():
    benchmark = load(config(methods={}, given={"theirs": {**GIVEN, "rte": 120}})).benchmarks["b"]
    assert benchmark.given["theirs"].rte == 120
    said = complaint(methods={})
    assert said == ": nothing to judge: list `methods`, or weights under `given`"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"theirs": {"weights": "a-{seed}.npz"}}, "theirs.weights: 'a-{seed}.npz': should end"),
        (
            {"theirs": {"weights": "a.pt"}},
            "theirs.weights: 'a.pt': one file for 2 seeds, whose spread would be none; put "
            "{seed} into its name, or give one seed",
        ),
        ({"ft": GIVEN}, "ft: a method or control has this name; choose another"),
        ({"ideal": GIVEN}, "ideal: a method or control has this name; choose another"),
        ({"retrain": GIVEN}, "retrain: not usable as a folder's name"),
        ({"Their s": GIVEN}, "Their s: not usable as a folder's name"),
        ({"theirs": {**GIVEN, "rte": -1}}, "theirs.rte: -1: should be greater than or equal to 0"),
        ({"theirs": {**GIVEN, "rte": True}}, "theirs.rte: True: should be a number"),
        ({"theirs": {**GIVEN, "seconds": 3}}, "theirs.seconds: unknown key"),
        ({"theirs": {"rename": {}}}, "theirs.weights: missing"),
    ],
)
def test_what_is_wrong_with_given_weights_is_named(given, said):
    assert complaint(given=given).startswith(f"given.{said}")


def test_from_one_base_one_file_is_held_against_every_retrain():
    shared = {"base": {"sharing": "shared"}}
    assert load(config(given={"theirs": {"weights": "a.pt"}}, **shared))
    assert "one file for 2 seeds" in complaint(retrain={"weights": "a.pt"}, **shared)


@pytest.mark.parametrize("key", ["given", "retrain"])
def test_one_file_for_two_forget_sets_is_refused(key):
    def of(file):
        return {"theirs": {"weights": file}} if key == "given" else {"weights": file}

    assert load(config(fractions=[0.5, 0.9], **{key: of("a-{cell}-{seed}.pt")}))
    said = complaint(fractions=[0.5, 0.9], **{key: of("a-{seed}.pt")})
    assert said.endswith("'a-{seed}.pt': one file for 2 forget sets; put {cell} into its name")


def test_retrain_is_trained_here_unless_the_config_says_otherwise():
    assert load(config()).benchmarks["b"].retrain.weights is None
    assert load(config(retrain=GIVEN)).benchmarks["b"].retrain.weights is not None
    assert load(config(retrain="none")).benchmarks["b"].retrain is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"retrain": "nnone"}, "retrain: 'nnone': should be none, or a mapping with `weights`"),
        ({"retrain": False}, "retrain: False: should be none, or a mapping with `weights`"),
        ({"retrain": {"weight": "a.pt"}}, "did you mean weights?"),
        ({"retrain": {"rte": 3}}, "retrain: rte: goes with `weights`, which is not given"),
        ({"retrain": {"weights": "a-{seed}.npz"}}, "retrain.weights: 'a-{seed}.npz': should end"),
        ({"retrain": {"weights": "a.pt"}}, "retrain.weights: 'a.pt': one file for 2 seeds"),
        (
            {"retrain": "none", "controls": ["original", "ideal"], "methods": {"ltd": {}}},
            "controls[1]: 'ideal' needs Retrain, and the config says `retrain: none`",
        ),
    ],
)
def test_what_is_wrong_with_retrain_is_named(changes, said):
    assert said in complaint(**changes)
