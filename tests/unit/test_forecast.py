"""The command `forecast`: what it says with an atlas, without one, and when it refuses."""

import csv
import re
from dataclasses import replace

import numpy as np
import pytest
from fake_cell import fake_neighbours
from fake_results import FakeCell as FakeTable
from fake_results import read_cell
from made_atlas import (
    CLASSES,
    NUM_CLASSES,
    SEEDS,
    TRAIN,
    as_outputs,
    draw_base,
    made_labels,
    write_atlas,
    write_base,
)
from sealing import seal

from collateral.cli import main
from collateral.commands import _forecast, forecast
from collateral.config.load import load, read
from collateral.config.yaml import parse
from collateral.findings.forecast import numbers, views
from collateral.jobs.metrics import PlannedMetrics
from collateral.plan.grid import build_grid
from collateral.plots import page
from collateral.plots import print as printed
from collateral.results import layout
from collateral.results.cell import CellResults
from collateral.results.files import InvalidResultError, write_json
from collateral.results.outputs import ModelOutputs
from collateral.results.provenance import read_signed
from collateral.results.split import Split

REQUEST = {
    "data": {"name": "digits"},
    "model": "resnet8",
    "seeds": [*SEEDS],
    "methods": {"ga": {"lr": 0.1}, "rl": {"lr": 0.1}},
    "cells": {"request": {"forget": {"kind": "class_part", "class": 1, "fraction": 0.25}}},
}


@pytest.fixture
def results(tmp_path):
    write_atlas(tmp_path / "results" / "rings_atlas")
    return tmp_path / "results"


@pytest.fixture
def base(results):
    """A base model of the request's own benchmark, of one seed that the atlas does not have."""
    labels = made_labels()
    labels.save(results / "rings" / layout.LABELS)
    write_base(results / "rings", SEEDS[0], labels)
    seal(results / "rings")
    return results / "rings"


def write_config(folder, **changes):
    path = folder / "request.yaml"
    content = {"benchmarks": {"rings": {**REQUEST, **changes}}}
    path.write_text(str(content).replace("'", '"'), encoding="utf-8")
    return path


def run(capsys, *arguments) -> str:
    main(["forecast", *map(str, arguments)])
    return " ".join(capsys.readouterr().out.split())


def test_the_planted_harm_is_forecast_and_its_quality_is_named(tmp_path, results, base, capsys):
    config = write_config(tmp_path)
    text = run(capsys, config, "--results", results, "--out", tmp_path / "p.csv")
    assert "Learned from the atlas" in text
    assert "7 forgotten classes or groups, 2 seeds, 2 methods" in text
    others = text.partition("GA, all other classes: ")[2].partition("GA,")[0]
    assert others.startswith("about ")
    assert "emitters never seen: AUC 0.9" in others or "emitters never seen: AUC 1.0" in others
    # The neighbours of class b on the ring are a and c.
    named = others.partition("classes ")[2].split(".")[0]
    assert {name.split()[0] for name in named.split(", ")[:2]} == {"kind_a", "kind_c"}
    assert "RL, all other classes: no forecast: 0 examples are hurt" in text


def test_the_probabilities_are_written_and_hurt_examples_have_larger_ones(
    tmp_path, results, base, capsys
):
    out = tmp_path / "p.csv"
    run(capsys, write_config(tmp_path), "--results", results, "--out", out)
    with out.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["stratum"] == "others"]
    assert {row["method"] for row in rows} == {"ga"}
    assert len(rows) == (NUM_CLASSES - 1) * TRAIN
    labels = made_labels()
    assert all(row["class"] == CLASSES[labels.train[int(row["example"])]] for row in rows)
    near = [float(r["probability"]) for r in rows if r["class"] in ("kind_a", "kind_c")]
    far = [float(r["probability"]) for r in rows if r["class"] in ("kind_d", "kind_e", "kind_f")]
    assert np.mean(near) > 10 * np.mean(far)


def test_the_class_of_the_request_is_left_out_of_what_is_learned(
    tmp_path, results, base, monkeypatch
):
    atlas = _forecast.read_atlas(results / "rings_atlas")
    read_in = _forecast.read_base(base, request_cell(write_config(tmp_path)))
    seen = []
    fit = _forecast.Logistic.fit

    def noted(columns, is_hit):
        seen.append(len(columns))
        return fit(columns, is_hit)

    forget = np.flatnonzero(made_labels().train == 1)[:10]
    made = _forecast.make_forecasts(atlas, read_in, forget, ["ga"])
    _forecast._evaluate(atlas, "ga", "others", atlas.examples("ga")["others"])
    monkeypatch.setattr(_forecast.Logistic, "fit", staticmethod(noted))
    others = [one for one in made if one.stratum == "others"]
    assert others[0].refusal == ""
    rows = len(SEEDS) * (NUM_CLASSES - 1) * TRAIN  # of one emitter
    assert seen[-1] == (NUM_CLASSES - 1) * rows


def test_an_atlas_is_forecast_by_leaving_one_out(tmp_path, results, capsys):
    content = {**REQUEST, "atlas": {"each": "class", "fractions": [0.5]}}
    del content["cells"]
    path = tmp_path / "atlas.yaml"
    path.write_text(str({"benchmarks": {"rings_atlas": content}}).replace("'", '"'))
    out = tmp_path / "quality.csv"
    text = run(capsys, path, "--results", results, "--out", out)
    assert "Each class or group of the atlas is forecast from all others." in text
    with out.open(newline="") as file:
        ga = [row for row in csv.DictReader(file) if row["method"] == "ga"]
    others = {row["emitter"]: row for row in ga if row["stratum"] == "others"}
    assert [*others] == ["all", *CLASSES]
    mean = np.mean([float(others[name]["auc"]) for name in CLASSES])
    assert float(others["all"]["auc"]) == pytest.approx(mean)
    gains = [float(others[n]["auc"]) - float(others[n]["rule_auc"]) for n in CLASSES]
    assert float(others["all"]["gain"]) == pytest.approx(np.mean(gains))
    assert "GA, all other classes: " in text
    # As many examples as are hurt: by the atlas as it was made, 80 % of those that could be.
    precision = re.search(
        r"Net precision: (\S+) among the first 1 %, (\S+) among the first (\d+)", text
    )
    assert precision is not None
    first, among_hurt = map(float, precision.groups()[:2])
    assert first >= among_hurt > 0.5
    assert f"{precision[3]} hurt" in text


def test_one_file_is_not_for_an_atlas_and_a_request(tmp_path, results, base, capsys, monkeypatch):
    whole = {**REQUEST, "atlas": {"each": "class", "fractions": [0.5]}}
    del whole["cells"]
    path, out = tmp_path / "both.yaml", tmp_path / "both.csv"
    both = {"benchmarks": {"rings_atlas": whole, "rings": REQUEST}}
    path.write_text(str(both).replace("'", '"'))
    run(capsys, path, "--results", results)
    monkeypatch.setattr(forecast, "_describe", None)  # nothing is computed before
    with pytest.raises(SystemExit) as stopped:
        main(["forecast", str(path), "--results", str(results), "--out", str(out)])
    said = " ".join(f"{stopped.value} {capsys.readouterr().err}".split())
    assert "--out: rings_atlas is a finished atlas" in said and "of rings; leave" in said
    assert not out.exists()


def test_five_emitters_forecast_nothing(tmp_path, base, results, capsys):
    small = write_atlas(tmp_path / "small" / "few", emitters=5)
    text = run(capsys, write_config(tmp_path), "--results", results, "--atlas", small)
    assert (
        "GA, all other classes: no forecast: 5 emitters have both hurt and other examples" in text
    )
    assert "about" not in text.replace("about 0", "")


def test_an_atlas_of_one_seed_is_not_used(tmp_path, base, results, capsys):
    single = write_atlas(tmp_path / "single" / "one", seeds=SEEDS[:1])
    text = run(capsys, write_config(tmp_path), "--results", results, "--atlas", single)
    assert "it has one seed, so the noise between two Retrains is unknown" in text


def test_an_unfinished_atlas_is_named_with_a_missing_run(tmp_path, base, results, capsys):
    gone = results / "rings_atlas" / "kind_c-50" / f"seed-{SEEDS[1]}" / "ga" / "outputs.npz"
    gone.unlink()
    text = run(capsys, write_config(tmp_path), "--results", results)
    assert "1 of its runs are missing, such as" in text
    assert "kind_c-50" in text


def test_without_a_base_model_it_says_how_to_train_one(tmp_path, results, capsys):
    text = run(capsys, write_config(tmp_path), "--results", results)
    assert f"base/seed-{SEEDS[0]}/embeddings.npz` trains it" in text


def test_without_an_atlas_it_prints_a_config_that_makes_one(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(forecast, "select_speeds", lambda *_, **__: forecast.plan.SHIPPED["cpu"])
    tuned = {"ga": {"lr": [0.01, 0.1]}}
    config = write_config(tmp_path, methods={"ga": tuned["ga"]})
    main(["forecast", str(config), "--results", str(tmp_path / "results")])
    printed = capsys.readouterr().out
    assert "has no atlas of these data and this model" in " ".join(printed.split())
    assert "Estimated: About" in printed
    block = [line for line in printed.splitlines() if line.startswith("    ")]
    found = load(parse("\n".join(line[4:] for line in block)))
    (benchmark,) = build_grid(found).values()
    assert len(benchmark.cells) == 20
    assert benchmark.config.methods["ga"] == {"lr": 0.01}


def test_an_atlas_that_is_not_finished_is_not_proposed_again(tmp_path, capsys):
    config = write_config(tmp_path, atlas={"fractions": [0.5]})
    text = run(capsys, config, "--results", tmp_path / "results")
    assert "this atlas is not finished" in text
    assert "makes one" not in text


def test_an_atlas_that_will_have_no_retrain_is_told_so_before_it_runs(tmp_path, capsys):
    config = write_config(tmp_path, atlas={"fractions": [0.5]}, retrain="none")
    text = run(capsys, config, "--results", tmp_path / "results")
    assert "this atlas will have no Retrain, and harm is measured against Retrain" in text
    assert "run snakemake first" not in text


def test_another_recipe_of_the_base_model_is_named(tmp_path, results, base, capsys):
    config = write_config(tmp_path)
    known = {"epochs": 20, "lr": 0.1}
    describe_base(results / "rings_atlas", known, None)
    describe_base(base, known, None)
    assert "were trained otherwise" not in run(capsys, config, "--results", results)
    describe_base(base, {**known, "epochs": 35}, {"key": "init", "path": "mine.pt"})
    text = run(capsys, config, "--results", results)
    assert "were trained otherwise than this one (epochs: 20 there, 35 here, own: None" in text
    assert "GA, all other classes: about" in text


def describe_base(root, params, own):
    """Write the recipe of the base models into their records."""
    for path in root.glob(f"base/*/{layout.RECORD}"):
        record = {"run": "base", "status": "ok", "job": {"params": params, "own": own}}
        write_json(path, record)
    seal(root)


def test_methods_that_the_atlas_lacks_or_ran_otherwise_are_named(tmp_path, results, base, capsys):
    config = write_config(tmp_path, methods={"ga": {"lr": 0.2}, "ft": {}})
    text = run(capsys, config, "--results", results)
    assert "Not in the atlas, so not forecast" in text
    assert "Run with other parameters in the atlas" in text


def test_groups_are_named_where_the_config_has_some(tmp_path, results, base):
    atlas, read_in = (
        _forecast.read_atlas(results / "rings_atlas"),
        _forecast.read_base(base, request_cell(write_config(tmp_path))),
    )
    forget = np.flatnonzero(made_labels().train == 1)[:10]
    found = [*_forecast.make_forecasts(atlas, read_in, forget, ["ga"])]
    one = next(one for one in found if one.stratum == "others")

    class Grouped:
        class config:
            groups = ("site",)

    assert "site south (" in forecast.describe_forecast(one, read_in, Grouped)


def test_another_data_set_or_model_has_no_atlas(tmp_path, results, base):
    (other,) = build_grid(read(write_config(tmp_path, model="resnet20"))).values()
    assert _forecast.find_atlas(results, other, made_labels()) is None
    (same,) = build_grid(read(write_config(tmp_path))).values()
    fewer = made_labels()
    fewer = type(fewer)(fewer.train[:-1], fewer.test, fewer.class_names)
    assert _forecast.find_atlas(results, same, fewer) is None
    assert _forecast.find_atlas(results, same, made_labels()) is not None


def request_cell(path):
    (benchmark,) = build_grid(read(path)).values()
    return benchmark


def test_a_forecast_is_kept_before_a_method_has_run_and_not_afterwards(
    tmp_path, results, base, capsys
):
    config = write_config(tmp_path)
    assert "Kept: the page of the finished run will show it" in run(
        capsys, config, "--results", results
    )
    path = base / layout.FORECAST.format(cell="request")
    before = path.read_bytes()
    kept = read_signed(path, base)["methods"]
    assert len(kept["ga"]["others"]["examples"]) == (NUM_CLASSES - 1) * TRAIN
    assert kept["rl"]["others"]["examples"] == []
    assert "there is no harm to forecast" in kept["rl"]["others"]["refusal"]
    done = base / layout.RUN.format(cell="request", seed=SEEDS[1], run="rl") / layout.OUTPUTS
    done.parent.mkdir(parents=True)
    done.write_bytes(b"")
    assert "A method has run already" in run(capsys, config, "--results", results)
    assert path.read_bytes() == before


def kept_forecast(folder):
    """Write an atlas, a base model and its forecast; return the folder of the request."""
    write_atlas(folder / "results" / "rings_atlas")
    base = folder / "results" / "rings"
    labels = made_labels()
    labels.save(base / layout.LABELS)
    write_base(base, SEEDS[0], labels)
    seal(base)
    main(["forecast", str(write_config(folder)), "--results", str(folder / "results")])
    return base


def finish(base, hurt_class: int, noise: float = 0.0) -> CellResults:
    """Write Retrain, GA and RL of the request; GA hurts the examples of one class.

    With `noise`, the confidences of Retrain differ between seeds.
    """
    labels = made_labels()
    forget = np.flatnonzero(labels.train == 1)[:10]
    chosen = {"kind": "class_part", "class": "kind_b", "fraction": 0.25}
    split = Split(forget, len(labels.train), (1,), chosen)
    split.save(base / layout.SPLIT.format(cell="request"), labels, base / layout.LABELS)
    nothing = fake_neighbours(SEEDS, np.zeros(280), np.zeros(70), NUM_CLASSES)
    nothing.save(base / layout.NEIGHBOURS.format(cell="request"))
    for seed in SEEDS:
        logits = draw_base(seed, labels)
        for name in ("retrain", "ga", "rl"):
            loss = 0.4 * (labels.train == hurt_class) if name == "ga" else 0.0
            if name == "retrain":
                loss = noise * np.random.default_rng(seed).normal(size=len(labels.train))
            made = ModelOutputs(
                as_outputs(logits["train"][1], labels.train, loss),
                as_outputs(logits["test"][1], labels.test),
            )
            folder = base / layout.RUN.format(cell="request", seed=seed, run=name)
            made.save(folder / layout.OUTPUTS)
            write_json(folder / layout.RECORD, {"run": name, "status": "ok", "extra": {}})
    seal(base)
    return CellResults(
        folder=base,
        cell="request",
        seeds=SEEDS,
        base_seeds=SEEDS,
        methods=("ga", "rl"),
        has_forecast=True,
    )


def test_the_outcome_stands_beside_the_forecast_on_the_page(tmp_path, results, base, capsys):
    config = write_config(tmp_path)
    run(capsys, config, "--results", results)
    cell = finish(base, hurt_class=0)
    rows = {(r.run, r.metric, r.at, r.seed): r.value for r in numbers.numbers(cell)}
    assert rows["ga", "forecast_hurt", "class kind_a", None] > 30
    assert rows["ga", "forecast_hurt", "class kind_c", None] == 0
    expected = rows["ga", "forecast_expected", "others", None]
    classes = [
        value
        for (r, m, at, _), value in rows.items()
        if (r, m) == ("ga", "forecast_expected") and at.startswith("class") and at != "class kind_b"
    ]
    assert sum(classes) == pytest.approx(expected)
    assert rows["ga", "forecast_auc", "others", SEEDS[0]] > 0.7
    assert rows["rl", "forecast_refused", "others", None] == 1
    table = FakeTable("request", "kind_b", "0.25", seeds=SEEDS)
    for row in numbers.numbers(cell):
        if row.seed is None:
            table.add_overall(row.run, row.metric, row.value, row.set, row.at)
    for (name, metric, at, seed), value in rows.items():
        if seed == SEEDS[0]:
            other = rows[name, metric, at, SEEDS[1]]
            table.add(name, metric, value, other, set="retain", at=at)
    for name in ("retrain", "ga", "rl"):
        table.add(name, "ua", 0.5, 0.5)
    shown = read_cell(tmp_path / "shown", table)
    (made,) = views.tables(shown)
    texts = {line.label: [f.value for f in line.fields] for g in made.grids[0].groups for line in g}
    assert texts["RL, other classes"][0] == "refused"
    assert texts["GA, other classes"][0] == f"{expected:.0f}"
    assert views.words(shown).startswith("Retained examples, before and after: GA, other classes:")
    (plot,) = views.plots(shown)
    assert [panel.title for panel in plot.panels] == ["GA"]
    assert [one.label for one in plot.panels[0].series] == ["forecast", "GA"]
    printed.draw(plot)
    page.draw(plot)


def test_a_cell_without_a_forecast_has_none(base):
    cell = replace(finish(base, hurt_class=0), has_forecast=False)
    assert [*numbers.numbers(cell)] == []


def test_a_changed_forecast_is_refused(tmp_path, results, base, capsys):
    run(capsys, write_config(tmp_path), "--results", results)
    cell = finish(base, hurt_class=0)
    path = base / layout.FORECAST.format(cell="request")
    path.write_text(path.read_text().replace("rings_atlas", "another_atlas"))
    with pytest.raises(InvalidResultError, match="does not fit its own hash"):
        [*numbers.numbers(cell)]


def test_the_metrics_of_a_cell_read_its_forecast_if_there_is_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    benchmark = request_cell(write_config(tmp_path))
    job = PlannedMetrics(benchmark, benchmark.cells["request"]).job
    assert "forecast" not in job.inputs
    path = tmp_path / "results" / "rings" / "request" / "forecast.json"
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    job = PlannedMetrics(benchmark, benchmark.cells["request"]).job
    assert job.inputs["forecast"] == "request/forecast.json"


def test_init_gets_one_line_if_there_are_a_base_and_an_atlas(tmp_path, results, base):
    config = write_config(tmp_path)
    assert forecast.likely_hurt(config, results).startswith("likely to be hurt: kind_")
    (results / "rings_atlas" / layout.PLAN).unlink()
    assert forecast.likely_hurt(config, results) == ""


def test_a_folder_without_an_atlas_is_refused(tmp_path):
    with pytest.raises(SystemExit, match=r"has no plan\.json"):
        main(["forecast", str(write_config(tmp_path)), "--atlas", str(tmp_path)])
