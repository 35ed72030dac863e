"""Numbers of a run are made once, and again when anything that they are made of changes."""

import math
from collections import Counter
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from sealing import seal
from test_finding_compute import CELL, model, nothing

from collateral.contract.rows import Row
from collateral.findings.registry import cell_numbers
from collateral.results import layout, row_cache
from collateral.results.cell import CellResults
from collateral.results.outputs import ModelOutputs
from collateral.results.plan import CellNumbers
from collateral.results.row_cache import RowCache

CODE = {"mine": "1"}


@pytest.fixture
def cell(tmp_path) -> CellResults:
    return CELL.write(tmp_path)


def made_anew(cell: CellResults, code: dict[str, str] = CODE) -> list[tuple[str, int]]:
    """Return the runs and seeds that had to be made."""
    made = []

    def make(result):
        made.append((result.run, result.seed))
        yield Row(result.run, "ua", 1 / 3, result.seed)
        yield Row(result.run, "class_drop", math.nan, result.seed, "test", at="three")
        yield Row(result.run, "delta_acc", 0.5, result.seed, "test", at=3)

    kept = RowCache(cell, code)
    for result in list(cell.all_results()):
        place = ("mine", f"{result.run}-{result.seed}", [result])
        rows = kept.rows(*place, lambda result=result: make(result))
        again = kept.rows(*place, lambda: pytest.fail("made twice"))
        assert [(r.metric, r.seed, r.set, r.at) for r in again] == [
            (r.metric, r.seed, r.set, r.at) for r in rows
        ]
        assert again[0].value == 1 / 3 and math.isnan(again[1].value)
    return made


def test_a_second_time_nothing_is_made(cell):
    assert len(made_anew(cell)) == 6
    assert made_anew(cell) == []


def test_a_machine_without_torch_keeps_the_numbers_and_one_with_another_numpy_does_not(
    cell, monkeypatch
):
    made_anew(cell)
    with_torch = {"numpy": "2.0", "python": "3.12.1", "scipy": "1.2", "torch": "2.5", "timm": "1"}
    monkeypatch.setattr(row_cache, "versions", lambda: with_torch)
    assert len(made_anew(cell)) == 6
    without = {name: one for name, one in with_torch.items() if name not in ("torch", "timm")}
    monkeypatch.setattr(row_cache, "versions", lambda: without)
    assert made_anew(cell) == []
    monkeypatch.setattr(row_cache, "versions", lambda: {**without, "numpy": "2.1"})
    assert len(made_anew(cell)) == 6


def test_changing_one_run_makes_one_run_anew(cell):
    made_anew(cell)
    other = model(1, draw=9)
    path = cell.result("ft", 1).folder / layout.OUTPUTS
    ModelOutputs(other.train, other.test).save(path)
    seal(cell.folder)
    assert made_anew(cell) == [("ft", 1)]


@pytest.mark.parametrize("name", [layout.LABELS, layout.SPLIT, layout.NEIGHBOURS])
def test_a_change_of_shared_files_computes_all_rows_again(cell, name):
    made_anew(cell)
    path = cell.folder / name.format(cell="cell")
    path.write_bytes(path.read_bytes() + b" ")
    seal(cell.folder)
    assert len(made_anew(cell)) == 6


def test_other_looks_make_all_anew_since_other_examples_may_be_near(cell):
    made_anew(cell)
    assert len(made_anew(replace(cell, looks=(2, 3)))) == 6


@pytest.mark.parametrize(
    ("key", "value"),
    [("groups", ("sex",)), ("positive", ("three",)), ("margins", {"ua": 2.0})],
)
def test_every_key_of_the_config_that_numbers_use_makes_all_anew(cell, key, value):
    made_anew(cell)
    assert len(made_anew(replace(cell, **{key: value}))) == 6


def test_names_of_other_runs_and_cells_make_nothing_anew(cell):
    made_anew(cell)
    assert made_anew(replace(cell, tracked=("ft",), probed=("zrf",), rounds=("one", "cell"))) == []
    assert {one.name for one in fields(CellNumbers)} > row_cache.NAMES


def test_other_code_and_other_attacks_make_all_anew(cell):
    made_anew(cell)
    assert len(made_anew(cell, {"mine": "2"})) == 6
    assert len(made_anew(replace(cell, attacks=("confidence",)), {"mine": "2"})) == 6


@pytest.mark.parametrize("content", ["", "{", "[]", '{"made_of": 1}', '{"rows": [[1, 2]]}'])
def test_a_damaged_file_is_made_anew(cell, content):
    made_anew(cell)
    (cell.folder / layout.ROW_CACHE.format(cell="cell") / "mine" / "ft-0.json").write_text(content)
    assert made_anew(cell) == [("ft", 0)]


@pytest.mark.parametrize(
    ("changed", "again"),
    [
        (
            ("ft", 1),
            {"accuracy": 1, "divergence": 1, "klom": 1, "localization": 2, "membership": 1},
        ),
        (
            ("retrain", 1),
            {"accuracy": 1, "divergence": 3, "klom": 2, "localization": 4, "membership": 1},
        ),
    ],
)
def test_numbers_against_retrain_are_made_anew_where_either_model_changed(cell, changed, again):
    code = dict.fromkeys(again, "code")
    cell_numbers(cell, RowCache(cell, code))
    folder = cell.folder / layout.ROW_CACHE.format(cell="cell")
    before = {path: path.read_bytes() for path in folder.glob("*/*.json")}
    other = model(1, draw=9)
    ModelOutputs(other.train, other.test).save(cell.result(*changed).folder / layout.OUTPUTS)
    seal(cell.folder)
    fresh = replace(cell)
    found, _ = cell_numbers(fresh, RowCache(fresh, code))
    plain, _ = cell_numbers(replace(cell))
    assert {repr(row) for row in found} == {repr(row) for row in plain}
    made = [path.parent.name for path, content in before.items() if path.read_bytes() != content]
    assert Counter(made) == again


def test_cached_rows_are_equal_to_computed_ones(tmp_path):
    lost = replace(model(1), train=nothing(40), test=nothing(40), status="diverged")
    cell = replace(CELL, runs=CELL.runs | {("ft", 1): lost}).write(tmp_path)
    code = dict.fromkeys(("accuracy", "divergence", "klom", "localization", "membership"), "code")
    plain, _ = cell_numbers(cell)
    for _ in range(2):
        kept, problems = cell_numbers(cell, RowCache(cell, code))
        assert problems == []
        assert [replace(row, value=0) for row in kept] == [replace(row, value=0) for row in plain]
        values = np.array([[row.value for row in rows] for rows in (kept, plain)])
        assert np.array_equal(values[0], values[1], equal_nan=True)
    assert {
        path.name for path in (Path(tmp_path) / layout.ROW_CACHE.format(cell="cell")).iterdir()
    } == set(code)
