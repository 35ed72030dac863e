"""Planted numbers, whose worth is known, through the finding `trust`: rows in, verdict out."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from collateral.contract.claims import LAST, Claim
from collateral.contract.rows import Row
from collateral.findings.trust import numbers as trust_numbers
from collateral.findings.trust.numbers import numbers
from collateral.findings.trust.rule import NOT, TRUST, WITH, Evidence, judge
from collateral.results.cell import CellResults
from collateral.results.plan import TrustPlan

# Seeds are not their places; the cells have other seeds, and other numbers of them.
SEEDS = {"part": (5, 2, 11, 8, 30, 21, 4, 17, 9, 6, 40, 33, 28, 14), "random": tuple(range(70, 82))}
LEAST = {
    "least_auc": 0.8,
    "least_dose": 0.75,
    "passes": 0.65,
    "most_change": 0.2,
    "flat": 0.1,
    "least_models": 10,
}
RUNS = {  # for each run: the share of the forget set that it saw, what its outputs show of it, harm
    "original": (1.0, 1.0, 0.0),
    "retrained": (0.0, 0.0, 0.0),
    "silent": (1.0, 0.0, 0.3),
    "damaged": (1.0, 0.9, 1.0),
    "damaged0": (0.0, 0.0, 1.0),
    "dose-50": (0.5, 0.5, 0.0),
    "half-saw": (1.0, 1.0, 0.0),
    "half-not": (0.0, 0.0, 0.0),
    "int8-saw": (1.0, 1.0, 0.0),
    "int8-not": (0.0, 0.0, 0.0),
}
PLAN = {"doses": {"dose-50": 0.5}, "recipes": {"half": ("half-saw", "half-not")}}
PLAN |= {"edits": {"int8": ("int8-saw", "int8-not")}, "thresholds": LEAST}
FEW = {"dose-50": 9, "half-saw": 8, "half-not": 8, "int8-saw": 6, "int8-not": 6}
CLAIMS = {
    "constant": Claim("constant", "outputs", 1),
    "seed": Claim("seed", "outputs", 1, "forget"),
    "answer": Claim("answer", "inside", 1, at=LAST),
    "ua": Claim("ua", "outputs", 1),
    "turned": Claim("turned", "outputs", -1),
    "wrong_place": Claim("wrong_place", "outputs", 1),
    "distance": Claim("distance", "distance", 1, "forget"),
    "ta": Claim("ta", "harm", -1),
}


def planted(run: str, seed: int, rng: np.random.Generator) -> dict[str, float]:
    """Return the planted numbers of one model."""
    knows, shows, harm = RUNS[run]
    edited = run.partition("-")[0] == "int8"
    luck = np.random.default_rng([seed, int(knows * 100), int(harm * 10)]).normal()
    ua = 0.8 + 0.15 * shows + 0.02 * luck + 0.001 * edited
    return {
        "constant": 0.25,
        "seed": float(seed),
        "answer": knows,
        "ua": ua,
        "turned": ua,
        "distance": 0.1 * (1 - abs(1 - knows)) + 0.3 * harm + 0.01 * luck,
        "ta": 0.9 - 0.2 * harm + 0.01 * rng.normal(),
    }


def planted_cell(name: str) -> CellResults:
    """Return a cell whose earlier findings gave the planted numbers."""
    seeds = SEEDS[name]
    few = {run: seeds[:count] for run, count in FEW.items()}
    plan = TrustPlan(references=tuple(100 + s for s in seeds), seeds=few, **PLAN)
    cell = CellResults(
        folder=Path("nowhere"), cell=name, seeds=seeds, base_seeds=seeds, controls=tuple(RUNS),
        trust=plan,
    )  # fmt: skip
    rng = np.random.default_rng(len(seeds))
    rows = []
    for run in RUNS:
        for seed in few.get(run, seeds):
            values = planted(run, seed, rng)
            for metric, value in values.items():
                claim = CLAIMS[metric]
                at = {LAST: 20}.get(claim.at)
                rows.append(Row(run, metric, value, seed, claim.set, at))
            # An earlier step of the curve, which must not be judged.
            rows.append(Row(run, "answer", 0.5, seed, "", 3))
    cell.add(rows)
    return cell


def other_references(cell: CellResults, trust: TrustPlan) -> CellResults:
    """Return the cell with other references; the planted distance alone depends on them."""
    other = replace(cell)
    for run in ("original", "retrained"):
        for name in CLAIMS.keys() - {"wrong_place"}:
            claim = CLAIMS[name]
            at = {LAST: 20}.get(claim.at)
            values = cell.values(run, name, claim.set, at) + 0.03 * (name == "distance")
            known = zip(cell.seeds, values, strict=True)
            other.add(Row(run, name, value, seed, claim.set, at) for seed, value in known)
    return other


@pytest.fixture(scope="module")
def rows():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trust_numbers, "list_claims", lambda: [*CLAIMS.values()])
        patch.setattr(trust_numbers, "with_other_references", other_references)
        return {name: list(numbers(planted_cell(name))) for name in SEEDS}


def number(rows, metric: str, claim: Claim) -> float:
    own = [
        row.value
        for row in rows
        if (row.metric, row.set, row.at) == (metric, claim.set, claim.name)
    ]
    return own[0] if own else np.nan


@pytest.fixture(scope="module")
def verdicts(rows):
    def evidence(cell, claim):
        keys = ("auc", "silent", "damaged", "hurt", "recipe")
        areas = {
            key: tuple(
                number(rows[cell], f"trust_{key}{end}", claim) for end in ("", "_low", "_high")
            )
            for key in keys
        }
        others = {
            key: number(rows[cell], f"trust_{key}", claim)
            for key in ("dose", "change", "reference", "seeds")
        }
        return Evidence(**areas, **others)

    known = [claim for name, claim in CLAIMS.items() if name != "wrong_place"]
    found = {claim: {cell: evidence(cell, claim) for cell in SEEDS} for claim in known}
    return {one.claim.metric: one for one in judge(found, LEAST)}


def test_what_nothing_measured_is_not_judged(rows):
    assert {row.at for row in rows["part"]} == {
        claim.name for name, claim in CLAIMS.items() if name != "wrong_place"
    }


def test_a_constant_is_not_to_be_trusted(rows, verdicts):
    for cell in SEEDS:
        assert number(rows[cell], "trust_auc", CLAIMS["constant"]) == 0.5
        assert number(rows[cell], "trust_dose", CLAIMS["constant"]) == 0.5
    assert verdicts["constant"].code == NOT


def test_the_seed_is_not_to_be_trusted(rows, verdicts):
    assert number(rows["part"], "trust_auc", CLAIMS["seed"]) == pytest.approx(0.5)
    assert verdicts["seed"].code == NOT


def test_a_number_that_reads_the_answer_is_trusted(rows, verdicts):
    for cell in SEEDS:
        for metric in ("auc", "silent", "damaged", "dose"):
            assert number(rows[cell], f"trust_{metric}", CLAIMS["answer"]) == 1.0
    assert verdicts["answer"].code == TRUST


def test_outputs_that_a_silent_model_fools_are_used_only_with_the_answer(rows, verdicts):
    assert number(rows["part"], "trust_auc", CLAIMS["ua"]) > 0.95
    assert verdicts["ua"].failures == ("silent",)
    assert (verdicts["ua"].code, verdicts["ua"].partner) == (WITH, CLAIMS["answer"])


def test_the_same_number_with_its_sign_turned_is_not_to_be_trusted(rows, verdicts):
    straight, turned = (
        number(rows["part"], "trust_auc", CLAIMS[name]) for name in ("ua", "turned")
    )
    assert turned == pytest.approx(1 - straight)
    assert verdicts["turned"].code == NOT
    assert "tells" in verdicts["turned"].failures


def test_a_distance_accuses_a_damaged_retrain(verdicts):
    assert verdicts["distance"].code == NOT
    assert "hurt" in verdicts["distance"].failures


def test_a_distance_moves_with_its_reference_and_nothing_else_does(rows, verdicts):
    for cell in SEEDS:
        assert number(rows[cell], "trust_reference", CLAIMS["ua"]) == 0
        change = number(rows[cell], "trust_reference", CLAIMS["distance"])
        assert change == pytest.approx(0.03 / 0.1, rel=0.3)
    assert "reference" in verdicts["distance"].failures


def test_harm_is_seen_in_a_damaged_retrain(verdicts):
    assert verdicts["ta"].code == TRUST


def test_runs_with_fewer_seeds_are_compared_on_their_own_seeds(rows):
    for cell, seeds in SEEDS.items():
        assert number(rows[cell], "trust_seeds", CLAIMS["ua"]) == len(seeds)
        # Rounding moves UA by 0.001, and both groups are 0.15 apart, up to chance.
        change = number(rows[cell], "trust_change", CLAIMS["ua"])
        assert change == pytest.approx(0.001 / 0.15, rel=0.3)


def test_a_cell_without_known_models_has_no_rows():
    cell = CellResults(folder=Path("nowhere"), cell="part", seeds=(1,), base_seeds=(1,))
    assert list(numbers(cell)) == []


def test_the_average_gap_is_judged_by_groups_of_five_seeds(monkeypatch):
    monkeypatch.setattr(trust_numbers, "list_claims", lambda: [Claim("avg_gap", "distance", 1)])
    monkeypatch.setattr(trust_numbers, "with_other_references", lambda *_: None)
    cell = planted_cell("part")
    terms = ("ua", "ra", "ta", "mia")
    for run, value in (("retrain", 0.5), ("original", 0.9), ("retrained", 0.6)):
        cell.add(Row(run, name, value, seed) for seed in cell.seeds for name in terms)
    found = {row.metric: row.value for row in numbers(cell)}
    assert found["trust_auc"] == 1.0
    assert found["trust_seeds"] == len(SEEDS["part"]) // 5
