"""The shadow pool: who sees what, how a model is trained on its share, and a method on all."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from workshop import Workshop, main

from collateral.contract.conventions import Skipped
from collateral.jobs.expose import ExposeJob
from collateral.methods.ft import method as ft
from collateral.results import layout
from collateral.results.dataset import Labels
from collateral.results.files import write_json
from collateral.results.outputs import Exposure, ShadowMargins
from collateral.results.provenance import read_record, write_record
from collateral.results.split import Split
from collateral.stages import expose
from collateral.stages._workspace import Workspace
from collateral.training import fit as fitting
from collateral.training.shadows import (
    UnlearnedShadow,
    compute_margins,
    draw_membership,
    summarize_status,
)

COUNT, SHARE = 6, 0.5
POOL = {"count": COUNT, "share": SHARE}
FT = {"epochs": 2, "batch_size": 16, "lr": 0.01}


def shadow(workshop: Workshop, name: str, number: int, epochs: int = 3) -> Workspace:
    """Return the job of a member of the pool."""
    params = {"epochs": epochs, "batch_size": 16}
    return workshop.job("shadow", name, {}, member=number, params=params, **POOL)


def member(number: int) -> str:
    return layout.SHADOW.format(member=number)


@pytest.fixture(scope="module")
def workshop(tmp_path_factory) -> Workshop:
    workshop = Workshop(tmp_path_factory.mktemp("shadows"))
    for number in range(COUNT):
        main(shadow(workshop, member(number), number))
    return workshop


def margins(workshop: Workshop, name: str) -> ShadowMargins:
    return ShadowMargins.load(workshop.folder / name / "margins.npz")


def exposing(workshop: Workshop, name: str, method="ft", params=FT, seed=0, **files) -> Workspace:
    """Return the job of a method on the whole pool."""
    models = [workshop.folder / member(number) / "model.safetensors" for number in range(COUNT)]
    paths = {"split": workshop.split, "shadows": models, **files}
    paths["margins"] = [model.with_name("margins.npz") for model in models]
    about = {"cell": "cell", "seed": seed, "method": method, "params": params, "count": COUNT}
    return workshop.job("expose", name, paths, **about)


def read(workshop: Workshop, name: str) -> Exposure:
    return Exposure.load(workshop.folder / name / "exposure.npz")


@pytest.fixture(scope="module")
def exposed(workshop) -> Exposure:
    main(exposing(workshop, "plain"))
    return read(workshop, "plain")


def forgotten(workshop: Workshop) -> np.ndarray:
    return np.array(json.loads(workshop.split.read_text())["forget"])


def test_every_example_is_seen_by_its_share_of_the_models_and_every_model_sees_about_as_much():
    is_in = draw_membership(1000, 16, 0.5)
    assert is_in.shape == (16, 1000)
    assert (is_in.sum(axis=0) == 8).all()
    assert (abs(is_in.mean(axis=1) - 0.5) < 0.08).all()
    assert (draw_membership(1000, 10, 0.3).sum(axis=0) == 3).all()


def test_membership_is_random_and_reproducible():
    is_in = draw_membership(1000, 16, 0.5)
    assert np.array_equal(is_in, draw_membership(1000, 16, 0.5))
    assert len(np.unique(is_in.T, axis=0)) > 900  # of 12,870 ways
    together = (is_in[0] == is_in[1]).mean()
    assert abs(together - 7 / 15) < 0.05


def test_a_shadow_model_is_trained_only_on_its_share(workshop, monkeypatch):
    seen, train = [], fitting._epoch

    def spy(forward, batches, *rest):
        batches = list(batches)
        seen.append(sum(len(y) for _, y in batches))
        return train(forward, iter(batches), *rest)

    monkeypatch.setattr(fitting, "_epoch", spy)
    main(shadow(workshop, "watched", 2, epochs=1))
    is_in = draw_membership(64, COUNT, SHARE)[2]
    assert seen == [is_in.sum()]
    assert np.array_equal(margins(workshop, "watched").is_in, is_in)


class OfLogits(torch.nn.Module):
    """A model that says what it is given."""

    def __init__(self, logits):
        super().__init__()
        self.logits, self.head = logits, torch.nn.Identity()

    def features(self, x):
        return self.logits


class OneBatch:
    """Three examples, of classes 0, 1 and 2."""

    labels = torch.tensor([0, 1, 2])

    def in_order(self, size):
        yield torch.zeros(3), self.labels


def test_a_margin_is_the_logit_of_the_confidence_also_where_that_rounds_to_one():
    logits = torch.tensor([[2.0, 1.0, -1.0], [0.0, 0.0, 0.0], [0.0, 1.0, 40.0]])
    found = compute_margins(OfLogits(logits), OneBatch())
    p = logits[0].softmax(0)[0].item()
    assert found[0] == pytest.approx(np.log(p) - np.log1p(-p), abs=1e-6)
    assert found[1] == pytest.approx(-np.log(2), abs=1e-6)
    assert found[2] == pytest.approx(40 - np.log(1 + np.e), abs=1e-4)
    assert found.dtype == np.float32


def test_a_member_trained_again_or_resumed_has_the_same_bits(workshop, monkeypatch):
    main(shadow(workshop, "again", 1))
    assert workshop.results("again").keys() == {
        *("model.safetensors", "margins.npz", "history.csv", "record.json"),
    }
    assert workshop.results("again") == workshop.results(member(1))
    trained, epoch = [], fitting._epoch

    def killed(*args):
        if len(trained) == 1:
            trained.append("killed")
            raise KeyboardInterrupt
        trained.append("epoch")
        return epoch(*args)

    monkeypatch.setattr(fitting, "_epoch", killed)
    with pytest.raises(KeyboardInterrupt):
        main(shadow(workshop, "resumed", 1))
    main(shadow(workshop, "resumed", 1))
    assert trained == ["epoch", "killed", "epoch", "epoch"]
    assert workshop.results("resumed") == workshop.results(member(1))


def test_members_differ(workshop):
    found = [margins(workshop, member(number)).margin for number in range(COUNT)]
    assert len({one.tobytes() for one in found}) == COUNT


def test_members_that_see_the_same_start_and_draw_differently(workshop, monkeypatch):
    """What a member is trained on differs anyway: here it does not, and what is left is chance."""
    starts, orders, train = [], [], fitting._epoch

    def everyone(num_examples, count, share):
        return np.ones((count, num_examples), dtype=bool)

    def spy_fit(model, *rest):
        starts.append(b"".join(p.detach().numpy().tobytes() for p in model.parameters()))
        return fitting.fit(model, *rest)

    def spy_epoch(forward, batches, *rest):
        batches = list(batches)
        orders.append(b"".join(x.contiguous().numpy().tobytes() for x, _ in batches))
        return train(forward, iter(batches), *rest)

    monkeypatch.setattr("collateral.stages.shadow.draw_membership", everyone)
    monkeypatch.setattr("collateral.stages.shadow.fit", spy_fit)
    monkeypatch.setattr(fitting, "_epoch", spy_epoch)
    for number in range(3):
        main(shadow(workshop, f"chance-{number}", number, epochs=1))
    assert len({*starts}) == len({*orders}) == 3


def test_the_record_of_a_member_says_what_it_was_trained_on(workshop):
    record = read_record(workshop.folder / member(3) / "record.json")
    assert {key: record[key] for key in POOL} == POOL
    assert record["member"] == 3
    assert record["inputs"].keys() == {"dataset.npz"}
    paths = [workshop.folder / member(n) / "record.json" for n in range(COUNT)]
    assert len({read_record(path)["trained_on"] for path in paths}) == COUNT


def test_before_is_the_pool_and_after_is_every_member_unlearned(workshop, exposed):
    pool = [margins(workshop, member(number)) for number in range(COUNT)]
    assert np.array_equal(exposed.before, np.stack([one.margin for one in pool]))
    assert np.array_equal(exposed.is_in, draw_membership(64, COUNT, SHARE))
    assert np.isfinite(exposed.after).all()
    assert (exposed.after != exposed.before).any(axis=1).all()


def test_a_method_sees_of_a_member_nothing_but_its_share(workshop, exposed, monkeypatch):
    tasks, unlearn = [], ft.unlearn

    def spy(model, task, *rest):
        tasks.append((task.retain.rows.tolist(), task.forget.rows.tolist()))
        return unlearn(model, task, *rest)

    monkeypatch.setattr(ft, "unlearn", spy)
    main(exposing(workshop, "watched-method"))
    gone = set(forgotten(workshop).tolist())
    for is_in, (retain, forget) in zip(exposed.is_in, tasks, strict=True):
        share = set(np.flatnonzero(is_in).tolist())
        assert set(forget) == share & gone
        assert set(retain) == share - gone


def memorised_split(workshop: Workshop, cell: str) -> tuple[Path, dict[int, float]]:
    """Return a split that shadow models chose, and the memorisation of each forget example."""
    split = Split.load(workshop.split, workshop.folder)
    values = np.linspace(0.9, -0.1, len(split.forget))
    path = workshop.folder / cell / "split.json"
    path.parent.mkdir()
    chosen = replace(split, memorised=values)
    chosen.save(path, Labels.load(workshop.labels), workshop.labels)
    return path, dict(zip(split.forget.tolist(), values.tolist(), strict=True))


def test_a_method_gets_the_memorisation_of_the_forget_examples_of_each_member(
    workshop, monkeypatch
):
    path, known = memorised_split(workshop, "known")
    tasks, unlearn = [], ft.unlearn

    def spy(model, task, *rest):
        tasks.append(task)
        return unlearn(model, task, *rest)

    monkeypatch.setattr(ft, "unlearn", spy)
    main(exposing(workshop, "of-known", params={**FT, "epochs": 1}, split=path))
    assert len({len(task.forget) for task in tasks}) > 1
    for task in tasks:
        wanted = [known[row] for row in task.forget.rows.tolist()]
        assert task.memorised.tolist() == wanted


def test_rum_by_memorisation_is_not_skipped_on_shadow_models(workshop):
    path, _ = memorised_split(workshop, "known-to-rum")
    params = {"score": "memorisation", "low": None, "mid": {"uses": "ft", **FT}, "high": None}
    main(exposing(workshop, "rum", "rum", params, split=path))
    record = read_record(workshop.folder / "rum" / "record.json")
    assert record["status"] == "ok" and "reason" not in record
    assert (read(workshop, "rum").after != read(workshop, "rum").before).any(axis=1).all()


def test_a_method_draws_differently_on_each_member_and_seed(workshop, monkeypatch):
    seeds, method = [], expose.Method

    def spy(**given):
        seeds.append(given["seed"])
        return method(**given)

    monkeypatch.setattr(expose, "Method", spy)
    for seed in (0, 1):
        main(exposing(workshop, f"drawn-{seed}", params={**FT, "epochs": 1}, seed=seed))
    assert len(seeds) == len({*seeds}) == 2 * COUNT


def test_a_rate_of_zero_changes_nothing(workshop):
    still = {**FT, "lr": 0.0, "batchnorm": "frozen"}
    main(exposing(workshop, "still", params=still))
    found = read(workshop, "still")
    assert np.array_equal(found.after, found.before)


def test_a_shadow_model_without_forget_examples_is_not_changed(workshop):
    alone = workshop.choose("one", {"class": "family_0_class_0", "fraction": 0.07})
    main(exposing(workshop, "alone", split=alone))
    found = read(workshop, "alone")
    (one,) = json.loads(alone.read_text())["forget"]
    is_same = (found.after == found.before).all(axis=1)
    assert is_same.tolist() == (~found.is_in[:, one]).tolist()


def test_a_second_run_gives_the_same_bits(workshop, exposed):
    main(exposing(workshop, "twice"))
    assert workshop.results("plain").keys() == {"exposure.npz", "record.json"}
    assert workshop.results("twice") == workshop.results("plain")
    assert not workshop.checkpoints("twice").exists()


def test_a_killed_job_does_not_unlearn_from_finished_members_again(workshop, exposed, monkeypatch):
    calls, unlearn = [], ft.unlearn

    def spy(*args):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return unlearn(*args)

    monkeypatch.setattr(ft, "unlearn", spy)
    with pytest.raises(KeyboardInterrupt):
        main(exposing(workshop, "killed"))
    main(exposing(workshop, "killed"))
    assert len(calls) == 4 + (COUNT - 3)
    assert workshop.results("killed") == workshop.results("plain")


def test_a_method_of_two_phases_prepares_for_each_member(workshop):
    params = {"epochs": 1, "batch_size": 16}
    main(exposing(workshop, "salun", "salun", params))
    found = read(workshop, "salun")
    assert (found.after != found.before).any(axis=1).all()
    cost = json.loads((workshop.folder / "salun" / "cost.json").read_text())
    assert cost["seconds"].keys() == {"prepare", "unlearn"}


def test_the_parameters_that_tuning_selected_are_used(workshop, exposed):
    folder = workshop.folder / "tuning"
    selected, trials = folder / "selected.json", folder / "trials.csv"
    write_json(selected, {"params": {"lr": 0.01}})
    trials.write_text("lr,is_chosen\n0.01,True\n")
    write_record(layout.record_path(trials), {}, root=workshop.folder, files=[selected, trials])
    main(exposing(workshop, "tuned", params={**FT, "lr": 0.5}, selected=selected))
    assert np.array_equal(read(workshop, "tuned").after, exposed.after)


def test_the_record_of_a_method_names_every_member(workshop, exposed):
    record = read_record(workshop.folder / "plain" / "record.json")
    names = ("model.safetensors", "margins.npz")
    files = {f"{member(n)}/{name}" for n in range(COUNT) for name in names}
    assert record["inputs"].keys() == {"dataset.npz", "cell/split.json", *files}
    assert record["status"] == "ok"
    assert record["params"]["lr"] == 0.01


def test_a_skipped_method_has_its_reason_and_no_margins(workshop, monkeypatch):
    def unlearn(*_):
        raise Skipped("not on Sundays")

    monkeypatch.setattr(ft, "unlearn", unlearn)
    main(exposing(workshop, "skipped"))
    record = read_record(workshop.folder / "skipped" / "record.json")
    assert (record["status"], record["reason"]) == ("skipped", "not on Sundays")
    assert np.isnan(read(workshop, "skipped").after).all()


def test_a_method_is_skipped_where_every_member_is_that_has_something_to_forget():
    margin = torch.zeros(3)
    done = UnlearnedShadow(margin, {"unlearn": 1.0}, "", ["cpu"])
    lost = UnlearnedShadow(margin, {}, "why", ["cpu"])  # before any phase began
    untouched = UnlearnedShadow(margin, {}, "", [], is_untouched=True)
    assert summarize_status([done, untouched]) == {"status": "ok"}
    of_two = {"reason": "why", "skipped_members": 2}
    assert summarize_status([lost, untouched, lost]) == {"status": "skipped", **of_two}
    assert summarize_status([lost, done, lost]) == {"status": "ok", **of_two}


def test_it_is_described_without_anything_of_retrain():
    assert not any("retrain" in name for name in ExposeJob.model_fields)
