"""benchmarks/atlas_public.py: a row per emitter and receiver; what is there is skipped."""

import csv
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from collateral.results.dataset import Dataset, Labels
from collateral.training.examples import test_examples as examples_of_test
from collateral.training.examples import train_examples
from collateral.training.job_io import Session

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import atlas_public

NAMES, TRAIN, TEST = ("ant", "bear", "cat", "dog"), 6, 5


def small_session(folder: Path) -> Session:
    rng, device = np.random.default_rng(3), torch.device("cpu")
    train, test = (np.arange(len(NAMES) * each) % len(NAMES) for each in (TRAIN, TEST))
    images = [rng.integers(0, 256, (len(part), 8, 10, 3), dtype=np.uint8) for part in (train, test)]
    data = Dataset(*images, Labels(train, test, NAMES), (0.5,) * 3, (0.3,) * 3)
    examples = train_examples(data, device), examples_of_test(data, device)
    return Session(device, data, *examples, folder)


def small_base(session, weights):
    torch.manual_seed(1)
    return session.new_model("resnet8")


@pytest.fixture
def out(tmp_path, monkeypatch):
    monkeypatch.setattr(atlas_public, "open_data", small_session)
    monkeypatch.setattr(atlas_public, "load_base", small_base)
    monkeypatch.setattr(atlas_public, "STEP", 3)
    monkeypatch.setattr(atlas_public, "EVERY", 1)
    return tmp_path


def run(monkeypatch, out, *more):
    words = ["atlas_public.py", "ga", "weights.pt", str(out), "--out", str(out), *more]
    monkeypatch.setattr(sys, "argv", words)
    atlas_public.main()
    with (out / "ga.csv").open(newline="") as file:
        return [*csv.DictReader(file)]


def test_there_is_a_row_for_each_pair_and_what_is_there_is_not_run_again(out, monkeypatch):
    first = run(monkeypatch, out, "--classes", "bear", "ant")
    assert [(row["emitter"], row["receiver"]) for row in first] == [
        (emitter, receiver) for emitter in ("bear", "ant") for receiver in NAMES
    ]
    assert {row["n"] for row in first} == {str(TEST)}
    marked = [{**row, "accuracy_drop": "7"} for row in first]
    with (out / "ga.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, atlas_public.HEADER, lineterminator="\n")
        writer.writeheader()
        writer.writerows(marked)
    rows = run(monkeypatch, out)
    assert rows[: len(marked)] == marked
    added = [row["emitter"] for row in rows[len(marked) :: len(NAMES)]]
    assert added == ["cat", "random 0", "dog"]


def test_half_of_a_class_is_forgotten_in_data_set_order_and_as_many_at_random(tmp_path, out):
    session = small_session(tmp_path)
    sets = dict(atlas_public.list_forget_sets(session, []))
    assert sets["bear"].forget.tolist() == [1, 5, 9]
    assert len(sets["random 0"].forget) == 3
    assert set(sets["random 0"].affected) == {*session.data.labels.train[sets["random 0"].forget]}


def test_accuracy_and_confidence_are_by_class_in_eval_mode(tmp_path, out):
    session = small_session(tmp_path)
    base = small_base(session, None)
    before = atlas_public.measure(base, session.test, len(NAMES))
    logits = base.eval()(session.test.pixels())
    is_right = (logits.argmax(1) == session.test.labels).numpy()
    for c in range(len(NAMES)):
        own = session.data.labels.test == c
        assert before[0, c] == pytest.approx(is_right[own].mean())
        shares = logits.softmax(1)[torch.from_numpy(own), c].detach().numpy()
        assert before[1, c] == pytest.approx(shares.mean(), rel=1e-4)


def test_similarity_is_written_once_with_one_on_the_diagonal(out, monkeypatch):
    run(monkeypatch, out, "--classes", "cat")
    rows = (out / "similarity.csv").read_text().splitlines()
    assert rows[0] == ",".join(["class", *NAMES])
    assert [float(row.split(",")[place + 1]) for place, row in enumerate(rows[1:])] == [1.0] * 4
    (out / "similarity.csv").write_text("kept")
    run(monkeypatch, out, "--classes", "dog")
    assert (out / "similarity.csv").read_text() == "kept"
