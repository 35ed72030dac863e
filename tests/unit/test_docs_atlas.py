"""Maps and tables of docs/atlas.md, from an atlas that a test made up."""

import csv
from pathlib import Path

import numpy as np
import pytest
from generators import atlas as kept
from test_finding_atlas import NAMES, read_atlas, similarity

from collateral.findings.atlas import numbers, views
from collateral.results.files import csv_text

WIDE = ["apple", "bottle", "clock", "door", "elk", "fox", "goat"]


@pytest.fixture
def digits(tmp_path, monkeypatch):
    """A finished atlas in a folder of results, and an empty folder for what is kept of it."""
    table, made = read_atlas(tmp_path / "made"), tmp_path / "results" / kept.BENCHMARK
    (made / "tables").mkdir(parents=True)
    for one in views.tables_across(table):
        rows = [*one.records]
        (made / "tables" / f"{one.name}.csv").write_text(csv_text([*rows[0]], rows))
    columns = ("cell", "run", "metric", "at", "value")
    rows = [
        {"cell": "", "run": r.run, "metric": r.metric, "at": r.at, "value": r.value}
        for r in numbers.across(table)
    ]
    own = {"cell": "class_a-50", "run": "ga", "metric": "atlas_loss", "at": "50", "value": 9}
    (made / "metrics.csv").write_text(csv_text(columns, [*rows, own]))
    monkeypatch.setattr(kept, "DIGITS", tmp_path / "kept")
    return table, tmp_path / "results"


def test_what_is_kept_of_an_atlas_gives_the_maps_of_its_page(digits):
    table, results = digits
    assert kept.known_parts(results) == ["50", "100"]
    kept.keep_digits(results)
    for part, page in zip(kept.PARTS, views.plots_across(table), strict=True):
        plot = kept.plot_digits(part)
        shown = {panel.title: panel for panel in page.panels}
        assert [panel.title for panel in plot.panels] == ["GA", "RL", "Legitimate", "Points lost"]
        for panel in plot.panels[:-1]:
            assert panel.y.ticks == shown[panel.title].y.ticks
            # Rounding to four digits moves a colour by less than one step of a hundred.
            for one, other in zip(panel.bands, shown[panel.title].bands, strict=True):
                pair = [int(c.colour[i : i + 2], 16) for c in (one, other) for i in (1, 3, 5)]
                assert np.abs(np.subtract(pair[:3], pair[3:])).max() <= 6


def test_the_table_of_the_digits_has_a_row_per_method_and_share(digits):
    _, results = digits
    kept.keep_digits(results)
    rows = [line.split(" | ") for line in kept.digits_table().splitlines()[2:]]
    assert [row[0].strip("| ") for row in rows] == [
        "GA, 50 %",
        "RL, 50 %",
        "GA, 100 %",
        "RL, 100 %",
    ]
    assert rows[0][2] == "6"
    # 0.3 lost where similarity is 0.75 higher: 4 points per 0.1.
    assert float(rows[0][3].split()[0]) == pytest.approx(4, abs=0.5)


def test_an_asymmetry_without_an_interval_is_a_dash(digits):
    _, results = digits
    kept.keep_digits(results)
    file = kept.DIGITS / "tests.csv"
    rows = list(csv.DictReader(file.open()))
    ends = {"atlas_asymmetry": "0.25", "atlas_asymmetry_low": "0.1", "atlas_asymmetry_high": "0.4"}
    for row in rows:
        value = ends.get(row["metric"], row["value"])
        is_cut = row["run"] == "rl" and row["metric"] != "atlas_asymmetry"
        row["value"] = "" if is_cut and row["metric"] in ends else value
    file.write_text(csv_text([*rows[0]], rows))
    last = [line.split(" | ")[-1].strip("| ") for line in kept.digits_table().splitlines()[2:]]
    assert last == ["25 [10, 40]", "–", "25 [10, 40]", "–"]


def test_the_table_of_forecasts_says_which_are_given_and_leaves_out_methods_without_harm(digits):
    _, results = digits
    kept.keep_digits(results)
    columns = [
        *("method", "stratum", "emitter", "net_hurt", "auc", "low", "high", "rule", "gain"),
        *("gain_low", "gain_high", "precision_at_hurt", "refusal"),
    ]
    values = [
        ["ga", "others", "all", 31, 0.91, 0.88, 0.94, "gradient", -0.02, -0.03, 0.01, 0.2, "no"],
        ["ga", "others", "class_a", "", 0.7, "", "", "gradient", 0.1, "", "", "", ""],
        ["rl", "own", "all", 12, 0.81, 0.7, 0.92, "hardness", 0.06, 0.02, 0.1, 0.5, ""],
        ["rl", "others", "all", 9, 0.99, 0.98, 1.0, "hardness", 0.3, 0.2, 0.4, 0.9, "few"],
    ]
    rows = [dict(zip(columns, line, strict=True)) for line in values]
    (kept.DIGITS / "forecast.csv").write_text(csv_text(columns, rows))
    first, second = kept.forecast_table().splitlines()[2:]
    assert first.startswith("| GA, all other classes | 31 | 0.910 [0.880, 0.940] |")
    assert "| −0.020 [−0.030, +0.010] |" in first
    assert first.endswith("| 20 % | refused |")
    assert second.startswith("| RL, the forgotten classes | 12 |")
    assert second.endswith("| 50 % | given |")


def write_public(folder: Path, monkeypatch) -> None:
    """GA takes 20 points from similar classes; random images cost 1 point, but once 6."""
    names, rng = dict(zip(WIDE, NAMES, strict=True)), np.random.default_rng(4)
    near = {a: {b: similarity(names[a], names[b]) for b in WIDE} for a in WIDE}
    rows = [
        ["ga", a, b, 0.4 if a == b else 0.2 * (near[a][b] > 0.5) + 0.01 * rng.random(), 0.1, 50]
        for a in WIDE
    for b in WIDE]  # fmt: skip
    rows += [["ga", "random 0", b, 0.06 if b == "elk" else 0.01, 0.0, 50] for b in WIDE]
    header = ["method", "emitter", "receiver", "accuracy_drop", "confidence_drop", "n"]
    folder.mkdir()
    with (folder / "ga.csv").open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    with (folder / "similarity.csv").open("w", newline="") as file:
        table = [[a, *(near[a][b] for b in WIDE)] for a in WIDE]
        csv.writer(file).writerows([["class", *WIDE], *table])
    monkeypatch.setattr(kept, "PUBLIC", folder)


def test_the_public_base_has_one_row_and_white_is_what_random_images_cost(tmp_path, monkeypatch):
    write_public(tmp_path / "public", monkeypatch)
    (row,) = kept.public_table().splitlines()[2:]
    fields = [field.strip() for field in row.strip("|").split("|")]
    assert fields[:3] == ["GA", "7", "40.0"]
    # The most similar one is among the five, if there is one.
    assert float(fields[3]) == pytest.approx(20 * 6 / 35 + 0.5, abs=0.2)
    # Of seven classes, six are similar to one other: 20 points, and half a point more or less.
    assert float(fields[4]) == pytest.approx(20 * 6 / 42 + 0.5, abs=0.2)
    assert float(fields[5]) == pytest.approx((6 * 1 + 6) / 7, abs=0.05)
    floor = kept.find_floor(kept.read_public("ga")[0])
    assert 0.01 < floor < 0.06
    # Six of 42 pairs are similar, and only they are beyond the floor.
    assert fields[6].startswith("14 %")
    assert float(fields[9].replace("< ", "")) < 0.05
    plot = kept.plot_public("ga")
    order = [*plot.panels[0].y.ticks.values()]
    white = {
        (order[int(band.low + 0.5)], order[int(band.left + 0.5)])
        for band in plot.panels[0].bands
        if band.colour == "#ffffff"
    }
    assert len(white) == 36
