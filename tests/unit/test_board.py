"""The commands submit, judge and board: what they print, write, and show."""

import re
import shutil
import tarfile

import numpy as np
import pytest
from made_benchmark import KEPT
from made_submissions import CELL, NAME, RUN, SEEDS, World, change, place, write
from page_reading import Links

from collateral.cli import main
from collateral.commands import _judging, _rerun
from collateral.commands._rerun import Rerun
from collateral.metrics.kinship import centre, equal_rows, explain, match, seed_parts
from collateral.report.board import Board, Entry, build_board, list_kept, read_entries
from collateral.results import layout
from collateral.results.files import read_rows, write_rows
from collateral.results.submission import JUDGED, STATEMENT, Submission


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> World:
    return World(tmp_path_factory.mktemp("world") / "results").write()


@pytest.fixture(scope="module")
def judged(world, tmp_path_factory):
    """Folder of judged submissions: one honest, one of a method that diverged in a seed."""
    folder = tmp_path_factory.mktemp("judged")
    honest = world.submit(folder / "mine")
    lost = folder / "lost"
    for seed in SEEDS:
        logits = world.method(seed, "lost")
        if seed == SEEDS[1]:
            logits["train"][:] = np.nan
        write(lost / "outputs", seed, world.outputs(logits))
    words = ["--out", lost / "sent", "--method", "Lost & found", "--diverged", f"{CELL}/{SEEDS[1]}"]
    words += ["--seconds", "5", "--tuning-seconds", "1", "--device", "d"]
    run("submit", world.root, "lost", "--outputs", lost / "outputs", *words)
    run("judge", honest, lost / "sent", "--results", world.results, "--out", folder / "out")
    return folder / "out"


def run(*words):
    main([str(word) for word in words])


def refusal(*words) -> str:
    with pytest.raises(SystemExit) as ended:
        run(*words)
    return str(ended.value)


# Numbers.


def test_the_numbers_are_those_of_the_outputs(world, judged):
    rows = read_rows(judged / NAME / RUN / layout.METRICS)
    found = {
        (row["metric"], row["seed"]): float(row["value"])
        for row in rows
        if row["run"] == RUN and row["seed"] and not row["set"] and not row["at"] and row["value"]
    }
    label, split = world.labels, world.split
    for seed in SEEDS:
        train, test = (
            world.outputs(world.method(seed)).train,
            world.outputs(world.method(seed)).test,
        )
        right = train.logits.argmax(axis=1) == label.train
        assert found["ua", str(seed)] == right[split.forget].mean()
        assert found["ra", str(seed)] == right[split.retain].mean()
        assert found["ta", str(seed)] == (test.logits.argmax(axis=1) == label.test).mean()
    assert {run for run in (row["run"] for row in rows)} == {RUN, "original", "retrain"}
    assert len({found["ua", str(seed)] for seed in SEEDS}) > 1


def test_a_diverged_seed_has_no_numbers_and_the_others_have(judged):
    rows = read_rows(judged / NAME / "lost" / layout.METRICS)
    ua = {row["seed"]: row for row in rows if row["run"] == "lost" and row["metric"] == "ua"}
    assert ua[str(SEEDS[1])]["value"] == "" and ua[str(SEEDS[1])]["status"] == "diverged"
    assert ua[str(SEEDS[0])]["value"] != "" and ua[str(SEEDS[0])]["status"] == "ok"


# Submissions.


def test_outputs_of_another_program_may_have_logits_alone(world, tmp_path, capsys):
    for seed in SEEDS:
        logits = {
            f"{part}_logits": of.astype(np.float32) for part, of in world.method(seed).items()
        }
        place(tmp_path, seed).parent.mkdir(parents=True)
        np.savez(place(tmp_path, seed), **logits)
    run("submit", world.root, "other", "--outputs", tmp_path, "--out", tmp_path / "new")
    assert "new: other, ox-50" in capsys.readouterr().out
    sent = Submission.load(tmp_path / "new")
    assert len(sent.stated.files) == len(SEEDS)
    assert sent.stated.cells[CELL].forget_set == world.split.hash


@pytest.mark.parametrize(
    ("arrays", "expected"),
    [
        ({"test_logits": np.zeros((140, 3), np.float32)}, r"test_logits: shape \(140, 3\)"),
        ({"train_logits": np.zeros((280, 4), np.int64)}, "train_logits: type int64"),
        ({"train_logits": None}, "no array train_logits; there are: test_confidence"),
        ({"test_logits": np.full((140, 4), np.inf, np.float16)}, "logits are not finite"),
    ],
)
def test_what_would_be_refused_is_not_written(world, tmp_path, arrays, expected):
    for seed in SEEDS:
        write(tmp_path, seed, world.outputs(world.method(seed)))
    change(tmp_path, SEEDS[2], **arrays)
    out = tmp_path / "new"
    said = refusal("submit", world.root, "mine", "--outputs", tmp_path, "--out", out)
    assert re.search(f"ox-50, seed 11.*{expected}", said)
    assert not out.exists()


def test_a_damaged_file_is_refused_in_one_line(world, tmp_path):
    folder = world.submit(tmp_path / "sent")
    place(folder, SEEDS[0]).write_bytes(b"PK not a zip")
    Submission.load(folder).save()
    faults = _judging.Judge.open(world.root).judge(Submission.load(folder), []).faults
    assert len(faults) == 1 and faults[0].startswith("ox-50, seed 2: outputs.npz: broken")


def test_a_failed_check_allows_no_verdict_and_is_named(world, tmp_path, capsys):
    folder = world.submit(tmp_path / "sent")
    run("judge", folder, "--results", world.results, "--out", tmp_path / "out")
    said = capsys.readouterr().out
    assert "ox-50: no verdict: Retrain learned: Retrain's lowest RA of 4 seeds is" in said


def test_a_tar_file_is_judged_as_its_folder(world, tmp_path, capsys):
    folder = world.submit(tmp_path / "sent")
    with tarfile.open(tmp_path / "sent.tar", "w") as archive:
        archive.add(folder, ".")
    run("judge", tmp_path / "sent.tar", "--results", world.results, "--out", tmp_path / "out")
    assert "sent.tar: Mine: level of evidence 1" in capsys.readouterr().out
    assert (tmp_path / "out" / NAME / RUN / JUDGED).is_file()


def test_a_tar_file_with_a_path_outside_is_refused(world, tmp_path):
    folder = world.submit(tmp_path / "sent")
    with tarfile.open(tmp_path / "sent.tar", "w") as archive:
        archive.add(folder / STATEMENT, "../submission.json")
    said = refusal("judge", tmp_path / "sent.tar", "--results", world.results)
    assert "'../submission.json' is no plain file inside the folder" in said


def test_a_refused_submission_ends_with_1_and_writes_nothing(world, tmp_path, capsys):
    folder = world.submit(tmp_path / "sent")
    place(folder, SEEDS[0]).unlink()
    with pytest.raises(SystemExit) as ended:
        run("judge", folder, "--results", world.results, "--out", tmp_path / "out")
    assert ended.value.code == 1
    assert "sent: Mine: refused" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()


def test_two_submissions_of_one_name_are_refused(world, tmp_path):
    first, second = (world.submit(tmp_path / name) for name in ("a", "b"))
    said = refusal("judge", first, second, "--results", world.results)
    assert said.endswith(f"`run` is {RUN}, as in {first}; rename one")


def test_without_a_config_a_run_with_the_same_bits_is_no_rerun(world, tmp_path):
    same = world.submit(tmp_path / "same", lambda s: world.method(s, "ours", 0.8))
    found = _judging.Judge.open(world.root).judge(Submission.load(same), [], rerun=Rerun("ours"))
    assert found.level == _judging.OUTPUTS
    assert "rerun: no config.yaml was sent" in found.names
    assert any("copy: " in text for text in found.names)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("benchmarks: [", "config.yaml: line 1: "),
        ("- 1", "config.yaml has no keys"),
        (
            "benchmarks: {other: {data: {name: digits}, model: mlp, seeds: [2], base: {epochs: 1}, "
            "cells: {a: {forget: {kind: random_part, fraction: 0.1}}}, methods: {ft: {}}}}",
            "config.yaml has no benchmark animals",
        ),
    ],
)
def test_a_config_that_does_not_make_the_benchmark_is_named(world, tmp_path, config, expected):
    folder = world.submit(tmp_path / "sent")
    (folder / "config.yaml").write_text(config)
    Submission.load(folder).save()
    judge = _judging.Judge.open(world.root)
    found = judge.judge(Submission.load(folder), [], rerun=Rerun("ours"))
    assert found.level == _judging.OUTPUTS
    assert len(found.names) == 1 and found.names[0].startswith("rerun: ")
    assert expected in found.names[0]


def test_the_seeds_that_were_run_again_are_named_on_the_board(tmp_path, monkeypatch):
    world = World(tmp_path / "results").write()
    sent = world.submit(tmp_path / "sent", lambda s: world.method(s, "ours", 0.8))
    for seed in (SEEDS[0], SEEDS[2]):
        shutil.rmtree(world.root / layout.RUN.format(cell=CELL, seed=seed, run="ours"))
    monkeypatch.setattr(_rerun, "_read_plan", lambda *_: {})  # no config makes this world
    monkeypatch.setattr(_rerun, "_needed_records", lambda *_: [])
    judge = _judging.Judge.open(world.root)
    found = judge.judge(Submission.load(sent), [], rerun=Rerun("ours"))
    assert (found.level, found.names) == (3, [f"{CELL}: rerun: seeds 5, 3 of 2, 5, 11, 3"])
    judge.write(found, tmp_path / "out")
    assert [entry.names for entry in read_entries(tmp_path / "out")] == [tuple(found.names)]


def test_plug_ins_that_a_config_names_are_not_loaded(world, tmp_path):
    folder = world.submit(tmp_path / "sent")
    bad = tmp_path / "theirs/methods/evil"
    bad.mkdir(parents=True)
    for name in ("__init__.py", "params.py", "method.py"):
        (bad / name).write_text(f"open({str(tmp_path / 'harm')!r}, 'w')\n")
    config = f"plugins: [{tmp_path / 'theirs'}]\nbenchmarks: {{animals: {{data: {{name: digits}}, "
    config += "model: mlp, base: {epochs: 1}, seeds: [2, 5], methods: {evil: {}}, "
    config += "cells: {ox-50: {forget: {kind: random_part, fraction: 0.1}}}}}"
    (folder / "config.yaml").write_text(config)
    Submission.load(folder).save()
    judge = _judging.Judge.open(world.root)
    found = judge.judge(Submission.load(folder), [], rerun=Rerun("ours"))
    assert "no method 'evil'" in found.names[0]
    assert not (tmp_path / "harm").exists()


def test_more_than_was_checked_is_not_believed(world, tmp_path):
    sent = Submission.load(world.submit(tmp_path / "sent"))
    stated = sent.stated.model_copy(update={"evidence": "config"})
    found = _judging.Judge.open(world.root).judge(Submission(sent.folder, stated), [])
    assert found.names == ["evidence: level 3 is offered, 1 was checked"]


def test_a_method_that_starts_anew_is_not_asked_for_its_base(world, tmp_path):
    def anew(seed):
        shared = {part: (of + world.base(2)[part]) / 2 for part, of in world.base(5).items()}
        return {
            part: of + np.random.default_rng([seed, len(of)]).normal(0, 1, of.shape)
            for part, of in shared.items()
        }

    sent = Submission.load(world.submit(tmp_path / "sent", anew))
    judge = _judging.Judge.open(world.root)
    kin = [text for text in judge.judge(sent, []).names if "kinship" in text]
    assert len(kin) == 1 and "not like the bases" in kin[0]
    stated = sent.stated.model_copy(update={"starts": "anew"})
    names = judge.judge(Submission(sent.folder, stated), []).names
    assert [text for text in names if "kinship" in text] == []


# The board.


def test_the_board_has_the_numbers_of_the_judged(judged):
    [entry] = read_entries(judged / NAME / "lost")
    rows = read_rows(judged / NAME / "lost" / layout.METRICS)
    near = [
        float(row["value"])
        for row in rows
        if (row["run"], row["metric"], row["set"]) == ("lost", "near_loss", "retain")
        and row["seed"]
        and row["value"]
    ]
    assert entry.near == pytest.approx(np.mean(near))
    assert (entry.method, entry.seeds, entry.evidence) == ("Lost & found", len(SEEDS), "1")
    assert entry.time == pytest.approx((5 + 1) / 20)
    assert entry.verdict == "check failed", "Retrain's RA is too low in this world"


def test_a_time_on_another_device_is_shown_in_seconds(world, tmp_path, judged):
    folder = tmp_path / "sent"
    sent = Submission.load(world.submit(folder))
    cell = sent.stated.cells[CELL].model_copy(update={"seconds": 7.5, "device": "a phone"})
    Submission(folder, sent.stated.model_copy(update={"cells": {CELL: cell}})).save()
    run("judge", folder, "--results", world.results, "--out", tmp_path / "out")
    [entry] = read_entries(tmp_path / "out" / NAME / RUN)
    assert entry.numbers["Time with tuning"][0] == "7.5 s (a phone)"


def test_the_board_is_one_file_with_every_entry(judged, tmp_path, capsys):
    run("board", judged, "--out", tmp_path / "board.html")
    assert "board.html: 2 entries in 1 cells" in capsys.readouterr().out
    page = (tmp_path / "board.html").read_text()
    assert "Lost &amp; found" in page and "Mine" in page and "An author" in page
    assert Links(page).fetched == ["data:,"]
    assert page.count("<tr>") == 3


def test_an_entry_about_which_something_is_named_has_a_mark(world, tmp_path):
    folder = tmp_path / "sent"
    world.submit(folder, lambda s: world.method(s, "ours", 0.8))
    run("judge", folder, "--results", world.results, "--out", tmp_path / "copy")
    world.submit(tmp_path / "other")
    run("judge", tmp_path / "other", "--results", world.results, "--out", tmp_path / "honest")
    for name, count in (("copy", 1), ("honest", 0)):
        run("board", tmp_path / name, "--out", tmp_path / "board.html")
        page = (tmp_path / "board.html").read_text()
        assert page.count("<sup") == page.count("† <b>") == count


def test_of_equal_seeds_the_better_verdict_comes_first_and_then_the_smaller_gap():
    known = {"benchmark": "b", "setting": "s", "forget_set": "f", "seeds": 3, "time": 1.0}
    made = [
        Entry(run=name, method=name, verdict=verdict, near=near, near_test=0.0, gap=gap, **known)
        for name, verdict, near, gap in (
            ("does nothing", "open", -0.1, 0.25),
            ("close", "open", 0.05, 0.02),
            ("harms", "harm shown", 0.5, 0.01),
            ("like", "like Retrain", 0.01, 0.03),
            ("once", "one seed", 0.0, 0.0),
        )
    ]
    [(_, entries)] = Board(made).cells
    assert [one.run for one in entries] == ["like", "close", "does nothing", "harms", "once"]


def test_kept_benchmarks_that_cannot_be_shown_are_named(judged, tmp_path):
    broken = tmp_path / "broken"
    broken.mkdir()
    write_rows(broken / layout.METRICS, ["cell"], [])
    board = build_board(list_kept(tmp_path), [judged / NAME / RUN])
    assert len(board.entries) == 1
    assert board.left_out == ["plan.json of broken: is missing"]


# Likeness.


def test_likeness_of_known_vectors():
    first = np.array([[1.0, 2, 3], [4, 4, 4]], np.float16)
    assert centre(first).tolist() == [-1, 0, 1, 0, 0, 0]
    assert equal_rows(first, first + np.array([[0], [1]], np.float16)).tolist() == [True, False]
    one, other = np.array([1.0, 0, 0], "f4"), np.array([0.0, 1, 0], "f4")
    left, weights = explain(np.array([2.0, 3, 6], "f4"), [one, other])
    assert left == pytest.approx(36 / 49) and weights == pytest.approx([2, 3])


def test_models_are_matched_with_those_of_their_seeds():
    rng = np.random.default_rng(0)
    common, own = rng.normal(0, 5, 400), rng.normal(0, 1, (4, 400))
    first = seed_parts([(common + one).astype("f4") for one in own])
    moved = [1, 2, 3, 0]
    changed = [(common + own[i] + rng.normal(0, 0.5, 400)).astype("f4") for i in moved]
    kin, best, order = match(seed_parts(changed), first)
    assert order == moved and best > 0.8 and kin < 0
    assert match(first, first)[:2] == pytest.approx((1, 1))


def test_a_board_shows_a_verdict_that_was_recomputed():
    entries = {(e.forget_set, e.run): e for e in read_entries(KEPT / "cifar-small")}
    given = read_rows(KEPT / "calibration" / "cifar.csv")
    assert len(entries) == 16
    for row in given:
        entry = entries[row["cell"], row["method"]]
        assert entry.is_recomputed and entry.verdict == row["verdict"]
