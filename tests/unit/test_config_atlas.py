"""The config key `atlas`: one cell per class and share, or per group."""

import numpy as np
import pytest
from small_config import complaint, config

from collateral.config.load import load
from collateral.jobs.metrics import PlannedMetrics
from collateral.plan.grid import build_grid
from collateral.plan.preflight import check_plan
from collateral.plan.report_plan import make_plan


def grid(**changes):
    (benchmark,) = build_grid(load(config(**changes))).values()
    return benchmark


def test_every_class_and_share_is_a_cell():
    benchmark = grid(atlas={"fractions": [0.5, 1.0]}, classes=None, fractions=None)
    assert len(benchmark.cells) == 20
    assert {"digit_0-50", "digit_9-100"} <= benchmark.cells.keys()
    forget = benchmark.cells["digit_7-50"].forget
    assert forget.kind == "class_part"
    assert dict(forget.params) == {"class": "digit_7", "fraction": 0.5, "order": "first"}


def test_a_cell_of_the_atlas_is_the_same_as_that_of_classes_and_fractions():
    """So that what `classes` has computed is taken."""
    cells = grid(atlas={"fractions": [0.5]}).cells
    assert len(cells) == 10
    own = grid().cells["digit_3-50"].forget
    assert (own.kind, own.params) == (
        cells["digit_3-50"].forget.kind,
        cells["digit_3-50"].forget.params,
    )


def test_some_classes_are_forgotten_by_name_or_number():
    cells = grid(atlas={"only": ["digit_1", 5, 8]}, classes=None, fractions=None).cells
    assert [*cells] == ["digit_1-100", "digit_5-100", "digit_8-100"]


def test_numbers_and_pages_know_the_place_in_the_atlas_and_other_cells_have_none():
    benchmark = grid(atlas={"only": [1, 5, 8]})
    job = PlannedMetrics(benchmark, benchmark.cells["digit_5-100"]).job
    place = {"each": "class", "part": "100", "emitter": "digit_5"}
    assert dict(job.numbers.atlas) == place
    assert dict(make_plan(benchmark).cells["digit_5-100"].numbers.atlas) == place
    assert dict(make_plan(benchmark).cells["digit_3-50"].numbers.atlas) == {}


@pytest.fixture
def images(tmp_path):
    """Twelve images of three classes, of four sites, one of them with an empty name."""
    index = np.arange(12)
    site = np.array(["south", "North Wing", "east", ""])[index % 4]
    arrays = {"train_images": np.zeros((12, 8, 8, 1), np.uint8), "train_labels": index % 3}
    arrays |= {"test_images": arrays["train_images"], "test_labels": index % 3}
    path = tmp_path / "mine.npz"
    np.savez(path, **arrays, train_site=site, test_site=site, class_names=["a", "b", "c"])
    return {"name": "arrays", "path": str(path)}


def test_every_value_of_a_column_is_a_group_but_the_empty_one(images):
    benchmark = grid(data=images, atlas={"each": "site"}, classes=None, fractions=None)
    assert [*benchmark.cells] == ["site-north-wing", "site-east", "site-south"]
    forget = benchmark.cells["site-north-wing"].forget
    assert (forget.kind, dict(forget.params)) == ("where", {"column": "site", "is": "North Wing"})
    assert forget.atlas == {"each": "site", "part": "100", "emitter": "North Wing"}
    check_plan({"b": benchmark})


def test_an_unknown_column_is_named(images):
    text = complaint(data=images, atlas={"each": "sight"}, classes=None, fractions=None)
    assert text.startswith("atlas: values of a column 'sight' are not known")


def test_a_value_that_no_example_has_is_reported_under_atlas(images):
    only = ["east", "south", "west"]
    benchmark = grid(
        data=images, atlas={"each": "site", "only": only}, classes=None, fractions=None
    )
    with pytest.raises(ValueError, match=r"benchmarks\.b\.atlas: no value 'west' in column site"):
        check_plan({"b": benchmark})
