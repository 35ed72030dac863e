"""What a config asks of methods once more: sweeps, probes, shadow models, support sizes."""

from small_config import complaint, config, sweep

from collateral.config.load import load

# Sweeps.


def test_a_sweep_of_an_unknown_method_is_named():
    said = complaint(sweeps=sweep("rll", lr=[0.1]))
    assert said == "sweeps.s.method: no method 'rll'; known: ft, rl; did you mean rl?"


def test_a_sweep_of_an_unknown_parameter_is_named():
    said = complaint(sweeps=sweep(epoch=[1, 2]))
    assert said.startswith("sweeps.s.vary.epoch: unknown key (value 1); allowed: lr,")
    assert said.endswith("; did you mean epochs?")


def test_a_wrong_value_of_a_sweep_is_named():
    said = complaint(sweeps=sweep(optimizer=["adam", "adamx"]))
    assert said == (
        "sweeps.s.vary.optimizer: 'adamx' is not allowed; allowed: sgd, adam, adamw; "
        "did you mean adam?"
    )


def test_a_value_of_a_sweep_that_a_cells_own_parameters_do_not_allow_is_named_once():
    forget = {"kind": "class_part", "class": "digit_1", "fraction": 0.5}
    cells = {f"ones-{i}": {"forget": forget, "methods": {"ft": {"lr": 0.5}}} for i in (1, 2)}
    said = complaint(cells=cells, sweeps=sweep(lr=[0.1, -1]))
    assert said == "sweeps.s.vary.lr: -1: should be greater than or equal to 0"


def test_a_value_of_a_sweep_must_go_with_all_that_tuning_may_choose():
    methods = {"ltd": {"support_by": "example", "k": "auto", "k_each": [5, None]}}
    said = complaint(methods=methods, sweeps=sweep("ltd", search=["exact", "approximate"]))
    assert said == "sweeps.s.vary: search: approximate needs a number, k or k_each"


def test_what_goes_along_with_a_sweep_is_checked_under_its_own_key():
    vary = {"optimizer": ["sgd", "adamw"]}

    def said(**along):
        return complaint(sweeps={"s": {"method": "ft", "vary": vary, "along": along}})

    assert said(lr=[0.1, -1]) == "sweeps.s.along.lr: -1: should be greater than or equal to 0"
    assert said(rate=[0.1, 1]).startswith("sweeps.s.along.rate: unknown key (value 0.1); allowed:")
    assert said(lr=[0.1, 1e6]) == (
        "sweeps.s.along.lr: 1000000.0: not usable in a file's name as '1e+06'"
    )
    assert said(lr=[0.1]) == (
        "sweeps.s: along.lr: [0.1]: should be another parameter with a value for each of the 2 of "
        "optimizer"
    )


def test_a_sweeps_name_must_do_in_a_files_name():
    said = complaint(sweeps={"My Sweep": {"method": "ft", "vary": {"lr": [0.1]}}})
    assert said.startswith("sweeps.My Sweep: not usable as a folder's name; use a-z")


def test_a_tracked_method_must_be_there():
    said = complaint(track=["ft", "rll"])
    assert said == "track[1]: no method 'rll'; known: ft, rl; did you mean rl?"
    assert complaint(track=["ft", "ft"]) == "track: ['ft', 'ft']: a value stands there twice"


def test_all_methods_may_be_tracked_by_one_word():
    said = "track: 'every': should be a list of methods, or all"
    assert complaint(track="every") == said
    assert complaint(track=["ft", 1]).startswith("track[1]: 1: should be a valid string")


def test_a_sweep_over_an_unknown_cell_is_named():
    sweeps = {"s": {"method": "ft", "vary": {"lr": [0.1]}, "cells": ["digit_3-5"]}}
    assert complaint(sweeps=sweeps) == (
        "sweeps.s.cells[0]: no cell 'digit_3-5'; known: digit_3-50; did you mean digit_3-50?"
    )


def test_a_sweep_varies_one_parameter_over_some_values():
    assert complaint(sweeps=sweep(lr=[])) == "sweeps.s.vary.lr: []: too few entries; at least 1"
    assert complaint(sweeps=sweep(lr=0.1)) == "sweeps.s.vary.lr: 0.1: should be a list"
    assert complaint(sweeps=sweep()) == "sweeps.s.vary: {}: too few entries; at least 1"
    said = complaint(sweeps=sweep(lr=[1], epochs=[1]))
    assert said == "sweeps.s.vary: {'lr': [1], 'epochs': [1]}: too many entries; at most 1"


def test_two_values_of_a_sweep_may_not_make_one_name():
    said = complaint(sweeps=sweep(lr=[0.12345671, 0.12345672]))
    assert said == "sweeps.s.vary.lr: 0.12345671 and 0.12345672 make one run's name"


def test_a_value_of_a_sweep_must_do_in_a_files_name():
    said = complaint(sweeps=sweep(lr=[1e6]))
    assert said == "sweeps.s.vary.lr: 1000000.0: not usable in a file's name as '1e+06'"


# Probes.


def test_what_is_probed_may_be_listed_or_given_values():
    def asked(given):
        return load(config(probe=given)).benchmarks["b"].probe.asked()

    defaults = {"count": 100, "std": 0.03}
    assert asked(["residual", "zrf"]) == {"residual": defaults, "zrf": {}}
    assert asked({"residual": None}) == {"residual": defaults}
    assert asked({"residual": {"std": 0.1}}) == {"residual": {"count": 100, "std": 0.1}}
    assert load(config()).benchmarks["b"].probe is None


def test_what_is_wrong_with_a_probe_is_named():
    assert complaint(probe=["relern"]).startswith("probe.relern: unknown key")
    assert complaint(probe=["zrf", "zrf"]) == "probe: ['zrf', 'zrf']: a value stands there twice"
    assert complaint(probe={"relearn": {"steps": 0}}).startswith("probe.relearn.steps: 0: ")
    for nothing in ([], {}):
        assert complaint(probe=nothing).endswith(
            "nothing is asked: give some of relearn, residual, zrf, or leave it out"
        )
    for strange in ([["zrf"]], [1], 3, "zrf"):
        assert complaint(probe=strange).startswith("probe: ")


# Shadow models.


def test_there_is_no_pool_of_shadow_models_unless_asked_for():
    assert load(config()).benchmarks["b"].shadows is None
    found = load(config(shadows={})).benchmarks["b"].shadows
    assert (found.count, found.share) == (16, 0.5)


def test_shadow_models_are_refused_where_they_would_not_be_as_the_base_or_not_be_used():
    assert complaint(shadows={}, base={"checkpoint": "best_validation"}) == (
        "shadows: `base.checkpoint: best_validation` holds out examples that would count as seen; "
        "leave one of them out"
    )
    weights = {"weights": "base.pt"}
    assert complaint(shadows={}, base=weights) == (
        "shadows: trained as the base is, and beside `base.weights` is no recipe; give "
        "`base.epochs` at least"
    )
    assert load(config(shadows={}, base={**weights, "epochs": 3}))
    given = {"theirs": {"weights": "{cell}-{seed}.pt"}}
    assert complaint(shadows={}, methods={}, given=given) == (
        "shadows: no method would unlearn from them; list `methods`, or leave it out"
    )


def test_a_probe_is_refused_without_retrain():
    assert complaint(probe=["zrf"], retrain="none") == (
        "probe: held against Retrain, and the config says `retrain: none`; leave one of them out"
    )


def test_some_shadow_models_see_an_example_and_some_do_not():
    assert complaint(shadows={"share": 0.1}) == (
        "shadows: share: 0.1: 1 of 16 models would see an example and 15 would not; 3 at least "
        "should do either"
    )
    assert "13 of 14" in complaint(shadows={"count": 14, "share": 0.95})
    assert load(config(shadows={"count": 6}))
    assert complaint(shadows={"count": 5}).startswith("shadows.count: 5: ")
    assert complaint(shadows={"share": 1}).startswith("shadows.share: 1: ")


# Support sizes.

LTD = {"ltd": {}, "mine": {"uses": "ltd"}, "ft": {}}


def sizes_complaint(**given) -> str:
    return complaint(methods=LTD, support_size={"k": [20, 50], **given})


def test_support_sizes_are_of_ltd_unless_another_configuration_is_named():
    found = load(config(methods=LTD, support_size={"k": [20, 50]})).benchmarks["b"].support_size
    assert (found.method, found.k, found.cells) == ("ltd", (20, 50), None)
    assert load(config(methods=LTD, support_size={"method": "mine", "k": [20, 50]}))


def test_support_sizes_increase():
    assert sizes_complaint(k=[20, 50, 50]) == (
        "support_size.k: [20, 50, 50]: should increase, but 50 follows 50"
    )
    assert sizes_complaint(k=[50, 20]) == (
        "support_size.k: [50, 20]: should increase, but 20 follows 50"
    )


def test_support_sizes_are_two_whole_numbers_at_least():
    assert sizes_complaint(k=[20]) == "support_size.k: [20]: too few entries; at least 2"
    assert sizes_complaint(k=20) == "support_size.k: 20: should be a list"
    for wrong in (0, True, "auto", 2.5):
        assert sizes_complaint(k=[wrong, 20]).startswith(f"support_size.k[0]: {wrong!r}: should be")


def test_an_unknown_key_beside_support_sizes_is_named():
    said = sizes_complaint(cell=["digit_3-50"])
    assert said.startswith("support_size.cell: unknown key")
    assert said.endswith("allowed: method, k, cells; did you mean cells?")


def test_support_sizes_of_an_unknown_method_are_named():
    assert sizes_complaint(method="ldt") == (
        "support_size.method: no method 'ldt'; known: ltd, mine, ft; did you mean ltd?"
    )


def test_support_sizes_of_a_method_without_a_teacher_are_named():
    assert sizes_complaint(method="ft") == (
        "support_size.method: 'ft' is ft, which has no teacher; only ltd has"
    )


def test_support_sizes_in_an_unknown_cell_are_named():
    assert sizes_complaint(cells=["digit_3-5"]) == (
        "support_size.cells[0]: no cell 'digit_3-5'; known: digit_3-50; did you mean digit_3-50?"
    )
