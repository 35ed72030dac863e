"""Numbers over rounds of requests: known answers, what is compared with what, when to retrain.

Three requests of 100 of 1,000 examples; 40 of the retained examples are near the first request.
Models are made from the places of their wrong predictions.
"""

import math

import numpy as np
import pytest
from fake_cell import FakeCell, FakeRun, checked, fake_neighbours, key_of

from collateral.findings.metric_index import find_metric
from collateral.findings.registry import cell_numbers
from collateral.findings.rounds.numbers import numbers
from collateral.findings.rounds.views import find_instead, plots, tables, words
from collateral.results.dataset import Labels
from collateral.results.outputs import Outputs
from collateral.results.plan import BenchmarkPlan
from collateral.results.split import Split
from collateral.results.table import COLUMNS, COST_COLUMNS, read_tables, write_cell

N, COUNT, NUM_TEST = 1000, 100, 200
REQUESTS = [np.arange(start, start + COUNT) for start in (0, COUNT, 2 * COUNT)]
NEAR, RETAINED = np.arange(600, 640), np.arange(3 * COUNT, N)
# The near ones are all that is left of the class of the first request.
OF_FIRST = np.isin(np.arange(N), [*REQUESTS[0], *NEAR])
LABELS = Labels(np.where(OF_FIRST, 0, 1), np.zeros(NUM_TEST, np.int64), ("a", "b"))
CELLS = ("stream-01", "stream-02", "stream-03")
NONE = ([], [], [])
RETRAIN = [NONE, NONE]  # two seeds, by round: nothing is wrong
SECONDS = {"retrain": (2.5, 2.5, 2.5)}


def outputs(wrong, label) -> Outputs:
    """Return outputs with wrong predictions at these places."""
    is_wrong = np.isin(np.arange(len(label)), wrong)
    confidence = np.where(is_wrong, 0.3, 0.8).astype(np.float32)
    of_first = np.where(label == 0, confidence, 1 - confidence)
    logits = np.log(np.column_stack([of_first, 1 - of_first])).astype(np.float16)
    return Outputs(logits, confidence, np.where(is_wrong, 1 - label, label))


def stream(folder, statuses=("ok", "ok", "ok"), seconds=SECONDS, devices=None, **runs):
    """Write three rounds of runs, and return the results of the last.

    `runs` has a list of seeds, each with the wrong predictions of every round; `devices` has the
    device of every round by run. `statuses` are those of all methods.
    """
    for r, name in enumerate(CELLS):
        made = {}
        for run, by_seed in runs.items():
            for seed, wrong in enumerate(by_seed):
                status = "ok" if run in ("retrain", "original") else statuses[r]
                device = (devices or {}).get(run, (None,) * 3)[r]
                spent = seconds.get(run, (1.0, 1.0, 1.0))[r]
                test = outputs([], LABELS.test)
                made[run, seed] = FakeRun(
                    outputs(wrong[r], LABELS.train), test, status, seconds=spent, device=device
                )
        affected = (int(LABELS.train[REQUESTS[r][0]]),)
        split = Split(REQUESTS[r], N, affected, {"class": "a"}, np.arange(r * COUNT))
        similarity = np.where(np.isin(np.arange(N), NEAR), 0.95, np.linspace(0, 0.5, N))
        # Another request has other neighbours, which are not asked about.
        train = similarity if r == 0 else similarity[::-1]
        neighbours = fake_neighbours(
            [*range(len(runs["retrain"]))], train, np.linspace(0, 1, NUM_TEST)
        )
        cell = FakeCell(LABELS, split, neighbours, made, name)
        last = cell.write(folder, rounds=CELLS if name == CELLS[-1] else ())
    return last


def numbers_of(folder, **more):
    """Return the numbers over rounds by run, seed, metric, set and round."""
    rows = [*numbers(stream(folder, **more))]
    found = {key_of(row): row.value for row in rows}
    assert len(found) == len(rows) > 0
    return found


def first(count):
    """Return so many wrong predictions of request 1."""
    return [*range(count)]


def test_a_request_that_is_known_again_has_the_known_answer(tmp_path):
    # Request 1: the run knows 50 %, 70 %, 50 %; Retrain 48 %, 49 %, 49 %.
    run = [first(50), first(30), first(50)]
    retrained = [first(52), first(51), first(51)]
    found = numbers_of(tmp_path, retrain=[retrained], ft=[run])
    assert found["ft", 0, "reversal", "request-1", 2] == pytest.approx(0.19)
    assert found["ft", 0, "reversal", "request-1", 3] == pytest.approx(-0.01)
    assert found["ft", 0, "request_accuracy", "request-1", 2] == pytest.approx(0.7)
    assert ("ft", 0, "reversal", "request-1", 1) not in found
    assert ("ft", 0, "reversal", "request-2", 2) not in found


def test_reversal_is_the_mean_over_earlier_requests(tmp_path):
    second = list(REQUESTS[1])
    run = [first(100), first(200), [*first(80), *second[:60]]]  # 20 and 40 come back
    found = numbers_of(tmp_path, retrain=[NONE], ft=[run])
    assert found["ft", 0, "reversal", "request-1", 3] == pytest.approx(0.2)
    assert found["ft", 0, "reversal", "request-2", 3] == pytest.approx(0.4)
    assert found["ft", 0, "reversal", 3] == pytest.approx(0.3)


def test_erosion_is_on_what_is_retained_at_the_end_and_since_round_1(tmp_path):
    lost = [*RETAINED[:140]]  # of 700
    run = [[*REQUESTS[1], *lost[:70]], lost, lost]  # request 2 is not retained at the end
    retrained = [[], [], lost[:70]]
    found = numbers_of(tmp_path, retrain=[retrained], ft=[run])
    assert found["ft", 0, "erosion", 2] == pytest.approx(-0.2 - -0.1)
    assert found["ft", 0, "erosion", 3] == pytest.approx((-0.2 - -0.1) - -0.1)
    assert ("ft", 0, "erosion", 1) not in found


def test_neighbours_are_those_of_the_first_request_by_the_base(tmp_path):
    run = [[], [*NEAR[:4]], [*NEAR[:20], 360, 361]]  # others are lost too, but far
    found = numbers_of(tmp_path, retrain=[[[], [], [*NEAR[:2]]]], ft=[run])
    losses = [found["ft", 0, "first_near_loss", r] for r in (1, 2, 3)]
    assert losses == pytest.approx([0.0, 0.1, 0.5 - 0.05])


def test_retrain_is_compared_with_the_next_seed(tmp_path):
    found = numbers_of(tmp_path, retrain=[[[], [], [*NEAR[:4]]], NONE], ft=[NONE, NONE])
    assert found["retrain", 0, "first_near_loss", 3] == pytest.approx(-0.1)
    assert found["retrain", 1, "first_near_loss", 3] == pytest.approx(0.1)
    alone = numbers_of(tmp_path / "alone", retrain=[NONE], ft=[NONE])
    assert math.isnan(alone["retrain", 0, "first_near_loss", 3])
    assert alone["retrain", 0, "request_accuracy", "request-1", 3] == 1.0


def test_the_distance_is_over_all_requests_so_far_and_leaves_its_floor(tmp_path):
    retrained = [[first(20)] * 3, [first(40)] * 3, [first(60)] * 3]
    run = [first(40), first(60), first(300)]
    found = numbers_of(tmp_path, retrain=retrained, ft=[run] * 3)
    # The run knows 60 of 100, 140 of 200, 0 of 300 requested; Retrain 60, 160, 260 on average.
    distances = [found["ft", None, "rounds_gap", r] for r in (1, 2, 3)]
    assert distances == pytest.approx([0.0, 20 / 200 / 3, 260 / 300 / 3])
    floors = [found["retrain", None, "rounds_floor", r] for r in (1, 2, 3)]
    # Pairs of Retrains differ by 20, 40 and 20 requested examples, and in nothing else.
    expected = (0.2 + 0.4 + 0.2) / 3 / math.sqrt(3) / 3
    t = 4.302653
    scaled = [t * math.sqrt(math.pi / 2) * expected / r for r in (1, 2, 3)]
    assert floors == pytest.approx(scaled, rel=1e-6)
    alike = numbers_of(tmp_path / "alike", retrain=RETRAIN, ft=[NONE, NONE])
    one_example = (1 / 300 + 1 / 700 + 1 / NUM_TEST) / 3
    assert alike["retrain", None, "rounds_floor", 3] == pytest.approx(one_example)
    assert distances[1] < floors[1] and distances[2] > floors[2]
    assert found["ft", None, "retrain_by_gap"] == 3


def test_costs_are_summed_and_compared_with_retraining(tmp_path):
    seconds = {"retrain": (2.5, 2.0, 2.5), "ft": (1.0, 0.5, 1.5), "ga": (0.1, 0.1, 0.1)}
    runs = {run: [NONE, NONE] for run in ("ft", "ga", "original")}
    found = numbers_of(tmp_path, seconds=seconds, retrain=RETRAIN, **runs)
    assert [found["ft", 1, "rounds_rte", r] for r in (1, 2, 3)] == [1.0, 1.5, 3.0]
    assert found["retrain", 1, "rounds_rte", 3] == 7.0
    assert found["ft", None, "rounds_share", 3] == pytest.approx(3 / 7)
    assert found["ft", None, "retrain_by_cost"] == 3
    assert math.isnan(found["ga", None, "retrain_by_cost"])
    assert found["original", None, "rounds_share", 3] == 0


def test_a_round_after_a_divergence_has_no_numbers(tmp_path):
    found = numbers_of(
        tmp_path, statuses=("ok", "diverged", "skipped"), retrain=RETRAIN, ft=[NONE, NONE]
    )
    assert found["ft", 0, "first_near_loss", 1] == 0
    names = ("first_near_loss", "erosion", "reversal")
    assert all(math.isnan(found["ft", 0, name, r]) for name in names for r in (2, 3))
    assert math.isnan(found["ft", None, "rounds_gap", 3])
    assert found["ft", 0, "rounds_rte", 2] == 2.0 and math.isnan(found["ft", 0, "rounds_rte", 3])


def test_other_cells_have_no_numbers_over_rounds(tmp_path):
    last = stream(tmp_path, retrain=RETRAIN, ft=[NONE, NONE])
    assert [*numbers(last.by_round[1])] == []
    assert [one.name for one in last.by_round] == [*CELLS]


def table(folder, **more):
    """Return the last cell as tables and plots read it."""
    last = stream(folder, **more)
    rows, problems = cell_numbers(last)
    assert not problems
    for name, columns in {"metrics": COLUMNS, "costs": COST_COLUMNS}.items():
        own = [row for row in rows if find_metric(row.metric).is_cost == (name == "costs")]
        write_cell(folder / f"{name}.csv", last, own, columns)
    plan = BenchmarkPlan({run: run.upper() for run in more if run in ("ft", "ga")})
    read = read_tables(plan, folder / "metrics.csv", folder / "costs.csv")
    (found,) = checked(read).cells
    return found


BACK = [first(90), first(40), first(40)]  # half of request 1 comes back


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    seconds = {"retrain": (2.5, 2.5, 2.5), "ft": (1.0, 1.0, 1.0), "ga": (0.1, 0.1, 0.1)}
    away = [first(90), first(90), first(90)]
    runs = {"ft": [BACK, BACK, [first(90), first(50), first(50)]], "ga": [away] * 3}
    retrained = [[first(80)] * 3, [first(90)] * 3, [first(100)] * 3]
    return table(tmp_path_factory.mktemp("seen"), seconds=seconds, retrain=retrained, **runs)


def test_the_sentences_name_who_knows_again_and_when_to_retrain(seen):
    said = words(seen)
    assert said.startswith("Methods that clearly knew earlier requests again, in 3 rounds")
    assert ": FT +" in said and "after round 2" in said and "GA +" not in said
    assert "GA: not yet" in said and "FT: round" in said
    assert find_instead(seen, "ga") == "not yet"


CHEAP = {"retrain": (2.5, 2.5, 2.5), "ft": (0.1, 0.1, 0.1)}


def test_a_round_without_a_usable_model_is_a_reason_to_retrain(tmp_path):
    statuses = ("ok", "diverged", "skipped")
    found = table(tmp_path, statuses=statuses, seconds=CHEAP, retrain=RETRAIN, ft=[NONE, NONE])
    assert words(found).endswith("Retrain instead? FT: round 2 (diverged).")


def test_without_a_noise_floor_nobody_says_not_yet(tmp_path):
    cheap = table(tmp_path / "cheap", seconds=CHEAP, retrain=[NONE], ft=[NONE])
    assert words(cheap).endswith("Retrain instead? FT: unknown.")
    (last, _) = tables(cheap)
    assert last.grids[0].groups[0][0].fields[-2].value == "unknown"
    dear = table(tmp_path / "dear", retrain=[NONE], ft=[NONE])
    assert words(dear).endswith("Retrain instead? FT: round 3 at the latest (cost).")


def test_without_a_comparable_cost_nobody_says_not_yet(tmp_path):
    devices = {"retrain": ("cpu",) * 3, "ft": ("cpu", "cuda", "cuda")}
    runs = {"retrain": RETRAIN, "ft": [NONE, NONE]}
    found = table(tmp_path, seconds=CHEAP, devices=devices, **runs)
    assert words(found).endswith("Retrain instead? FT: unknown.")


def test_devices_are_compared_by_round(tmp_path):
    devices = {"retrain": ("cpu", "cuda", "cuda"), "ft": ("cuda", "cpu", "cpu")}
    runs = {"retrain": RETRAIN, "ft": [NONE, NONE], "ga": [NONE, NONE]}
    found = numbers_of(tmp_path, devices=devices | {"ga": ("cpu", "cuda", "cpu")}, **runs)
    assert math.isnan(found["ft", None, "rounds_share", 1])
    shares = [found["ga", None, "rounds_share", r] for r in (1, 2, 3)]
    assert shares == pytest.approx([1 / 2.5, 2 / 5, math.nan], nan_ok=True)


def test_equal_seeds_count_as_if_one_were_one_example_off(tmp_path):
    again = [first(100), first(98), first(98)]  # two of 100 come back, in both seeds
    found = table(tmp_path, retrain=RETRAIN, ft=[again, again])
    assert "rounds): none." in words(found)  # t(1) is above 12


def test_one_seed_claims_nothing(tmp_path):
    again = [first(100), first(98), first(60)]
    found = table(tmp_path, retrain=RETRAIN[:1], ft=[again])
    assert words(found).startswith("3 rounds with one seed: no claim. ")


def test_what_retrain_knows_as_well_as_the_base_need_not_be_forgotten(tmp_path):
    runs = {"original": RETRAIN, "ft": [NONE, NONE]}
    alike = table(tmp_path / "alike", retrain=RETRAIN, **runs)
    assert "Retrain knows these images too: there is nothing to forget." in words(alike)
    unknown = [(first(60), first(60), first(60))] * 2
    assert "nothing to forget" not in words(table(tmp_path / "other", retrain=unknown, **runs))


def test_the_tables_have_a_row_a_method_and_a_row_a_round(seen):
    last, by_round = tables(seen)
    labels = [line.label for group in last.grids[0].groups for line in group]
    assert labels == ["FT", "GA", "Retrain, next seed"]
    assert [len(group) for group in by_round.grids[0].groups] == [3, 3, 3]
    assert by_round.grids[0].groups[1][2].label == "FT, round 3"
    assert last.grids[0].headings[-2:] == ["Retrain instead", "Verdict, last round"]


def test_the_plot_has_a_point_a_round_and_the_floor(seen):
    (plot,) = plots(seen)
    assert [panel.title for panel in plot.panels] == [
        *("Request 1 (%)", "Reversal (points)", "Lost near request 1 (points)"),
        *("Erosion (points)", "Distance (points)", "RTE so far (s)"),
    ]
    request, reversal, *_, distance, seconds = plot.panels
    by_label = {one.label: one for one in request.series}
    assert by_label.keys() == {"FT", "GA", "Retrain"}
    assert by_label["FT"].y == pytest.approx([10, 170 / 3, 170 / 3])
    assert [one.x for one in reversal.series] == [[2, 3]] * 2
    assert distance.series[-1].label == "Noise floor"
    assert dict(zip([1, 2, 3], seconds.series[0].y, strict=True)) == {1: 1.0, 2: 2.0, 3: 3.0}
