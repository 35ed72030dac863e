"""Submissions that mean harm: nothing outside of their folder is read, written or deleted."""

import gzip
import json
import os
import subprocess
import tarfile
import zipfile
from io import BytesIO

import numpy as np
import pandas as pd
import pytest
from made_submissions import CELL, NAME, RUN, SEEDS, World, change, place, read, sign
from numpy.lib import format as npy

from collateral.cli import main
from collateral.commands import _judging
from collateral.results import submission
from collateral.results.dataset import Labels
from collateral.results.outputs import compress_logits
from collateral.results.published_cells import PublishedCell, read_published_cells
from collateral.results.submission import JUDGED, STATEMENT, CellStatement, Submission
from collateral.results.submission_faults import _find_shape_faults


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> World:
    return World(tmp_path_factory.mktemp("world") / "results").write()


def run(*words):
    main([str(word) for word in words])


def refusal(*words) -> str:
    with pytest.raises(SystemExit) as ended:
        run(*words)
    return str(ended.value)


def restate(folder, **changes):
    """Change the statement as a text, without any check."""
    content = json.loads((folder / STATEMENT).read_text())
    (folder / STATEMENT).write_text(json.dumps({**content, **changes}))


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "../x", "/tmp/x", "x\n", ".x", "-x", "X"])
def test_no_name_leads_out_of_the_folder_of_judged_submissions(world, tmp_path, name):
    kept = tmp_path / "out" / NAME / "other" / JUDGED
    kept.parent.mkdir(parents=True)
    kept.write_text("{}")
    for key in ("run", "benchmark"):
        folder = world.submit(tmp_path / f"evil-{key}")
        restate(folder, **{key: name})
        judge = ("judge", folder, "--results", world.results, "--out", tmp_path / "out")
        assert f"{key}: no name of a folder" in refusal(*judge)
    assert kept.read_text() == "{}"


def test_a_benchmark_inside_the_submission_is_not_opened(world, tmp_path):
    folder = world.submit(tmp_path / "sent/evil")
    World(tmp_path / "sent/evil").write()
    restate(folder, benchmark=f"../sent/evil/{NAME}")
    (tmp_path / "results").mkdir()
    said = refusal("judge", folder, "--results", tmp_path / "results", "--out", tmp_path / "out")
    assert "benchmark: no name of a folder" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"by": "\x1b[2Jme"}, "by: Value error, has characters that cannot be printed"),
        ({"method": "one\ntwo"}, "method: Value error, has characters"),
        ({"link": "x" * 201}, "link: String should have at most 200"),
        ({"cells": {"../x": {}}}, "cells.../x.[key]: no name of a folder"),
        ({"cells": {CELL: {"seconds": float("inf")}}}, "seconds: Input should be a finite number"),
        ({"cells": {CELL: {"tuning_seconds": float("nan")}}}, "should be"),
    ],
)
def test_texts_and_numbers_have_limits(world, tmp_path, changes, expected):
    folder = world.submit(tmp_path / "evil")
    restate(folder, **changes)
    with pytest.raises(ValueError, match=r"submission\.json") as raised:
        Submission.load(folder)
    assert expected in str(raised.value)


def a_pipe(folder):
    os.mkfifo(folder / CELL / "trials.csv")


def a_statement_that_is_a_link(folder):
    (folder / STATEMENT).rename(folder.parent / "elsewhere.json")
    (folder / STATEMENT).symlink_to(folder.parent / "elsewhere.json")


def a_file_larger_than_a_disk(folder):
    with (folder / "config.yaml").open("wb") as file:
        file.truncate(2**36)


def a_long_statement(folder):
    with (folder / STATEMENT).open("ab") as file:
        file.write(b" " * submission.MOST_STATED)


def many_files(folder):
    for number in range(submission.MOST_FILES):
        (folder / str(number)).touch()


@pytest.mark.parametrize(
    ("harm", "expected"),
    [
        (a_pipe, "trials.csv: neither a file nor a folder"),
        (a_statement_that_is_a_link, "submission.json: a link"),
        (a_file_larger_than_a_disk, "evil: more than 10,000 files, or than 32 GB"),
        (a_long_statement, "submission.json: more than 4,194,304 bytes"),
        (many_files, "evil: more than 10,000 files"),
    ],
)
def test_what_is_no_plain_file_or_too_much_is_refused(world, tmp_path, harm, expected):
    folder = world.submit(tmp_path / "evil")
    harm(folder)
    assert expected in refusal("judge", folder, "--results", world.results)


@pytest.mark.parametrize("name", ["a\0b", "x" * 300, "\ud800", "a/" * 3000], ids=range(4))
def test_names_that_no_file_has_are_refused(world, tmp_path, name):
    folder = world.submit(tmp_path / "evil")
    content = json.loads((folder / STATEMENT).read_text())
    restate(folder, files={**content["files"], name: "0"})
    [fault] = _judging.Judge.open(world.root).judge(Submission.load(folder), []).faults
    assert fault.endswith(": a link, or outside of the submission's folder")
    assert fault.isprintable()


def test_a_link_to_itself_is_refused(world, tmp_path):
    folder = world.submit(tmp_path / "evil")
    (folder / "round").symlink_to("round")
    [fault] = _judging.Judge.open(world.root).judge(Submission.load(folder), []).faults
    assert fault == "round: a link, or outside of the submission's folder"


@pytest.mark.parametrize("function", ["find_faults", "name_likeness"])
@pytest.mark.parametrize("error", [MemoryError, RecursionError, np.linalg.LinAlgError])
def test_harm_of_one_submission_refuses_it_alone(
    world, tmp_path, monkeypatch, capsys, function, error
):
    evil, mine = world.submit(tmp_path / "evil", run="evil"), world.submit(tmp_path / "mine")
    sound = getattr(_judging, function)

    def harmed(one, *rest):
        if (one if function == "find_faults" else one.submission).folder == evil:
            raise error("too\nmuch")
        return sound(one, *rest)

    monkeypatch.setattr(_judging, function, harmed)
    refusal("judge", evil, mine, "--results", world.results, "--out", tmp_path / "out")
    said = capsys.readouterr().out
    assert f"{evil}: Evil: refused\n  cannot be judged: {error.__name__}: too much\n" in said
    assert f"{mine}: Mine: level of evidence 1" in said


def test_nothing_is_read_through_a_link_to_a_folder(world, tmp_path):
    folder, other = world.submit(tmp_path / "evil"), world.submit(tmp_path / "other")
    place(folder, SEEDS[0]).unlink()
    place(folder, SEEDS[0]).parent.rmdir()
    place(folder, SEEDS[0]).parent.symlink_to(place(other, SEEDS[0]).parent)
    change(other, SEEDS[0], test_logits=np.full((140, 4), np.inf, np.float16))
    faults = _judging.Judge.open(world.root).judge(Submission.load(folder), []).faults
    assert any(text.startswith(f"{CELL}/seed-2: a link") for text in faults)
    assert not any("not finite" in text for text in faults)


def member(name, **about):
    found = tarfile.TarInfo(name)
    for key, value in about.items():
        setattr(found, key, value)
    return found


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ([member("x", type=tarfile.SYMTYPE, linkname="/etc")], "'x' is no plain file inside"),
        ([member("x", type=tarfile.FIFOTYPE)], "'x' is no plain file inside"),
        ([member("/tmp/x")], "'/tmp/x' is no plain file inside"),
        ([member("a"), member("a/b")], "neither a folder nor an uncompressed tar file"),
        ([member("large", size=2**36)], "or than 32 GB"),
        ([member(str(i)) for i in range(10_001)], "more than 10,000 files"),
    ],
)
def test_no_member_of_a_tar_file_does_harm(tmp_path, members, expected):
    with tarfile.open(tmp_path / "sent.tar", "w") as archive:
        for one in members:
            archive.addfile(one)  # the headers alone
    assert expected in refusal("judge", tmp_path / "sent.tar")


def test_a_compressed_tar_file_is_not_unpacked(world, tmp_path):
    with tarfile.open(tmp_path / "sent.tar", "w") as archive:
        archive.add(world.submit(tmp_path / "sent"), ".")
    (tmp_path / "sent.tgz").write_bytes(gzip.compress((tmp_path / "sent.tar").read_bytes()))
    assert "uncompressed tar file" in refusal("judge", tmp_path / "sent.tgz")


@pytest.mark.parametrize("kind", ["gnu", "0.0", "0.1", "1.0"])
def test_a_member_with_holes_is_not_unpacked(tmp_path, kind):
    """10 kB of it would fill a disk."""
    with (tmp_path / "large").open("wb") as file:
        file.truncate(2**22)
    layout = ["--format=gnu"] if kind == "gnu" else ["--format=pax", f"--sparse-version={kind}"]
    words = ["tar", "--sparse", *layout, "-C", tmp_path, "-cf", tmp_path / "sent.tar", "large"]
    subprocess.run(words, check=True)
    assert (tmp_path / "sent.tar").stat().st_size < 2**15
    assert "'large' is no plain file inside" in refusal("judge", tmp_path / "sent.tar")


# Arrays.

MANY = 300
ROWS = {"train": 7, "test": 5}


def header(shape, descr) -> bytes:
    """Return the beginning of an array, which can state any size."""
    file = BytesIO()
    npy.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
    return file.getvalue()


@pytest.fixture
def of_many_classes() -> PublishedCell:
    labels = Labels(*(np.arange(count) for count in ROWS.values()), tuple(map(str, range(MANY))))
    return PublishedCell("cell", (4,), labels, CellStatement())


def short_arrays():
    rng = np.random.default_rng(0)
    found = {}
    for name, count in ROWS.items():
        logits = rng.normal(size=(count, MANY)).astype(np.float16)
        short = compress_logits(logits, np.arange(count)).items()
        found |= {f"{name}_{key}": value for key, value in short}
    return found


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"train_num_classes": np.array(10**12)}, ["train_num_classes: 1000000000000, not 300"]),
        ({"test_classes": np.full((5, 10), 300)}, ["test_classes: there are 300 classes, numb"]),
        ({"test_rest": np.zeros((5, 2))}, ["test_rest: shape (5, 2), not (5,)"]),
        ({"train_kept": np.zeros((7, 10), "U9")}, ["train_kept: type <U9, not float16"]),
        ({"test_confidence": np.zeros(9)}, ["test_confidence: shape (9,), not (5,)"]),
    ],
)
def test_shortened_logits_have_the_sizes_of_the_benchmark(
    of_many_classes, tmp_path, changes, expected
):
    np.savez(tmp_path / "outputs.npz", **{**short_arrays(), **changes})
    found = list(_find_shape_faults(tmp_path / "outputs.npz", of_many_classes))
    assert len(found) == len(expected)
    assert all(text.startswith(start) for text, start in zip(found, expected, strict=True))


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("train_logits", header((10**12, 4), "<f4"), "train_logits: no array, or twice there"),
        ("train_logits.npy", header((10**12, 4), "<f4"), "train_logits.npy: no array, or twice"),
        ("more.npy", b"", None),
    ],
)
def test_each_array_is_in_a_file_once(world, tmp_path, name, content, expected):
    """A reader by the headers and a reader of the arrays could else take different ones."""
    folder = world.submit(tmp_path / "evil")
    with zipfile.ZipFile(place(folder, SEEDS[1]), "a") as archive:
        archive.writestr(name, content)
    sign(folder)
    [fault] = _judging.Judge.open(world.root).judge(Submission.load(folder), []).faults
    assert fault.startswith("ox-50, seed 5: outputs.npz: broken: ")
    assert expected is None or expected in fault


@pytest.mark.parametrize("descr", ["<f4", "|O", "<U90000"])
def test_no_array_is_allocated_before_its_header_is_compared(world, tmp_path, descr):
    folder = world.submit(tmp_path / "evil")
    change(folder, SEEDS[0], train_confidence=None)
    with zipfile.ZipFile(place(folder, SEEDS[0]), "a") as archive:
        shape = (10**12,) if descr == "<f4" else (280,)
        archive.writestr("train_confidence.npy", header(shape, descr))
    sign(folder)
    [fault] = _judging.Judge.open(world.root).judge(Submission.load(folder), []).faults
    assert fault.startswith("ox-50, seed 2: train_confidence: ")


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000,
        "-" * 9000 + "1",
        "{'descr':" + "[" * 90 + "]" * 90 + ", 'fortran_order': False, 'shape': (1,)}",
        "{'descr': ',', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': {'names': 1}, 'fortran_order': False, 'shape': (1,)}",
        "{[]: 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (",
    ],
)
def test_a_header_that_is_no_literal_is_broken(world, tmp_path, text):
    folder = world.submit(tmp_path / "evil")
    with zipfile.ZipFile(place(folder, SEEDS[0]), "a") as archive:
        length = len(text).to_bytes(2, "little")
        archive.writestr("more.npy", b"\x93NUMPY\x01\x00" + length + text.encode())
    sign(folder)
    [fault] = _judging.Judge.open(world.root).judge(Submission.load(folder), []).faults
    assert fault.startswith("ox-50, seed 2: outputs.npz: broken: ")


def test_a_header_that_may_be_larger_than_memory_is_not_read(world, tmp_path):
    folder = world.submit(tmp_path / "evil")
    with zipfile.ZipFile(place(folder, SEEDS[0]), "a", zipfile.ZIP_DEFLATED) as archive:
        text = bytes(2**26)
        archive.writestr("more.npy", b"\x93NUMPY\x02\x00" + len(text).to_bytes(4, "little") + text)
    sign(folder)
    [fault] = _judging.Judge.open(world.root).judge(Submission.load(folder), []).faults
    assert fault == "ox-50, seed 2: outputs.npz: broken: more is not of version 1.0"


def test_a_file_larger_than_its_arrays_is_not_opened(world, tmp_path):
    folder = world.submit(tmp_path / "evil")
    with place(folder, SEEDS[0]).open("ab") as file:
        file.truncate(2**22)
    sign(folder)
    [fault] = _judging.Judge.open(world.root).judge(Submission.load(folder), []).faults
    assert fault.endswith("seed 2: the file is larger than its arrays can be")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("factor", "faults"),
    [(3e3, []), (1e37, ["ox-50: seeds 2 and 5 have the same outputs (33%)"])],  # all at the limit
)
def test_the_largest_numbers_are_judged(world, tmp_path, factor, faults):
    def huge(seed):
        return {part: of.astype("f4") * factor for part, of in world.method(seed).items()}

    folder = tmp_path / "evil"
    for seed in SEEDS:
        path = place(folder, seed)
        path.parent.mkdir(parents=True)
        np.savez(path, **{f"{part}_logits": of for part, of in huge(seed).items()})
    (folder / STATEMENT).write_text((world.submit(tmp_path / "a") / STATEMENT).read_text())
    sign(folder)
    judge = _judging.Judge.open(world.root)
    found = judge.judge(Submission.load(folder), [])
    assert found.faults == faults
    judge.write(found, tmp_path / "out")


@pytest.mark.filterwarnings("error")
def test_the_largest_numbers_of_a_rival_harm_nobody(world, tmp_path):
    mine = world.submit(tmp_path / "mine")
    evil = world.submit(tmp_path / "evil", lambda s: world.method(s, "evil"), run="evil")
    logits = np.float32(read(evil, SEEDS[0])["test_logits"])
    logits[0] = [3e38, 3e38, 2.9e38, 3e38]
    arrays = dict.fromkeys(("test_confidence", "test_prediction"))
    change(evil, SEEDS[0], test_logits=logits, **arrays)
    sign(evil)
    judge = _judging.Judge.open(world.root)
    found = judge.judge(Submission.load(mine), [Submission.load(evil)])
    assert judge.find_faults(Submission.load(evil)) == []
    assert (found.faults, found.names) == ([], [])


def test_a_submission_that_does_not_fit_is_no_rival(world, tmp_path):
    mine, evil = world.submit(tmp_path / "mine"), world.submit(tmp_path / "evil", run="evil")
    for seed in SEEDS:
        place(evil, seed).write_bytes(b"PK not a zip")
    sign(evil)
    judge = _judging.Judge.open(world.root)
    assert judge.judge(Submission.load(mine), [Submission.load(evil)]).names == []


# Folders of the maintainer.


def test_another_judged_submission_is_not_overwritten(world, tmp_path, capsys):
    first, other = (world.submit(tmp_path / name) for name in ("first", "other"))
    restate(other, by="Somebody else")
    judge = ("--results", world.results, "--out", tmp_path / "out")
    run("judge", first, *judge)
    run("judge", first, *judge)  # the same again
    judged = (tmp_path / "out" / NAME / RUN / JUDGED).read_text()
    assert "is of another submission, Mine of An author" in refusal("judge", other, *judge)
    assert (tmp_path / "out" / NAME / RUN / JUDGED).read_text() == judged
    run("judge", other, *judge, "--replace")
    assert "Somebody else" in (tmp_path / "out" / NAME / RUN / JUDGED).read_text()


def test_a_folder_of_something_else_is_not_deleted(world, tmp_path):
    kept = tmp_path / "out" / NAME / RUN / "thesis.tex"
    kept.parent.mkdir(parents=True)
    kept.touch()
    folder = world.submit(tmp_path / "sent")
    said = refusal("judge", folder, "--results", world.results, "--out", tmp_path / "out")
    assert "has no judged.json, so it is not overwritten" in said and kept.exists()


def test_rerun_is_for_one_submission(world, tmp_path):
    said = refusal("judge", tmp_path / "a", tmp_path / "b", "--rerun", "ft")
    assert "--rerun: it is for one submission" in said


# A published folder, which an author reads.


def published(folder, cell=CELL, label=0):
    folder.mkdir()
    rows = f"benchmark,cell,run,seed,base_seed\n{NAME},{cell},retrain,2,2\n"
    (folder / "runs.csv").write_text(rows)
    one = {"benchmark": NAME, "cell": cell, "set": "test", "example": 0, "class": "cat"}
    pd.DataFrame([{**one, "label": label}]).to_parquet(folder / "examples.parquet")
    return folder


@pytest.mark.parametrize("cell", ["../../x", "..", "/tmp/x"])
def test_a_published_cell_is_the_name_of_a_folder(tmp_path, cell):
    pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match="is no name of a folder"):
        read_published_cells(published(tmp_path / "theirs", cell), NAME)


def test_published_examples_have_limits(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match=r"labels that are not from 0 to 999,999"):
        read_published_cells(published(tmp_path / "theirs", label=10**12), NAME)
    monkeypatch.setattr("collateral.results.published_cells.MOST_ROWS", 0)
    with pytest.raises(ValueError, match="has 1 rows, more than 0"):
        read_published_cells(published(tmp_path / "large"), NAME)
