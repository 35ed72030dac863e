"""The key `trust` in the plan: which seeds are judged, with which reference, and in which jobs."""

import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from plug_ins import forgotten_after, write_files
from small_grid import grid

from collateral.config.load import read
from collateral.contract.claims import LAST, Claim
from collateral.contract.conventions import SKIPPED
from collateral.contract.rows import Row
from collateral.findings.metric_index import is_known
from collateral.findings.registry import in_order
from collateral.findings.trust.judged import claim_label, list_claims
from collateral.jobs import list_jobs, parse_job
from collateral.plan import fingerprint
from collateral.plan.grid import build_grid
from collateral.plan.report_plan import cell_numbers
from collateral.plugins.find import add_plugins
from collateral.results import layout
from collateral.results.cell import CellResults, UnplannedResult
from collateral.results.plan import CellNumbers

# Seeds are not their places; two are references, four are judged.
SEEDS = [7, 3, 12, 5, 30, 21]
REFERENCES = {12: 7, 5: 3, 30: 7, 21: 3}
TRUST = {
    **{"references": 2, "shares": [0.25, 0.5], "dose_seeds": 3, "recipe_seeds": 2},
    **{"edit_seeds": 4, "method_seeds": 1, "damage": {"digit_3-50": 0.27}},
    "recipes": {"half_rate": {"lr": 0.05}},
}
CUT = "cifar_small"  # benchmark of configs/cifar-small.yaml and configs/cifar-trust.yaml
COUNTS = {"dose-25": 3, "half_rate-not": 2, "int8-saw": 4, "silent": 4, "damaged0": 4, "ft": 1}


@pytest.fixture(scope="module")
def benchmark():
    return grid(seeds=SEEDS, trust=TRUST, probe=["linear"])


@pytest.fixture(scope="module")
def jobs(benchmark):
    return list(list_jobs(benchmark))


def descriptions(jobs, kind, **fields):
    found = [one.job for one in jobs if one.kind_name == kind]
    return [
        one for one in found if all(getattr(one, key) == value for key, value in fields.items())
    ]


def test_references_are_never_judged_and_nobody_meets_its_own_seed(benchmark):
    numbers = cell_numbers(benchmark, benchmark.cells["digit_3-50"])
    assert numbers.seeds == tuple(REFERENCES)
    assert dict(zip(numbers.seeds, numbers.trust.references, strict=True)) == REFERENCES
    assert {benchmark.reference_seed(seed) for seed in numbers.seeds} == {7, 3}
    assert all(seed != reference for seed, reference in REFERENCES.items())


@pytest.mark.parametrize(("run", "count"), COUNTS.items())
def test_a_run_has_its_first_judged_seeds_alone(jobs, run, count):
    seeds = [one.seed for one in descriptions(jobs, "unlearn", run=run, cell="digit_8-90")]
    assert seeds == list(REFERENCES)[:count]


def test_base_models_and_retrains_can_be_compared_alone():
    few = {"references": 2, "shares": [], "edit_seeds": 0, "impostors": False, "method_seeds": 1}
    benchmark = grid(seeds=SEEDS, trust=few)
    unlearned = {(one.run, one.seed) for one in descriptions(list_jobs(benchmark), "unlearn")}
    assert {seed for _, seed in unlearned} == {12}
    assert not {run for run, _ in unlearned} & {"silent", "damaged", "damaged0", "int8-saw"}
    numbers = cell_numbers(benchmark, benchmark.cells["digit_3-50"])
    assert {"original", "retrained"} <= {*numbers.controls}
    assert (numbers.trust.edits, numbers.trust.doses) == ({}, {})


def test_every_seed_has_its_retrain_and_each_judged_one_and_the_first_a_base(jobs):
    assert Counter(one.seed for one in descriptions(jobs, "retrain")) == dict.fromkeys(SEEDS, 4)
    assert [one.seed for one in descriptions(jobs, "base")] == [SEEDS[0], *REFERENCES]


def test_an_edit_of_retrain_starts_at_its_own_seed(jobs):
    (edited,) = descriptions(jobs, "unlearn", run="damaged0", seed=30, cell="digit_3-50")
    (base,) = descriptions(jobs, "unlearn", run="damaged", seed=30, cell="digit_3-50")
    assert edited.inputs["base"] == "digit_3-50/seed-30/retrain/model.safetensors"
    assert base.inputs["base"] == "base/seed-30/model.safetensors"
    assert edited.params == base.params == {"noise": 0.27}
    (other,) = descriptions(jobs, "unlearn", run="damaged", seed=30, cell="digit_8-90")
    assert other.params == {"noise": 0.1}


def test_doses_and_recipes_are_trainings_of_the_base_with_other_values(jobs):
    (dose,) = descriptions(jobs, "unlearn", run="dose-25", seed=5, cell="digit_3-50")
    (never,) = descriptions(jobs, "unlearn", run="half_rate-not", seed=5, cell="digit_3-50")
    (base,) = descriptions(jobs, "base", seed=5)
    assert dose.params == {**base.params, "model": "resnet8", "share": 0.25}
    assert never.params == {**base.params, "model": "resnet8", "share": 0.0, "lr": 0.05}


def test_a_probe_compares_with_the_reference_and_lists_the_runs_of_its_seed(jobs):
    (late,) = descriptions(jobs, "probe", seed=21, cell="digit_3-50")
    (early,) = descriptions(jobs, "probe", seed=12, cell="digit_3-50")
    models = dict(zip(late.runs, late.inputs["models"], strict=True))
    assert models["retrain"] == "digit_3-50/seed-3/retrain/model.safetensors"
    assert models["retrained"] == "digit_3-50/seed-21/retrain/model.safetensors"
    assert models["original"] == "base/seed-21/model.safetensors"
    assert {"dose-25", "half_rate-saw", "ft"} <= {*early.runs} - {*late.runs}
    assert {one.seed for one in descriptions(jobs, "probe")} == {*REFERENCES}


def test_metrics_wait_for_the_references_and_for_planned_runs_only(jobs):
    (job,) = descriptions(jobs, "metrics", cell="digit_3-50")
    records = job.inputs["records"]
    assert "digit_3-50/seed-7/retrain/record.json" in records
    assert "digit_3-50/seed-12/ft/record.json" in records
    assert not any("seed-5/ft/" in one or "seed-7/silent" in one for one in records)
    assert len(records) == len(set(records))


def test_descriptions_without_the_key_are_as_before():
    """Finished results of other benchmarks must stay valid: no new field in their jobs."""
    plain = {one.kind_name: one.job for one in list_jobs(grid(probe=["linear"]))}
    assert "reference_seed" not in plain["probe"].text()
    assert plain["unlearn"].content()["needs_retrain"] is False
    assert parse_job(json.loads(plain["probe"].text())) == plain["probe"]


def test_a_description_with_a_reference_is_read_back(jobs):
    (job,) = descriptions(jobs, "probe", seed=21, cell="digit_3-50")
    assert job.content()["reference_seed"] == 3
    assert parse_job(json.loads(job.text())) == job


def results(benchmark) -> CellResults:
    numbers: CellNumbers = cell_numbers(benchmark, benchmark.cells["digit_3-50"])
    return CellResults(folder=Path("here"), cell="digit_3-50", **vars(numbers))


def test_results_are_read_from_the_folders_of_the_right_seeds(benchmark):
    cell = results(benchmark)
    folders = {
        run: cell.result(run, 21).folder.relative_to("here").as_posix()
        for run in ("retrain", "retrained", "original", "silent")
    }
    assert folders == {
        "retrain": "digit_3-50/seed-3/retrain",
        "retrained": "digit_3-50/seed-21/retrain",
        "original": "base/seed-21",
        "silent": "digit_3-50/seed-21/silent",
    }


def test_a_seed_without_a_model_counts_as_skipped(benchmark):
    cell = results(benchmark)
    absent, planned = cell.result("ft", 5), cell.result("ft", 12)
    assert isinstance(absent, UnplannedResult)
    assert not isinstance(planned, UnplannedResult)
    assert (absent.status, absent.is_diverged) == (SKIPPED, True)
    assert absent.folder == Path("here", layout.BASE.format(seed=5))


def test_the_last_step_of_a_curve_is_found_among_numbers_alone(benchmark):
    cell = results(benchmark)
    steps: list[int | str | None] = [0, 9, 20, "near", None]
    cell.add(Row("ft", "curve", 0.1, 12, "", at) for at in steps)
    assert cell.last_index("ft", "curve") == 20
    assert cell.last_index("ft", "curve", "test") is None
    assert np.isnan(cell.values("ft", "curve", "test", 20)).all()


CLAIMING = '''"""Is it sure?"""

from collateral.contract.claims import {imported}
from collateral.contract.metrics import Metric

METRICS = {{"own_sureness": Metric("Own sureness", "a number of the user's own", "rate")}}
CLAIMS = (Claim("own_sureness", "outputs", -1, "forget"{at}),)
'''


@pytest.mark.parametrize(("imported", "at"), [("Claim", None), ("LAST, Claim", LAST)])
def test_a_number_of_a_plug_in_is_judged_after_it_is_computed(tmp_path, imported, at):
    numbers = "def numbers(cell):\n    return ()\n"
    claiming = CLAIMING.format(imported=imported, at=", at=LAST" if at else "")
    own = {"__init__.py": claiming, "numbers.py": numbers}
    write_files(tmp_path, {f"findings/sureness/{name}": text for name, text in own.items()})
    with forgotten_after():
        add_plugins([tmp_path])
        assert Claim("own_sureness", "outputs", -1, "forget", at) in list_claims()
        assert in_order()[-2:] == ["sureness", "trust"]


def test_a_judged_number_is_named_with_its_index_and_set():
    assert claim_label(Claim("delta_acc", "harm", 1, "test", at=9)) == "Δacc (9), test"
    assert claim_label(Claim("relearn_accuracy", "inside", 1, at=LAST)) == "Relearned"


def test_the_models_of_the_cut_of_cifar_are_those_of_its_archives():
    """With another description, they would be trained again."""
    configs = Path(__file__).parents[2] / "configs"
    archived, wanted = (
        {one.job.text(): one.kind_name for one in list_jobs(build_grid(read(file, "config"))[CUT])}
        for file in (configs / "cifar-small.yaml", configs / "cifar-trust.yaml")
    )
    same = Counter(kind for text, kind in wanted.items() if text in archived)
    trained = ("data", "base", "split", "retrain", "tune", "unlearn")
    assert {kind: same[kind] for kind in trained} == {
        **{"data": 1, "base": 9, "split": 2, "retrain": 20, "tune": 2, "unlearn": 2}
    }
    assert {kind for text, kind in wanted.items() if text not in archived}.isdisjoint(trained)


CLAIMS_MODULE = "collateral.findings.trust.claims"


def codes(monkeypatch):
    """Return the fingerprint of each stage, computed anew."""
    monkeypatch.setattr(fingerprint, "_known", {})
    stages = ("split", "train", "unlearn", "shadow", "probe", "metrics")
    more = {"metrics": ["collateral.findings.trust"]}  # a stage that loads findings by name
    return {
        one: fingerprint.fingerprint([f"collateral.stages.{one}", *more.get(one, [])])
        for one in stages
    }


def test_another_claim_makes_no_training_run_again(monkeypatch):
    before, read = codes(monkeypatch), fingerprint._read
    own = read(CLAIMS_MODULE)
    changed = SimpleNamespace(imports=own.imports, text=f"{own.text} and one more claim")
    monkeypatch.setattr(
        fingerprint, "_read", lambda name: changed if name == CLAIMS_MODULE else read(name)
    )
    after = codes(monkeypatch)
    assert {one for one in before if before[one] != after[one]} == {"metrics"}


def test_every_claim_is_about_a_declared_number():
    claims = list_claims()
    assert len(claims) > 50
    assert [one.metric for one in claims if not is_known(one.metric)] == []
    places = [(one.metric, one.set, one.at) for one in claims]
    assert len(set(places)) == len(places)
