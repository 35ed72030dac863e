"""Later rounds through the real stages: who is visible, where methods start, who is skipped."""

import json
import shutil

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from workshop import Workshop, main

from collateral.jobs.split import SplitJob
from collateral.methods.ft import method as ft
from collateral.plugins.find import params_class, prepared_name
from collateral.results.files import read_json
from collateral.results.provenance import content_hash, read_record
from collateral.results.split import Split, ids_hash
from collateral.stages._workspace import Workspace

FT = {"epochs": 1, "batch_size": 16, "lr": 0.003}
SALUN = {"epochs": 1, "batch_size": 16}
SECOND = {"class": "family_0_class_0", "fraction": 1.0}
THIRD = {"class": "family_1_class_0", "fraction": 0.5}


class Rounds(Workshop):
    """A workshop with the splits of two further rounds; the second repeats the first request."""

    def __init__(self, folder) -> None:
        """Make the splits and the first two models by their stages."""
        super().__init__(folder)
        self.splits = [self.split]
        for params in (SECOND, THIRD):
            cells = tuple(path.parent.name for path in self.splits)
            self.splits.append(self.choose(f"round-{len(cells) + 1}", params, cells))
        main(self.train("base", epochs=3))
        main(self.method("unlearn", "ft-1", "ft", FT, run="ft"))

    def next_round(
        self, name: str, start: str, method="ft", params=FT, split=1, **more
    ) -> Workspace:
        """Return the command of a later round that starts from the model of another job."""
        base = self.folder / start / "model.safetensors"
        options = {"run": method, "base": base, "split": self.splits[split], **more}
        return self.method("unlearn", name, method, params, **options)

    def load(self, place: int) -> Split:
        """Return the split of a round."""
        return Split.load(self.splits[place], self.folder)


@pytest.fixture(scope="module")
def rounds(tmp_path_factory) -> Rounds:
    return Rounds(tmp_path_factory.mktemp("rounds"))


def test_a_request_leaves_out_what_was_requested_before(rounds):
    first, second, third = (rounds.load(place) for place in range(3))
    assert not {*first.forget} & {*second.forget}
    assert second.chosen["requested_before"] == len(first.forget)
    assert {*second.earlier} == {*first.forget}
    assert {*third.earlier} == {*first.forget, *second.forget}
    assert "requested_before" not in third.chosen


def test_nothing_requested_so_far_is_retained(rounds):
    gone: set[int] = set()
    for place in range(3):
        split = rounds.load(place)
        gone |= {*split.forget.tolist()}
        assert {*split.retain.tolist()} == {*range(split.num_train)} - gone


def test_a_split_without_rounds_has_no_earlier_requests(rounds):
    assert "earlier" not in json.loads(rounds.split.read_text())
    plain = rounds.load(0)
    assert Split(plain.forget, plain.num_train, (0,), {}).hash == plain.hash
    assert rounds.load(1).hash != Split(rounds.load(1).forget, plain.num_train, (0,), {}).hash


def test_a_request_of_nothing_new_is_refused(rounds, tmp_path):
    cells = tuple(path.parent.name for path in rounds.splits)
    with pytest.raises(SystemExit, match="all of it was requested in earlier rounds"):
        rounds.choose("none", SECOND, cells)


def test_a_changed_earlier_request_is_noticed(rounds, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(rounds.folder, folder)
    job = SplitJob(benchmark="copy", cell="cell", forget="class_part", params=THIRD)
    main(Workspace(job, tmp_path))
    with pytest.raises(ValueError, match="its job used another version"):
        Split.load(folder / "round-2" / "split.json", folder)


def test_a_method_sees_only_its_request_and_what_is_retained(rounds, monkeypatch):
    seen = {}

    def look(model, task, params, run):
        seen.update(forget=task.forget.rows, retain=task.retain.rows, start=model.state_dict())
        return model

    monkeypatch.setattr(ft, "unlearn", look)
    main(rounds.next_round("seen", "ft-1", split=2))
    third = rounds.load(2)
    assert seen["forget"].tolist() == third.forget.tolist()
    assert seen["retain"].tolist() == third.retain.tolist()
    assert not {*seen["retain"].tolist(), *seen["forget"].tolist()} & {*third.earlier.tolist()}
    # It starts from its own model of the round before, to the last bit.
    before = rounds.results("ft-1")["model.safetensors"]
    assert rounds.results("seen")["model.safetensors"] == before
    assert before != rounds.base.read_bytes()


def test_retrain_never_saw_any_request_so_far(rounds):
    main(rounds.train("retrain-3", epochs=1, split=rounds.splits[2]))
    record = read_record(rounds.folder / "retrain-3" / "record.json")
    assert record["trained_on"] == ids_hash(rounds.load(2).retain)
    assert np.setdiff1d(rounds.load(0).retain, rounds.load(2).retain).size > 0


def test_prepared_files_depend_on_the_model_that_the_round_starts_from(rounds):
    main(rounds.next_round("salun-2", "ft-1", "salun", SALUN))
    main(rounds.next_round("salun-other", "base", "salun", SALUN))
    name = prepared_name("salun", params_class("salun").model_validate(SALUN))
    for job, start in (("salun-2", "ft-1"), ("salun-other", "base")):
        model = rounds.folder / start / "model.safetensors"
        (folder,) = (rounds.folder / job / "prepared").iterdir()
        assert folder.name == f"{name}-{content_hash(model)[:10]}"
        assert f"{start}/model.safetensors" in read_json(folder / "record.json")["inputs"]


@pytest.mark.parametrize("tracked", [False, True])
@pytest.mark.parametrize("method", ["ft", "salun"])
def test_after_a_divergence_all_later_rounds_are_skipped(rounds, method, tracked):
    steep = {**(FT if method == "ft" else SALUN), "lr": 1e30}
    params = FT if method == "ft" else SALUN
    place = f"{method}-{tracked}"
    main(rounds.method("unlearn", f"{place}-1", method, steep, run=method, track=tracked))
    main(rounds.next_round(f"{place}-2", f"{place}-1", method, params, track=tracked))
    main(rounds.next_round(f"{place}-3", f"{place}-2", method, params, split=2, track=tracked))
    ends = [read_record(rounds.folder / f"{place}-{r}" / "record.json") for r in (1, 2, 3)]
    assert [one["status"] for one in ends] == ["diverged", "skipped", "skipped"]
    assert ends[1]["reason"] == "diverged in the round before"
    assert ends[2]["reason"] == "skipped in the round before"
    assert not (rounds.folder / f"{place}-2" / "prepared").exists()
    assert (rounds.folder / f"{place}-2" / "epochs.npz").exists() == tracked
