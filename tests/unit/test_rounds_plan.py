"""Cells with `rounds:`: their names, where each round starts, what is shared with other cells."""

import pytest
from plug_ins import TWO_PHASES, forgotten_after, write_method
from small_grid import grid

from collateral.jobs import list_jobs
from collateral.jobs.data import PlannedData
from collateral.jobs.metrics import PlannedMetrics
from collateral.jobs.split import PlannedSplit
from collateral.jobs.tune import PlannedTune
from collateral.jobs.unlearn import PlannedUnlearn
from collateral.plan.work import find_workload

THREES, EIGHTS, FIVES = (
    {"kind": "class_part", "class": f"digit_{n}", "fraction": f}
    for n, f in ((3, 0.5), (8, 0.1), (5, 0.2))
)
ROUNDS = {"rounds": [{"forget": one} for one in (FIVES, EIGHTS, THREES)]}


def stream(*plugins, methods=None, **cells):
    return grid(*plugins, methods=methods or {"ft": {}}, cells={"stream": ROUNDS, **cells})


def test_every_round_is_a_cell_with_the_earlier_ones():
    cells = stream().cells
    rounds = [name for name in cells if name.startswith("stream")]
    assert rounds == ["stream-01", "stream-02", "stream-03"]
    earlier = [cells[name].forget.earlier for name in rounds]
    assert earlier == [(), ("stream-01",), ("stream-01", "stream-02")]
    assert [cells[name].forget.is_last for name in rounds] == [False, False, True]
    assert [cells[name].forget.params["class"] for name in rounds] == [
        *("digit_5", "digit_8", "digit_3")
    ]


def test_a_method_starts_from_its_own_model_of_the_round_before(tmp_path):
    benchmark = stream(methods={"ft": {}, "ga": {}})
    first, second, third = (benchmark.cells[f"stream-0{r}"] for r in (1, 2, 3))
    bases = [PlannedUnlearn(benchmark, c, 1, "ga").job.base for c in (first, second, third)]
    assert bases == [
        "base/seed-1/model.safetensors",
        "stream-01/seed-1/ga/model.safetensors",
        "stream-02/seed-1/ga/model.safetensors",
    ]
    assert bases[1] in PlannedUnlearn(benchmark, second, 1, "ga").job.input_files


def test_a_split_knows_the_forget_sets_of_earlier_rounds():
    benchmark = stream()
    third, plain = (
        PlannedSplit(benchmark, benchmark.cells[name]).job for name in ("stream-03", "digit_3-50")
    )
    earlier = ["stream-01/split.json", "stream-02/split.json"]
    assert third.inputs["earlier"] == earlier and plain.inputs["earlier"] == []
    assert third.input_files == ["labels.npz", *earlier]


def test_the_metrics_of_the_last_round_wait_for_what_they_read_of_the_earlier_ones():
    benchmark = stream()
    last, middle = (
        PlannedMetrics(benchmark, benchmark.cells[f"stream-0{r}"]).job.input_files for r in (3, 2)
    )
    for name in ("split.json", "neighbours.npz", "seed-1/ft/record.json"):
        assert {f"stream-0{r}/{name}" for r in (1, 2)} <= {*last}
    assert not [path for path in middle if "stream-01" in path]


def test_rounds_need_no_kind_of_job_and_retrain_once_a_round_and_seed():
    plain = {job.rule for job in list_jobs(grid())}
    benchmark = stream()
    assert {job.rule for job in list_jobs(benchmark)} == plain
    jobs = [job for job in list_jobs(benchmark) if job.wildcards.get("cell") == "stream-03"]
    assert [job.out for job in jobs if job.rule == "retrain"] == [
        f"results/b/stream-03/seed-{seed}/retrain" for seed in (3, 1, 2)
    ]


def test_only_round_1_is_tuned_and_its_values_hold():
    benchmark = stream(methods={"ft": {"lr": [0.1, 0.2]}, "ltd": {"k": 50, "lr": [0.1, 0.2]}})
    tunings = [job.out for job in list_jobs(benchmark) if isinstance(job, PlannedTune)]
    assert [one for one in tunings if "stream" in one] == [
        *("results/b/stream-01/tune/ft", "results/b/stream-01/tune/ltd")
    ]
    for r in (1, 2, 3):
        job = PlannedUnlearn(benchmark, benchmark.cells[f"stream-0{r}"], 3, "ltd")
        assert job.inputs["selected"] == "results/b/stream-01/tune/ltd/selected.json"


def test_after_round_1_runs_share_no_preparation(tmp_path):
    with forgotten_after():
        plugins = write_method(tmp_path, "two", TWO_PHASES)
        benchmark = stream(plugins, methods={"two": {}, "same": {"uses": "two"}})
        first, second = (
            PlannedUnlearn(benchmark, benchmark.cells[name], 1, "same")
            for name in ("stream-01", "stream-02")
        )
        assert first.prepare_plan.others.runs == ("two",)
        assert second.prepare_plan.others.runs == second.prepare_plan.others.tunings == ()
        assert [*second.prepare_plan.made] == [*second.spec.prepare_calls.values()]
        assert "prepared" not in second.inputs


@pytest.mark.parametrize(
    ("first", "wanted"),
    [
        (FIVES, "first"),
        ({**FIVES, "order": "first"}, "first"),
        ({**FIVES, "fraction": 0.3}, "stream-01"),
    ],
)
def test_round_1_is_a_plain_cell_of_the_same_forget_set(first, wanted):
    cells = stream(first={"forget": first}).cells
    assert cells["stream-03"].forget.earlier == (wanted, "stream-02")
    assert ("stream-01" in cells) == (wanted == "stream-01")
    assert cells["first"].forget.earlier == ()


def test_round_1_is_a_cell_of_classes_x_fractions():
    rounds = {"rounds": [{"forget": THREES}, {"forget": EIGHTS}]}
    cells = grid(cells={"stream": rounds}).cells
    assert cells["stream-02"].forget.earlier == ("digit_3-50",)


def test_a_plain_cell_with_other_parameters_is_not_round_1():
    cells = stream(first={"forget": FIVES, "methods": {"ft": {"lr": 0.5}}}).cells
    assert cells["stream-02"].forget.earlier == ("stream-01",)


def test_parameters_of_the_cell_hold_in_all_rounds():
    rounds = {**ROUNDS, "methods": {"ft": {"lr": 0.7}}}
    cells = grid(cells={"stream": rounds}).cells
    assert [cells[f"stream-0{r}"].runs["ft"].params.lr for r in (1, 2, 3)] == [0.7] * 3
    assert cells["digit_3-50"].runs["ft"].params.lr != 0.7


def test_the_last_cell_waits_for_the_outputs_of_all_rounds():
    benchmark = stream(first={"forget": FIVES})
    last, second = (PlannedMetrics(benchmark, benchmark.cells[f"stream-0{r}"]) for r in (3, 2))
    assert last.job.numbers.rounds == ("first", "stream-02", "stream-03")
    assert second.job.numbers.rounds == ()
    for name in ("first", "stream-02", "stream-03"):
        for run in ("ft", "retrain"):
            assert f"results/b/{name}/seed-2/{run}/record.json" in last.inputs["records"]
    files = second.job.input_files
    assert not [path for path in files if "first" in path or "stream-03" in path]


def test_the_data_job_contains_the_earlier_rounds():
    told = PlannedData(stream()).beside["forget"]
    earlier = {one["cell"]: one.get("earlier") for one in told}
    assert earlier["stream-03"] == ("stream-01", "stream-02")
    assert earlier["stream-01"] is earlier["digit_3-50"] is None


def test_sizes_count_the_largest_request_so_far():
    benchmark = stream()
    sizes = [find_workload(benchmark).sizes(benchmark.cells[f"stream-0{r}"]) for r in (1, 2)]
    assert sizes[1].forget < sizes[0].forget
    assert sizes[1].retain == sizes[0].retain < sizes[0].retain + sizes[0].forget
