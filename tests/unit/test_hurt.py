"""Who is hurt is looked for among all retained and test examples, not among the nearest alone."""

import re
from dataclasses import dataclass

import numpy as np
import pytest
from drive import run_stage
from made_benchmark import (
    CLASSES,
    PART,
    Behaviour,
    Made,
    compute,
    image_of,
    present,
)
from made_benchmark import _outputs as outputs_of
from page_tree import read_page
from sealing import seal
from small_grid import grid

from collateral.jobs.pictures import PicturesJob, PlannedPictures
from collateral.report.images import build_gallery
from collateral.results import layout
from collateral.results.dataset import Dataset, Pictures
from collateral.results.outputs import ModelOutputs
from collateral.results.provenance import read_signed
from collateral.results.table import read_tables

RUNS = {
    "retrain": Behaviour(kind="reference"),
    "rl": Behaviour(),  # hurts retained examples that are far from the forgotten ones
    "salun": Behaviour(),  # hurts test examples alone
    "ssd": Behaviour(),  # hurts nobody
    "scrub": Behaviour(statuses={5: "diverged"}),
}
NUM_HURT = {"train": 9, "test": 3}  # more than a strip has, and less


@dataclass(frozen=True)
class Hurting(Made):
    """Every run is equally sure of all examples, but of those whom it hurts."""

    cells: tuple[str, ...] = (PART,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "runs", RUNS)

    def hurt(self, name: str) -> list[int]:
        """Return examples that are not listed as near, the worst first."""
        shown = self.neighbours(PART)
        listed = shown.shown_index[shown.shown_set == name]
        everyone = self.split(PART).retain if name == "train" else np.arange(len(self.labels.test))
        return np.setdiff1d(everyone, listed)[::-1][: NUM_HURT[name]].tolist()

    def outputs(self, cell: str, run: str, seed: int, part: float = 1.0) -> ModelOutputs:
        """Return logits of 3 for the true class; the worst lose most of them."""
        sets = {}
        for name, label in (("train", self.labels.train), ("test", self.labels.test)):
            logits = np.zeros((len(label), len(CLASSES)))
            logits[np.arange(len(label)), label] = 3.0
            if (run, name) in {("rl", "train"), ("salun", "test")}:
                worst = self.hurt(name)
                logits[worst, label[worst]] -= np.linspace(5.0, 2.0, len(worst))
            if self.status(run, seed) == "diverged":
                logits[:] = np.nan
            sets[name] = outputs_of(logits, label)
        return ModelOutputs(**sets)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """The benchmark, with pictures by the stage, and with the page."""
    made = Hurting()
    root = made.write(tmp_path_factory.mktemp("hurting"))
    sizes = {"train": len(made.labels.train), "test": len(made.labels.test)}
    images = [np.stack([image_of(n, k) for k in range(size)]) for n, size in sizes.items()]
    Dataset(*images, made.labels, (0.5,) * 3, (0.5,) * 3).save(root / layout.DATA)
    seal(root)
    made.split(PART).save(root / PART / "split.json", made.labels, root / layout.LABELS)
    of = {"cell": PART, "seeds": made.seeds, "base_seeds": made.seeds, "reference": "retrain"}
    methods = [*RUNS][1:]
    run_stage(PicturesJob, root, **of, methods=methods, keep="all", withheld=[])
    compute(made, root, probes=())
    return present(root)


@pytest.fixture(scope="module")
def gallery(root):
    plan = Hurting().plan
    table = read_tables(plan, root / layout.METRICS, root / layout.COSTS)
    return build_gallery(root, table.cells[0])


def shown_files(strip):
    return [example.file for example in strip.examples]


def test_the_worst_are_shown_though_they_are_not_among_the_nearest(gallery):
    made = Hurting()
    rl, salun = gallery.hurt
    train, test = made.labels.columns["file"], made.labels.test_columns["file"]
    assert (rl.run, rl.set, rl.count) == ("rl", "retained", 9)
    assert (salun.run, salun.set, salun.count) == ("salun", "test", 3)
    assert shown_files(rl) == [train[k] for k in made.hurt("train")[:8]]
    assert shown_files(salun) == [test[k] for k in made.hurt("test")]
    assert all(one.place is not None for strip in (rl, salun) for one in strip.examples)


def test_by_nobody_and_not_counted_name_every_method(gallery):
    assert [strip.title for strip in gallery.hurt] == ["RL", "SALUN"]
    assert (gallery.nobody, gallery.lost) == (("SSD",), ("SCRUB",))


def test_the_stage_stores_the_worst_besides_the_listed_ones_and_names_what_it_read(root):
    made, found = Hurting(), Pictures.load(root / PART / "pictures.npz")
    wanted = [("train", k) for k in made.hurt("train")[:8]] + [
        ("test", k) for k in made.hurt("test")
    ]
    assert [*zip(found.hurt_set.tolist(), found.hurt_index.tolist(), strict=True)] == wanted
    assert len(found.place) == len(made.neighbours(PART).shown_set) + len(wanted)
    for image, one in zip(found.images[-len(wanted) :], wanted, strict=True):
        assert np.array_equal(image, image_of(*one))
    inputs = read_signed(root / PART / "pictures.json")["inputs"]
    assert {f"{PART}/seed-{s}/{run}/outputs.npz" for s in made.seeds for run in RUNS} < {*inputs}


def test_beside_the_decision_table_those_of_the_test_set_are_shown_too(root):
    page = read_page((root / layout.REPORT).read_text())
    aside = page.one(id="who")
    texts = [one.text for one in aside.all("option")]
    assert texts == ["RL: 9 of 175 retained", "SALUN: 3 of 100 test"]
    notes = " ".join(" ".join(one.text.split()) for one in aside.all("p", "small"))
    assert "Nobody by ten points: SSD." in notes
    assert "Not counted, because a seed diverged or was skipped: SCRUB." in notes


def test_without_pictures_of_them_the_worst_are_named_all_the_same(root, tmp_path, gallery):
    """Methods made apart were joined: the pictures are those of one of them."""
    found = Pictures.load(root / PART / "pictures.npz")
    table = read_tables(Hurting().plan, root / layout.METRICS, root / layout.COSTS)
    path = root / PART / "pictures.npz"
    content, record = path.read_bytes(), (root / PART / "pictures.json").read_bytes()
    is_listed = found.place < len(Hurting().neighbours(PART).shown_set)
    Pictures("all", found.place[is_listed], found.images[is_listed]).save(path)
    (root / PART / "pictures.json").unlink()
    seal(root)
    without = build_gallery(root, table.cells[0])
    path.write_bytes(content)
    (root / PART / "pictures.json").write_bytes(record)
    assert [shown_files(one) for one in without.hurt] == [shown_files(o) for o in gallery.hurt]
    assert {one.place for strip in without.hurt for one in strip.examples} == {None}
    assert (without.nobody, without.lost) == (gallery.nobody, gallery.lost)


# The job.

CELL = "digit_8-90"


def test_the_job_waits_for_methods_and_retrain_and_not_for_sweeps_or_controls():
    sweeps = {"speed": {"method": "ft", "vary": {"lr": [0.1, 0.2]}}}
    benchmark = grid(sweeps=sweeps)
    cell = benchmark.cells[CELL]
    job = PlannedPictures(benchmark, cell).inputs
    runs = {re.search(r"seed-\d+/(.*)/outputs.npz", path)[1] for path in job["outputs"]}
    assert runs == {name for name in cell.names_by_kind("method") if "@" not in name}
    assert len(job["outputs"]) == len(runs) * len(benchmark.seeds)
    assert {path.split("/")[-2] for path in job["reference"]} == {"retrain"}


def test_without_pictures_the_job_waits_for_no_run():
    benchmark = grid(pictures="none")
    cell = benchmark.cells[CELL]
    job = PlannedPictures(benchmark, cell).inputs
    assert (job["outputs"], job["reference"]) == ([], [])


def test_without_retrain_the_base_models_are_the_reference():
    benchmark = grid(retrain="none")
    cell = benchmark.cells[CELL]
    found = PlannedPictures(benchmark, cell).inputs["reference"]
    assert found == [f"results/{benchmark.name}/base/seed-{s}/outputs.npz" for s in benchmark.seeds]
