"""The sentences at the top of the page follow from the decision table, for every verdict."""

import re
from dataclasses import asdict, replace

import pytest

from collateral.findings.verdict import (
    COLLAPSED,
    HURT,
    HURT_ALL,
    HURT_FAR,
    LIKE,
    UNDECIDED,
    UNFORGOTTEN,
    UNLIKE,
    VERDICTS,
)
from collateral.report.decision import CHIPS, CellColumn, Decision, MethodRow, Score
from collateral.report.page import template, write
from collateral.report.sections import TERMS
from collateral.results.plan import About

NOTHING = "No method was found to hurt anyone."


def score(verdict: str, gap: float = 0.01, damage: float = 0.0) -> Score:
    return Score(verdict, verdict, "", damage, damage - 0.01, damage + 0.01, gap, 0.5)


def cell(place: int = 0, *, red: tuple[str, ...] = (), nothing: float = 0.2) -> CellColumn:
    return CellColumn(f"c{place}", f"Cell {place}", 10, 5, 0.02, nothing, 0.005, [*red])


def decide(*, cells=None, has_retrain: bool = True, **methods) -> Decision:
    """Return the table of these methods, each with one verdict or score per cell."""
    rows = {
        label: [one if isinstance(one, Score | None) else score(one) for one in scores]
        for label, scores in methods.items()
    }
    count = max((len(scores) for scores in rows.values()), default=1)
    found = [MethodRow(label.lower(), label, About(), scores) for label, scores in rows.items()]
    columns = cells or [cell(place) for place in range(count)]
    ordered = sorted(found, key=lambda row: row.order)
    return Decision("digits", "digits", "resnet8", "1", has_retrain, columns, ordered)


SENTENCES = {
    "like Retrain, one cell": (decide(A=[LIKE]), f"A is like Retrain in this test. {NOTHING}"),
    "like Retrain, two cells": (
        decide(A=[LIKE, LIKE], B=[UNLIKE, LIKE]),
        f"A is like Retrain in both tests. {NOTHING}",
    ),
    "nearest": (
        decide(A=[UNDECIDED, LIKE], B=[score(UNDECIDED, 0.05), LIKE]),
        f"A is nearest to Retrain of the methods with no failure found in both tests. {NOTHING}",
    ),
    "nearest of those without a failure, but perhaps harmful": (
        decide(A=[score(UNDECIDED, damage=0.11)], B=[UNLIKE]),
        "A is the only method with no failure found in this test, but may hurt the neighbours. "
        f"{NOTHING}",
    ),
    "nobody": (
        decide(A=[UNLIKE, LIKE], B=[UNFORGOTTEN, UNFORGOTTEN]),
        f"No method can be recommended: each of them fails in at least one test. {NOTHING}",
    ),
    "no better than doing nothing": (
        decide(A=[score(UNDECIDED, 0.3)], B=[UNLIKE]),
        "No method can be recommended: those without a failure are no nearer to Retrain than "
        f"doing nothing. {NOTHING}",
    ),
    "all undecided, none better than doing nothing": (
        decide(A=[score(UNDECIDED, 0.3)]),
        "No method can be recommended: 5 seeds cannot tell any method from Retrain. Whether a "
        "method hurts anyone cannot be told.",
    ),
    "all harms": (
        decide(
            A=[LIKE] * 2,
            B=[HURT, HURT_ALL],
            C=[HURT_FAR, LIKE],
            D=[COLLAPSED, LIKE],
            E=[HURT, LIKE],
        ),
        "A is like Retrain in both tests. Hurt the neighbours: B in both tests; E in 1 of "
        "2 tests. Hurt everyone: C in 1 of 2 tests. Collapsed: D in 1 of 2 tests.",
    ),
    "several hurt in the same number of tests": (
        decide(A=[LIKE] * 2, B=[HURT, LIKE], C=[HURT] * 2, D=[UNLIKE, HURT_ALL], E=[HURT] * 2),
        "A is like Retrain in both tests. Hurt the neighbours: C, E in both tests; B, D in 1 of 2 "
        "tests.",
    ),
    "a loss that the base model has too": (
        decide(A=[LIKE], B=[replace(score(HURT_FAR), is_of_base=True)]),
        "A is like Retrain in this test. Lose accuracy everywhere, as the base model does: B in "
        "this test.",
    ),
    "nothing to forget": (
        decide(A=[LIKE] * 2, cells=[cell(0), replace(cell(1), has_nothing_to_forget=True)]),
        f"A is like Retrain in both tests. {NOTHING} Nothing to forget in 1 of 2 tests, by UA.",
    ),
    "many harmful methods": (
        decide(A=[LIKE], **{name: [HURT] for name in "BCDE"}),
        "A is like Retrain in this test. Hurt the neighbours: 4 methods in this test.",
    ),
    "a method that did not run everywhere": (
        decide(A=[LIKE, None], B=[LIKE, LIKE]),
        f"B is like Retrain in both tests. {NOTHING}",
    ),
    "a red check": (
        decide(A=[""], cells=[cell(red=("Retrain learned: 50 %",))]),
        "No verdict: a check failed, so that the comparison with Retrain means nothing.",
    ),
    "no Retrain": (
        decide(A=[""], has_retrain=False),
        "No verdict without Retrain: runs are compared with the model before unlearning.",
    ),
    "nothing to test": (
        decide(A=[""]),
        "No verdict: no method has numbers that can be tested.",
    ),
}


@pytest.mark.parametrize("case", SENTENCES)
def test_the_headline_follows_from_the_table(case):
    decision, sentence = SENTENCES[case]
    assert write(decision, "headline") == sentence


@pytest.mark.parametrize("verdict", [v for v in VERDICTS if v not in (LIKE, UNDECIDED)])
def test_a_method_with_any_failure_is_never_recommended(verdict):
    decision = decide(A=[LIKE, score(verdict, 0.0)], B=[score(UNDECIDED, 0.1), UNDECIDED])
    assert decision.best.label == "B"
    assert decide(A=[LIKE, verdict]).best is None


def test_like_retrain_comes_before_a_smaller_gap():
    decision = decide(A=[score(UNDECIDED, 0.001)], B=[score(LIKE, 0.01)])
    assert decision.best.label == "B"


def test_rows_are_sorted_by_harm_then_failure_then_gap():
    decision = decide(
        A=[HURT], B=[UNFORGOTTEN], C=[score(UNDECIDED, 0.05)], D=[score(LIKE, 0.01)], E=[COLLAPSED]
    )
    assert [row.label for row in decision.methods][:3] == ["D", "C", "B"]


def test_the_explanation_has_the_numbers_of_the_table():
    decision = decide(A=[score(UNDECIDED, 0.013), score(UNDECIDED, 0.066)], B=[UNLIKE, UNLIKE])
    assert write(decision, "explanation") == (
        "A is 1.3 and 6.6 points from Retrain, averaged over UA, RA, TA and MIA (another "
        "retraining: 0.5 and 0.5; doing nothing: 20.0 and 20.0). It takes 50 % of Retrain's time."
    )


def test_the_explanation_leaves_out_what_is_unknown():
    cells = [replace(cell(place), retraining=None) for place in range(3)]
    said = write(decide(A=[UNDECIDED] * 3, cells=cells), "explanation")
    assert "A is 1.0, 1.0 and 1.0 points" in said
    assert "TA and MIA (doing nothing: 20.0, 20.0 and 20.0). It takes" in said
    cells = [replace(one, nothing=None) for one in cells]
    said = write(decide(A=[UNDECIDED] * 3, cells=cells), "explanation")
    assert "TA and MIA. It takes" in said


def test_beside_the_headline_stands_how_sure_it_is():
    unsure = replace(score(UNDECIDED, 0.01), needed=38.0)
    hurt = [score(HURT, damage=0.05), score(HURT_ALL, damage=0.071)]
    assert write(decide(A=[unsure, LIKE], B=hurt), "certainty") == (
        "5 seeds find no failure of A, and are too few to prove that it equals retraining; "
        "probably about 38 would decide. Neighbours lose more points than others (95 % interval): "
        "B +7.1 [+6.1, +8.1]. If no method differed from Retrain, the chance of any finding would "
        "be at most 5 %."
    )
    assert write(decide(A=[LIKE, LIKE]), "certainty").startswith(
        "A equals Retrain within the margins, on "
    )
    assert "probably more than 100 would" in write(decide(A=[UNDECIDED]), "certainty")
    one_seed = [replace(cell(), seeds=1)]
    assert write(decide(A=[UNDECIDED], cells=one_seed), "certainty").startswith(
        "One seed cannot tell a "
    )
    assert write(decide(A=[""]), "certainty") == ""


def test_of_many_cells_the_mean_is_told():
    assert "A is on average 1.0 points from Retrain" in write(decide(A=[LIKE] * 9), "explanation")


def test_who_did_not_forget_is_named_where_nobody_can_be_recommended():
    assert write(decide(A=[UNFORGOTTEN], B=[UNLIKE]), "explanation") == "Did not forget: A."


def test_without_verdicts_there_is_nothing_to_explain():
    assert write(decide(A=[""]), "explanation") == ""


def test_the_setting_names_data_model_seeds_and_reference():
    found = write(decide(A=[LIKE]), "setting")
    assert found.startswith("digits, resnet8, 5 seeds. Reference: Retrain, ")
    assert "Original" in write(decide(A=[""], has_retrain=False), "setting")


def test_the_table_survives_the_file_that_the_index_reads():
    decision = decide(A=[LIKE, None], B=[HURT, UNLIKE])
    assert Decision.from_json(asdict(decision)) == decision


def test_every_verdict_has_a_chip():
    assert {*CHIPS} == {*VERDICTS}


def test_words_between_backticks_are_code_and_a_single_backtick_stays():
    gloss = template("gloss.html.j2").module.gloss
    shown = str(gloss("UA: set `seeds: [1]`, then UA and `ta`"))
    assert "<code>seeds: [1]</code>" in shown and "<code>ta</code>" in shown
    assert "`" not in shown and shown.count("<abbr") == 1
    assert "rock`roll" in str(gloss("Costs: rock`roll."))


def test_terms_are_explained_once_and_nothing_else_changes():
    text = "UA & MIA: Retrain's UA, RMIA, <cell> ta"
    shown = template("gloss.html.j2").module.gloss(text)
    assert shown.unescape() != text
    assert shown.count("<abbr") == 4
    assert f'<abbr title="{TERMS["UA"]}">UA</abbr> &amp; ' in shown
    assert (
        re.sub(r"</?abbr[^>]*>", "", shown)
        == "UA &amp; MIA: Retrain&#39;s UA, RMIA, &lt;cell&gt; ta"
    )
