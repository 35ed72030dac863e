"""Evidence of an erasure does not contain what was erased: not the files, the page, the bundle."""

import base64
import io
import re

import numpy as np
import pytest
from drive import run_stage
from fake_results import RUNS, full_cell, read_cells, write_models
from page_reading import report
from PIL import Image
from sealing import seal
from small_grid import grid

from collateral.config.errors import ConfigError
from collateral.jobs.neighbours import NeighboursJob
from collateral.jobs.pictures import PicturesJob, PlannedPictures
from collateral.metrics.copies import are_copies
from collateral.results import layout
from collateral.results.bundle import write_bundle
from collateral.results.dataset import Dataset, Labels, Neighbours, Pictures
from collateral.results.outputs import Embeddings
from collateral.results.plan import BenchmarkPlan, CellPlan
from collateral.results.provenance import read_record, write_record
from collateral.results.split import Split

CELL = "digit_3-50"
SIDE = 40  # of images: large enough to look for near copies
FORGOTTEN = [6, 7]  # of eight train examples, as `write_models` has them
COPIES = {1: 6, 3: 6}  # retained: forgotten
TEST_COPIES = {2: 7}


def images() -> tuple[np.ndarray, np.ndarray]:
    """Return train and test images; retained and test ones are copies of forgotten ones."""
    rng = np.random.default_rng(0)
    train, test = rng.integers(0, 200, (2, 8, SIDE, SIDE, 3), dtype=np.uint8)
    train[1] = train[6] + 5  # brighter
    train[3] = train[6]
    test[2] = train[7]
    return train, test


@pytest.fixture
def folder(tmp_path):
    """A benchmark with outputs, of which a method hurts all test examples; pictures are missing."""
    folder = tmp_path / "results/digits"
    read_cells(folder, full_cell(num_seeds=1, runs=("ft",)))
    BenchmarkPlan(RUNS, "matched", {CELL: CellPlan()}).save(folder / layout.PLAN)
    write_models(folder, CELL, {"retrain": [0.9] * 8, "ft": [0.1] * 8}, num_seeds=1)
    labels = Labels.load(folder / layout.LABELS)
    Dataset(*images(), labels, (0.5,) * 3, (0.5,) * 3).save(folder / layout.DATA)
    rng = np.random.default_rng(1)
    features = rng.random((2, 8, 4), np.float32)
    Embeddings(*features).save(folder / "base/seed-0/embeddings.npz")
    for name in (layout.TABLES, layout.FIGURES):
        (folder / name).mkdir()
    seal(folder)
    return folder


def make(folder, keep, withheld=()) -> None:
    """Run the stages from similarities to the page."""
    of = {"cell": CELL, "seeds": [0], "base_seeds": [0]}
    run_stage(NeighboursJob, folder, **of)
    withheld = [*withheld, *([CELL] if keep != "all" else [])]
    runs = {"methods": ["ft"], "reference": "retrain"}
    run_stage(PicturesJob, folder, **of, **runs, keep=keep, withheld=withheld)
    report(folder, folder)


def found_in(content: bytes) -> tuple[set[int], set[int]]:
    """Return which train and which test images are in a file, byte by byte."""
    both = ({k for k, one in enumerate(some) if one.tobytes() in content} for some in images())
    return tuple(both)


def found_on_page(folder) -> tuple[set[int], set[int]]:
    """Return which train and which test images are in the pictures that a page embeds."""
    page = (folder / layout.REPORT).read_text()
    sheets = [
        np.array(Image.open(io.BytesIO(base64.b64decode(text))).convert("RGB"))
        for text in re.findall(r"data:image/png;base64,([A-Za-z0-9+/=]+)", page)
    ]
    tiles = [
        sheet[:, k : k + SIDE].tobytes()
        for sheet in sheets
        if sheet.shape[0] == SIDE
        for k in range(0, sheet.shape[1], SIDE)
    ]
    both = ({k for k, one in enumerate(some) if one.tobytes() in tiles} for some in images())
    return tuple(both)


def files_of(folder, archive, *, with_models) -> dict[str, bytes]:
    """Return the files that may leave the machine, and the archive of them all."""
    write_bundle(archive, [folder], with_models=with_models)
    cell = folder / CELL
    paths = [cell / "neighbours.npz", cell / "pictures.npz", archive]
    return {path.name: path.read_bytes() for path in paths}


def test_with_all_pictures_forgotten_ones_are_in_files_page_and_bundle(folder, tmp_path):
    """The others mean something: what they do not find is what this finds."""
    make(folder, "all")
    files = files_of(folder, tmp_path / "a.tar", with_models=False)
    assert found_in(files["pictures.npz"]) == ({*range(8)}, {*range(8)})
    assert found_in(files["a.tar"]) == ({*range(8)}, {*range(8)})
    assert found_in(files["neighbours.npz"]) == (set(), set())
    train, test = found_on_page(folder)
    assert {*FORGOTTEN} <= train and test == {*range(8)}
    assert "are left out" not in (folder / layout.REPORT).read_text()


@pytest.mark.parametrize("with_models", [False, True])
def test_retained_leaves_out_what_was_forgotten_and_its_copies(folder, tmp_path, with_models):
    make(folder, "retained")
    kept = {0, 2, 4, 5}, {*range(8)} - TEST_COPIES.keys()
    files = files_of(folder, tmp_path / "a.tar", with_models=with_models)
    assert found_in(files["pictures.npz"]) == found_in(files["a.tar"]) == kept
    assert found_in(files["neighbours.npz"]) == (set(), set())
    train, test = found_on_page(folder)
    assert train <= kept[0] and test == kept[1]
    page = (folder / layout.REPORT).read_text()
    assert page.count("Pictures of forgotten examples and of copies of them are left out") == 1
    assert "the nearest forgotten one" not in page and "Beside each" not in page


@pytest.mark.parametrize("with_models", [False, True])
def test_none_leaves_out_every_picture(folder, tmp_path, with_models):
    make(folder, "none")
    for content in files_of(folder, tmp_path / "a.tar", with_models=with_models).values():
        assert found_in(content) == (set(), set())
    assert found_on_page(folder) == (set(), set())
    page = (folder / layout.REPORT).read_text()
    assert page.count("Pictures are left out, on this page and in a bundle") == 1
    assert 'class="thumb"' not in page


def test_images_forgotten_in_other_cells_are_not_shown(folder, tmp_path):
    other = folder / "withdrawn/split.json"
    labels = folder / layout.LABELS
    Split(np.array([0, 5]), 8, (0, 1), {"kind": "files"}).save(other, Labels.load(labels), labels)
    make(folder, "all", withheld=["withdrawn"])
    assert found_in((folder / CELL / "pictures.npz").read_bytes())[0] == {*range(8)} - {0, 5}
    assert "withdrawn in another cell are left out" in (folder / layout.REPORT).read_text()


def test_with_models_data_set_and_prepared_files_stay_where_pictures_are_withheld(folder, tmp_path):
    prepared = folder / CELL / "seed-0/ft/prepared/amun-0/prepared.safetensors"
    prepared.parent.mkdir(parents=True)
    prepared.write_bytes(b"images")
    write_record(prepared.parent / layout.RECORD, {}, root=folder, files=[prepared])
    for keep, is_there in (("retained", False), ("all", True)):
        make(folder, keep)
        made = write_bundle(tmp_path / "a.tar", [folder], with_models=True)
        assert made.withheld == ([] if is_there else ["digits"])
        content = (tmp_path / "a.tar").read_bytes()
        assert b"digits/base/seed-0/embeddings.npz" in content
        for name in (b"digits/dataset.npz", b"amun-0/prepared.safetensors"):
            assert (name in content) == is_there


def test_pictures_are_read_as_they_were_written(folder):
    make(folder, "retained")
    path = folder / CELL / "pictures.npz"
    found = Pictures.load(path)
    listed = Neighbours.load(folder / CELL / "neighbours.npz")
    assert found.keep == "retained" and read_record(layout.record_path(path))["keep"] == "retained"
    train, test = images()
    for place, image in zip(found.place, found.images, strict=True):
        of = test if listed.shown_set[place] == "test" else train
        assert np.array_equal(of[listed.shown_index[place]], image)


def test_small_images_are_copies_only_where_they_are_equal():
    one = np.arange(64, dtype=np.uint8).reshape(1, 8, 8, 1)
    assert are_copies(np.concatenate([one, one + 1]), one).tolist() == [True, False]


# The key of a benchmark.

FILES = {"forget": {"kind": "files", "path": "gone.txt"}}
WHERE = {"forget": {"kind": "where", "column": "subject", "is": [17]}}
PART = {"forget": {"kind": "random_part", "fraction": 0.1}}


def test_by_default_the_kind_of_forget_set_decides():
    benchmark = grid(cells={"gone": FILES, "person": WHERE, "tenth": PART})
    found = {name: cell.pictures for name, cell in benchmark.cells.items()}
    assert {found.pop("gone"), found.pop("person")} == {"retained"}
    assert len(found) > 1 and {*found.values()} == {"all"}
    job = PlannedPictures(benchmark, benchmark.cells["tenth"])
    assert job.job.withheld == ("gone", "person")
    splits = [f"results/{benchmark.name}/{name}/split.json" for name in ("gone", "person")]
    assert job.inputs["withheld"] == splits


@pytest.mark.parametrize("keep", ["none", "retained", "all"])
def test_the_config_decides_for_all_cells(keep):
    benchmark = grid(cells={"gone": FILES, "tenth": PART}, pictures=keep)
    assert {cell.pictures for cell in benchmark.cells.values()} == {keep}


def test_another_word_is_refused_with_those_allowed():
    with pytest.raises(ConfigError) as error:
        grid(pictures="some")
    assert "pictures" in str(error.value)
    assert all(word in str(error.value) for word in ("none", "retained", "all"))
