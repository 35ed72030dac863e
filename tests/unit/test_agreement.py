"""Rankings of methods by two numbers: tau-b by hand and as scipy has it, ties inside the floor."""

import math

import numpy as np
import pytest
from generators import agreement as docs
from scipy.stats import kendalltau

from collateral.metrics.agreement import floor_of_means, mean_tau, order_pairs, tau_b


def tau(a, b, floors=(0.0, 0.0)):
    return tau_b(*(order_pairs(np.array(x, float), f) for x, f in zip((a, b), floors, strict=True)))


def test_tau_b_of_doses_and_values():
    doses, values = [0, 0, 0.5, 0.5, 1, 1], [0.1, 0.2, 0.2, 0.4, 0.4, 0.9]
    assert tau(doses, values) == pytest.approx(0.800641, abs=1e-6)


def test_without_a_floor_it_is_scipys():
    rng = np.random.default_rng(4)
    for size in (3, 8, 19):
        a, b = rng.integers(0, 6, size), rng.integers(0, 5, size)
        assert tau(a, b) == pytest.approx(kendalltau(a, b).statistic)


def test_differences_inside_the_floor_are_ties():
    # Of the pairs (0, 1), (0, 3), (1, 3) of the first number, the first is inside its floor.
    assert tau([0, 1, 3], [5, 4, 9], (1.0, 0.0)) == pytest.approx(2 / math.sqrt(2 * 3))
    assert math.isnan(tau([0, 1, 3], [5, 4, 9], (3.0, 0.0)))


def test_the_floor_is_of_means_over_seeds():
    assert floor_of_means(np.array([1.0, 2.0, 4.0, np.nan])) == pytest.approx(2 / math.sqrt(3))
    assert math.isnan(floor_of_means(np.array([1.0, np.nan])))


def test_cells_without_a_number_or_an_order_are_left_out():
    cells = [
        {"a": np.array([1.0, 1, -1]), "b": np.array([1.0, -1, -1])},
        {"a": np.array([1.0, 1, 1]), "b": np.array([1.0, 1, 1])},
        {"a": np.array([0.0, 0, 0]), "b": np.array([1.0, 1, 1])},
        {"b": np.array([1.0, 1, 1])},
    ]
    assert mean_tau(cells, "a", "b") == pytest.approx((1 / 3 + 1) / 2)
    assert math.isnan(mean_tau(cells, "a", "c"))


HEAD = "cell,class,fraction,seed,run,kind,metric,set,at,value,status"


def rows(metric, by_run, subset="", kind="method", status="ok"):
    return [
        f"c,,,{seed},{run},{kind if run != 'retrain' else 'reference'},{metric},{subset},,{v},"
        f"{status if run == 'bad' else 'ok'}"
        for run, values in by_run.items()
        for seed, v in zip((4, 2, 9), values, strict=True)
    ]


@pytest.fixture
def folder(tmp_path):
    """Return results in which UA and MIA rank three methods; the fourth collapsed once."""
    known = {
        "ua": {"retrain": (0.5, 0.52, 0.48), "a": (0.5, 0.5, 0.5), "b": (0.7, 0.7, 0.7),
               "d": (0.1, 0.1, 0.1), "bad": (0.0, 0.0, 0.0)},
        "mia": {"retrain": (0.2, 0.2, 0.23), "a": (0.2, 0.2, 0.2), "b": (0.1, 0.1, 0.1),
                "d": (0.25, 0.3, 0.3), "bad": (0.9, 0.9, 0.9)},
        "ra": {run: (0.9, 0.9, 0.9) for run in ("retrain", "a", "b", "d", "bad")},
        "ta": {"retrain": (0.8, 0.8, 0.8), "a": (0.8, 0.8, 0.8), "b": (0.8, 0.79, 0.8),
               "d": (0.7, 0.7, 0.7), "bad": (0.1, 0.1, 0.1)},
    }  # fmt: skip
    lines = [HEAD, *(line for m, by_run in known.items() for line in rows(m, by_run))]
    lines += rows("ua", {"ideal": (0.0, 0.0, 0.0)}, kind="control")
    lines = [line.replace(",ok", ",collapsed") if ",bad," in line else line for line in lines]
    (tmp_path / "metrics.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_methods_are_ranked_by_their_distance_from_retrain(folder):
    (cell,) = docs.read_cells(folder / "metrics.csv")
    assert cell.methods == ("a", "b", "d")
    orders = cell.orders(range(3))
    # Distances: UA 0, 0.2, 0.4; MIA 0.01, 0.11, 0.073; TA 0, 0.003, 0.1; RA: all alike.
    assert orders["ua"].tolist() == [-1, -1, -1]
    assert orders["mia"].tolist() == [-1, -1, 1]
    assert orders["ta"].tolist() == [-1, -1, -1]
    gaps = [(0 + 0.01 + 0) / 4, (0.2 + 0.11 + 0.01 / 3) / 4, (0.4 + 0.22 / 3 + 0.1) / 4]
    assert sorted(range(3), key=lambda i: gaps[i]) == [0, 1, 2]
    assert orders["avg_gap"].tolist() == [-1, -1, -1]
    assert "js_divergence" not in orders


def test_the_table_marks_what_is_the_same_by_construction(folder):
    text = docs.agreement_table([folder / "metrics.csv"])
    lines = [line.split(" | ") for line in text.strip("| \n").split("\n")]
    assert lines[0][0] == "number"
    found = {line[0].strip("| "): line[1:] for line in lines[2:]}
    assert found["MIA"][0].startswith("0.33 [")
    assert found["Avg. Gap"][0].startswith("1.00* [")
    assert found["TA"][0].startswith("1.00 [")
