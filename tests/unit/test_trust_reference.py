"""Another Retrain as reference: which models are compared again, and how far a number moves."""

import numpy as np
import pytest
from fake_cell import FORGET, LABELS, NUM_TRAIN, TEST, FakeCell, Wrong, fake_neighbours

from collateral.contract.rows import Row
from collateral.findings.registry import add_numbers_before
from collateral.findings.trust.numbers import numbers, with_other_references
from collateral.results.cell import CellResults
from collateral.results.plan import TrustPlan
from collateral.results.row_cache import RowCache
from collateral.results.split import Split

# The first three seeds are references; the fourth judged seed has the first reference again.
REFERENCES, JUDGED = (40, 7, 22), (3, 31, 9, 14, 5)
OF = (40, 7, 22, 40, 7)
AFTER = (7, 22, 40, 7, 22)
# Wrong predictions among the forgotten: those of Retrains, then of base models.
RETRAINS = {40: 10, 7: 14, 22: 30, 3: 12, 31: 9, 9: 17, 14: 13, 5: 20}
BASES = {3: 0, 31: 2, 9: 1, 14: 0, 5: 4}


def wrong(count: int) -> Wrong:
    return Wrong((count,), (count // 3,), (count % 5,), (count // 2,))


def trust_of(references) -> TrustPlan:
    return TrustPlan(references=references, thresholds={"least_models": 2})


@pytest.fixture
def cell(tmp_path) -> CellResults:
    """Return a cell of base models, and of Retrains with other Retrains as references."""
    runs = {("retrain", seed): wrong(count).run(0) for seed, count in RETRAINS.items()}
    runs |= {("original", seed): wrong(count).run(0) for seed, count in BASES.items()}
    train = np.linspace(1, 0, NUM_TRAIN)
    neighbours = fake_neighbours(JUDGED, train, np.linspace(0.9, 0, TEST))
    split = Split(np.arange(FORGET), NUM_TRAIN, (0,), {"class": "a", "fraction": 0.2})
    known = {"methods": (), "controls": ("original", "retrained"), "trust": trust_of(OF)}
    made = FakeCell(LABELS, split, neighbours, runs).write(tmp_path, **known)
    add_numbers_before(made, "trust")
    return made


def disagreement(own: int, reference: int) -> float:
    """Return the share of forgotten examples with other predictions: wrong ones are the first."""
    return abs(own - reference) / FORGET


def test_each_model_meets_the_next_reference(cell):
    other = with_other_references(cell, cell.trust)
    for found, references in ((cell, OF), (other, AFTER)):
        for run, counts in (("original", BASES), ("retrained", RETRAINS)):
            wanted = [
                disagreement(counts[s], RETRAINS[r])
                for s, r in zip(JUDGED, references, strict=True)
            ]
            assert found.values(run, "disagreement", "forget") == pytest.approx(wanted)
    # UA needs no reference.
    assert other.values("original", "ua").tolist() == cell.values("original", "ua").tolist()


def test_the_change_is_relative_to_the_distance_of_both_groups(cell):
    found = {(row.metric, row.at, row.set): row.value for row in numbers(cell)}
    assert found["trust_reference", "ua", ""] == 0
    by_run = {
        run: np.array(
            [
                [disagreement(counts[s], RETRAINS[r]) for s, r in zip(JUDGED, of, strict=True)]
                for of in (OF, AFTER)
            ]
        )
        for run, counts in (("original", BASES), ("retrained", RETRAINS))
    }
    moved = np.concatenate([abs(one[1] - one[0]) for one in by_run.values()])
    distance = abs(np.median(by_run["original"][0]) - np.median(by_run["retrained"][0]))
    wanted = np.median(moved) / distance
    assert wanted > 0.05
    assert found["trust_reference", "disagreement", "forget"] == pytest.approx(wanted)


def test_a_single_reference_has_no_next_one(cell):
    assert with_other_references(cell, trust_of((40,) * len(JUDGED))) is None


def test_rows_of_known_models_can_be_kept(cell):
    cache, result = RowCache(cell, {"accuracy": "code"}), cell.result("original", 3)
    made = [Row("original", "ua", 0.5, 3)]
    first = cache.rows("accuracy", "original-3", [result], lambda: made)
    again = cache.rows("accuracy", "original-3", [result], list)
    assert list(first) == list(again) == made
