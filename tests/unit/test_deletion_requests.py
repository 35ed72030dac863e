"""Forget sets as they come: a list of files, all examples of a person; and bad ones, early."""

import re
import unicodedata
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from image_files import HOSTILE, write_folder, write_image
from plug_ins import forgotten_after, write_files
from small_grid import grid

from collateral.config.errors import ConfigError
from collateral.contract.conventions import FILE
from collateral.contract.data import DatasetSize
from collateral.data import arrays, folder
from collateral.data._metadata import find_forget_error, find_size
from collateral.data._subset import choose_forget_set, take_subset
from collateral.data.folder import index_folder
from collateral.data.forget import files, where
from collateral.jobs.data import PlannedData
from collateral.plan import preflight
from collateral.plan.preflight import check_plan
from collateral.plugins.find import DATA
from collateral.results.dataset import Labels
from collateral.results.files import write_json
from collateral.stages._workspace import Workspace
from collateral.stages.run import run_job

NAMES = [
    "train/cat/0.png",
    "train/cat/my cat.png",
    "train/cat/größe.png",
    "train/dog/#1.png",
    "train/dog/<script>.png",
    "train/dog/ends with a space ",
]
LABELS = Labels(
    np.array([0, 0, 0, 1, 1, 1]),
    np.array([0, 1]),
    ("cat", "dog"),
    {FILE: np.array(NAMES), "subject": np.array([17, 23, 5, 17, 5, 23])},
    {FILE: np.array(["test/cat/0.png", "test/dog/0.png"])},
)
SIZE = DatasetSize(
    ("cat", "dog"),
    (3, 3),
    (1, 1),
    (8, 8, 3),
    lambda: {name: column.tolist() for name, column in LABELS.columns.items()},
)


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    index_folder.cache_clear()
    monkeypatch.chdir(tmp_path)


def listed(tmp_path, text):
    (tmp_path / "withdrawn.txt").write_text(text, encoding="utf-8", newline="")
    return files.Params(path="withdrawn.txt")


# Files.


@pytest.mark.parametrize("name", NAMES)
def test_every_name_can_be_listed(tmp_path, name):
    params = listed(tmp_path, f"./{name}\n" if name.startswith("#") else f"{name}\n")
    assert files.select(LABELS, params).tolist() == [NAMES.index(name)]
    assert files.count(SIZE, params) == 1
    assert find_forget_error(files, SIZE, params) is None


def test_comments_empty_lines_and_line_ends_of_other_systems_do_not_count(tmp_path):
    params = listed(tmp_path, "\ufeff# withdrawn\r\n\r\n  train/cat/0.png \r\ntrain/cat/0.png\n")
    assert files.select(LABELS, params).tolist() == [0]


def test_accents_may_be_written_either_way(tmp_path):
    params = listed(tmp_path, unicodedata.normalize("NFD", "train/cat/größe.png"))
    assert files.select(LABELS, params).tolist() == [2]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "train/cat/0.pgn",
            r".*'train/cat/0.pgn' is not among the 6 images; did you mean train/cat/0.png\?",
        ),
        ("# x\ncat/0.png", r".*'cat/0.png' .*did you mean train/cat/0.png\?"),
        ("nope\nnay\ntrain/cat/0.png", "2 of 3 paths cannot be used: line 1: 'nope' "),
        ("# nothing\n\n", "no file in it; expected at least one"),
    ],
)
def test_a_file_that_is_not_there_is_named_with_the_nearest(tmp_path, text, said):
    params = listed(tmp_path, text)
    with pytest.raises(ValueError, match=f"path: 'withdrawn.txt': {said}"):
        files.select(LABELS, params)
    key, line = find_forget_error(files, SIZE, params)
    assert key == "path"
    assert "\n" not in line


def test_the_file_of_another_person_is_never_suggested(tmp_path):
    """099 is no spelling mistake of 029: it is another patient."""
    names = [f"train/cat/{number}.png" for number in ("029", "030")]
    columns = {FILE: np.array(names)}
    labels = Labels(np.array([0, 1]), np.array([0]), ("cat", "dog"), columns)
    with pytest.raises(ValueError, match=r"is not among the 2 images$"):
        files.select(labels, listed(tmp_path, "train/cat/099.png"))


def test_a_test_image_cannot_be_forgotten(tmp_path):
    with pytest.raises(ValueError, match=r"'test/cat/0\.png' is a test image"):
        files.select(LABELS, listed(tmp_path, "test/cat/0.png"))


def test_without_files_there_is_another_way(tmp_path):
    plain = Labels(LABELS.train, LABELS.test, LABELS.class_names)
    with pytest.raises(ValueError, match="does not name its examples by files; try index_file"):
        files.select(plain, listed(tmp_path, "0.png"))


# Columns.


@pytest.mark.parametrize(
    ("column", "values", "places"),
    [
        ("subject", [17, 23], [0, 1, 3, 5]),
        ("subject", 5, [2, 4]),
        ("subject", ["5"], [2, 4]),
        (FILE, ["train/cat/0.png"], [0]),
    ],
)
def test_all_examples_with_a_value_are_forgotten(column, values, places):
    params = where.Params.model_validate({"column": column, "is": values})
    assert where.select(LABELS, params).tolist() == places
    assert where.count(SIZE, params) == len(places)
    assert find_forget_error(where, SIZE, params) is None


@given(st.lists(st.sampled_from([1, 2, 10, 11, 12, 21, 101, 111]), min_size=1), st.data())
def test_exactly_the_examples_with_one_of_the_values_are_forgotten(subjects, data):
    """Whatever the values have in common as texts: 1 is neither 10 nor 21."""
    wanted = data.draw(st.lists(st.sampled_from(subjects), min_size=1, unique=True))
    labels = Labels(np.zeros(len(subjects), np.int64), np.array([0]), ("a", "b"), {
        "subject": np.array(subjects),
        "name": np.array([f"p{one}" for one in subjects]),
    })  # fmt: skip
    places = [place for place, one in enumerate(subjects) if one in wanted]
    for column, values in (("subject", wanted), ("name", [f"p{one}" for one in wanted])):
        params = where.Params.model_validate({"column": column, "is": values})
        assert where.select(labels, params).tolist() == places


@pytest.mark.parametrize(
    ("given", "key", "said"),
    [
        (
            {"column": "subjekt", "is": 17},
            "column",
            "no column 'subjekt'; known: file, subject; did you mean subject?",
        ),
        (
            {"column": "subject", "is": [17, 99]},
            "is",
            "no value '99' in column subject; known: 17, 23, 5",
        ),
        (
            {"column": "subject", "is": [True]},
            "is",
            "no value 'True' in column subject; true and false are not text: "
            "put such a name in quotes; known: 17, 23, 5",
        ),
    ],
)
def test_a_column_and_a_value_that_are_not_there_are_named(given, key, said):
    params = where.Params.model_validate(given)
    assert find_forget_error(where, SIZE, params) == (key, said)
    with pytest.raises(ValueError, match=key):
        where.select(LABELS, params)


PATIENTS = ["007", "029", "030", "029", "030"]


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("099", ""),  # near 029, which is another patient
        ("004", "; the test set has it (2 examples), and no model is trained on those"),
        (7, "; with other zeros it is there: '007'"),
        ("00030", "; with other zeros it is there: '030'"),
        ("anna", ""),
    ],
)
def test_another_person_is_never_suggested(value, hint):
    columns, tested = {"patient": PATIENTS}, {"patient": ["004", "029", "004"]}
    size = DatasetSize(("a", "b"), (3, 2), (1, 2), (8, 8, 1), lambda: columns, lambda: tested)
    params = where.Params.model_validate({"column": "patient", "is": ["029", value]})
    said = f"no value '{value}' in column patient{hint}; known: 007, 029, 030"
    assert find_forget_error(where, size, params) == ("is", said)
    of_train, of_test = ({"patient": np.array(c["patient"])} for c in (columns, tested))
    labels = Labels(np.array([0, 0, 0, 1, 1]), np.array([0, 1, 1]), ("a", "b"), of_train, of_test)
    with pytest.raises(ValueError, match=re.escape(said)):
        where.select(labels, params)


def test_forgetting_everything_is_refused():
    with pytest.raises(ValueError, match="all 6 train examples, none is retained"):
        choose_forget_set(LABELS, "where", {"column": "subject", "is": [5, 17, 23]})


def write_arrays(path, **more):
    images = np.zeros((6, 4, 4), np.uint8)
    np.savez(
        path,
        train_images=images,
        train_labels=LABELS.train,
        test_images=images[:2],
        test_labels=LABELS.test,
        **more,
    )
    return arrays.Options(path=path)


def test_further_arrays_of_an_npz_are_columns(tmp_path):
    given = write_arrays(
        tmp_path / "own.npz",
        subject=LABELS.columns["subject"],
        train_site=np.array(list("aabbcc")),
        test_site=np.array(list("ab")),
        weight=np.ones(6),
        three=np.arange(3),
    )
    labels = arrays.load(given).labels
    columns = labels.columns
    assert {name: column.tolist() for name, column in columns.items()} == {
        "subject": LABELS.columns["subject"].tolist(),
        "site": list("aabbcc"),
    }
    assert {name: c.tolist() for name, c in labels.test_columns.items()} == {"site": ["a", "b"]}
    assert find_size("arrays", given).columns() == {n: c.tolist() for n, c in columns.items()}


def test_columns_are_cut_with_the_examples(tmp_path):
    given = write_arrays(tmp_path / "own.npz", subject=LABELS.columns["subject"])
    given = given.model_copy(update={"classes": (1, 0), "per_class": 2})
    kept = take_subset(arrays.load(given), given).labels
    assert kept.columns["subject"].tolist() == [17, 23, 17, 5]
    assert find_size("arrays", given).columns() == {"subject": [17, 23, 17, 5]}


def test_an_empty_value_is_not_listed_as_known():
    params = where.Params.model_validate({"column": "patient", "is": "099"})
    columns = {"patient": ["007", "", "030", " ", "007"]}
    with pytest.raises(ValueError, match=r"in column patient; known: 007, 030$"):
        where.find_indices(params, columns)


def test_columns_of_test_examples_are_cut_with_them(tmp_path):
    both = {"train_site": np.array([*"aabbcc"]), "test_site": np.array([*"xy"])}
    given = write_arrays(tmp_path / "own.npz", **both)
    assert find_size("arrays", given).test_columns() == {"site": ["x", "y"]}
    given = given.model_copy(update={"classes": (1, 0), "test_per_class": 1})
    assert find_size("arrays", given).test_columns() == {"site": ["x", "y"]}


# Before any job.


def complaints(tmp_path, forget, data=None):
    data = data or {"name": "folder", "path": str(tmp_path / "images"), "size": 8}
    with pytest.raises(ConfigError) as error:
        check_plan({"b": planned(data, forget)})
    return str(error.value).splitlines()


def planned(data, forget, **more):
    return grid(data=data, classes=[], fractions=[], cells={"gone": {"forget": forget}}, **more)


def test_a_withdrawn_file_that_is_not_there_stops_before_any_job(tmp_path):
    write_folder(tmp_path / "images")
    listed(tmp_path, "train/cat/9.png\n")
    (line,) = complaints(tmp_path, {"kind": "files", "path": "withdrawn.txt"})
    assert line.startswith("benchmarks.b.cells.gone.forget.path: 'withdrawn.txt': 1 of 1 paths ")
    assert line.endswith(" images")  # 0.png and 1.png may be of other persons


def test_withdrawing_every_file_stops_before_any_job(tmp_path):
    write_folder(tmp_path / "images", each=(2, 1))
    listed(tmp_path, "".join(f"train/{c}/{i}.png\n" for c in ("cat", "dog") for i in range(2)))
    assert complaints(tmp_path, {"kind": "files", "path": "withdrawn.txt"}) == [
        "benchmarks.b.cells.gone.forget: all 4 train examples, none is retained"
    ]


def test_a_folder_with_one_class_stops_before_any_job(tmp_path):
    write_folder(tmp_path / "images", ("cat",))
    listed(tmp_path, "train/cat/0.png\n")
    (line,) = complaints(tmp_path, {"kind": "files", "path": "withdrawn.txt"})
    assert line.startswith("benchmarks.b.data.path: ")
    assert "1 classes" in line


def test_what_is_wrong_with_the_data_is_not_said_of_the_forget_set(tmp_path):
    def unreadable():
        raise ValueError("data.path: cannot read own.npz")

    size = replace(SIZE, columns=unreadable)
    asked = where.Params.model_validate({"column": "subject", "is": [17]})
    assert find_forget_error(where, size, asked) is None
    assert find_forget_error(files, size, listed(tmp_path, "a.png\n")) is None


def test_a_column_that_is_not_there_stops_before_any_job(tmp_path):
    write_arrays(tmp_path / "own.npz", subject=LABELS.columns["subject"])
    data = {"name": "arrays", "path": "own.npz"}
    (line,) = complaints(tmp_path, {"kind": "where", "column": "person", "is": [1]}, data)
    assert line == (
        "benchmarks.b.cells.gone.forget.column: no column 'person'; known: subject; only whole "
        "numbers, yes and no, and text count"
    )


def test_columns_of_groups_are_checked_before_any_job(tmp_path, monkeypatch):
    write_arrays(tmp_path / "own.npz", subject=LABELS.columns["subject"])
    data, forget = {"name": "arrays", "path": "own.npz"}, {"kind": "random_part", "fraction": 0.5}
    monkeypatch.setattr(preflight, "MOST_GROUPS", 2)
    with pytest.raises(ConfigError) as error:
        check_plan({"b": planned(data, forget, groups=["subjects", "subject"])})
    assert str(error.value).splitlines() == [
        "benchmarks.b.groups[0]: no column 'subjects'; known: subject; did you mean subject?",
        "benchmarks.b.groups[1]: 'subject' has 3 values; expected at most 2 groups",
    ]


def store_data(benchmark, code):
    """Run the job that reads the data of a benchmark."""
    results = Path("results/b")
    results.mkdir(parents=True)
    job = PlannedData(benchmark).job
    run_job(Workspace(job, Path("results"), code))


def test_columns_of_groups_are_checked_against_stored_labels(tmp_path, monkeypatch):
    columns = {"subject": LABELS.columns["subject"], "site": np.array([*"abcabc"])}
    write_arrays(tmp_path / "own.npz", **columns, test_site=np.array([*"ad"]))
    data, forget = {"name": "arrays", "path": "own.npz"}, {"kind": "random_part", "fraction": 0.5}
    benchmark = planned(data, forget, groups=["subjects", "subject", "site"])
    store_data(benchmark, PlannedData(benchmark).code)
    (tmp_path / "own.npz").unlink()
    monkeypatch.setattr(preflight, "MOST_GROUPS", 3)
    with pytest.raises(ConfigError) as error:
        check_plan({"b": benchmark})
    lines = str(error.value).splitlines()
    assert lines[0].startswith("benchmarks.b.groups[0]: no column 'subjects'; known: ")
    assert lines[1:] == ["benchmarks.b.groups[2]: 'site' has 4 values; expected at most 3 groups"]


def test_outdated_labels_do_not_decide_about_groups(tmp_path):
    write_arrays(tmp_path / "own.npz", subject=LABELS.columns["subject"])
    data, forget = {"name": "arrays", "path": "own.npz"}, {"kind": "random_part", "fraction": 0.5}
    benchmark = planned(data, forget, groups=["site"])
    store_data(benchmark, "older")
    write_arrays(tmp_path / "own.npz", site=LABELS.columns["subject"])
    check_plan({"b": benchmark})


def test_from_the_cache_nobody_misses_the_folder(tmp_path):
    data = {"name": "folder", "path": str(tmp_path / "images"), "size": 8}
    write_folder(tmp_path / "images", HOSTILE)
    benchmark = planned(data, {"kind": "random_part", "fraction": 0.5})
    code = PlannedData(benchmark).code
    results = tmp_path / "results/b"
    results.mkdir(parents=True)
    (results / "labels.npz").touch()
    state = folder.state(folder.Options(path=tmp_path / "images"))
    write_json(results / "data.json", {"state": state})
    (tmp_path / "images").rename(tmp_path / "elsewhere")
    index_folder.cache_clear()
    check_plan({"b": benchmark})
    assert PlannedData(benchmark).code == code
    assert PlannedData(benchmark).user_files == []


def test_another_file_in_the_folder_is_another_job(tmp_path):
    write_folder(tmp_path / "images")
    data = {"name": "folder", "path": str(tmp_path / "images"), "size": 8}
    job = PlannedData(planned(data, {"kind": "random_part", "fraction": 0.5}))
    before = job.code
    write_image(tmp_path / "images/train/cat/new.png")
    index_folder.cache_clear()
    assert job.code != before


# A data set of the user's own, outside the repository.

OWN = '''
"""Squares of somebody."""
from pathlib import Path
from pydantic import Field
from collateral.contract.data import DataOptions, DatasetInfo, DatasetSize

NAMES = ("light", "dark")
SIZE = DatasetSize(NAMES, train=(3, 3), test=(1, 1), shape=(4, 4, 1))
INFO = DatasetInfo(class_names=NAMES, source="computed", licence="none needed", size=SIZE)


class Options(DataOptions):
    place: str = Field("own.txt", description="A file that must be there.")


def problem(options):
    return None if Path(options.place).exists() else f"data.place: no file {options.place}"


def inputs(options):
    return [Path(options.place)]


def state(options):
    return "as it is"


def columns(options):
    return [0, 1, 0, 1, 0, 1], {"subject": [17, 17, 5, 5, 5, 5]}


def load(options):
    import numpy as np
    from collateral.results.dataset import Dataset, Labels

    labels, further = columns(options)
    images = np.arange(96, dtype=np.uint8).reshape(6, 4, 4, 1)
    subject = np.array(further["subject"])
    split = Labels(np.array(labels), np.array([0, 1]), NAMES, {"subject": subject})
    return Dataset(images, images[:2], split, mean=(0.5,), std=(0.25,))
'''


def test_a_data_set_outside_the_repository_tells_as_much_before_any_job(tmp_path):
    with forgotten_after():
        plugins = write_files(tmp_path / "mine", {"data/squares.py": OWN})
        changes = {"data": {"name": "squares"}, "classes": [], "fractions": []}
        forget = {"kind": "where", "column": "subject", "is": [71]}
        benchmark = grid(plugins, cells={"gone": {"forget": forget}}, **changes)
        with pytest.raises(ConfigError) as error:
            check_plan({"b": benchmark})
        assert str(error.value).splitlines() == [
            "benchmarks.b.data.place: no file own.txt",
            "benchmarks.b.cells.gone.forget.is: no value '71' in column subject; known: 17, 5",
        ]
        (tmp_path / "own.txt").touch()
        forget = {"kind": "where", "column": "subject", "is": [17]}
        benchmark = grid(plugins, cells={"gone": {"forget": forget}}, **changes)
        check_plan({"b": benchmark})
        job = PlannedData(benchmark)
        assert job.user_files == ["own.txt"]
        assert job.code.endswith(" as it is")
        labels = DATA.load("squares").load(DATA.load("squares").Options()).labels
        assert choose_forget_set(labels, "where", {"column": "subject", "is": [17]})[
            0
        ].tolist() == [0, 1]


def test_a_data_set_outside_the_repository_may_tell_its_columns_only_with_the_images(tmp_path):
    with forgotten_after():
        code = OWN.replace("def columns(", "def _columns(").replace("= columns(", "= _columns(")
        plugins = write_files(tmp_path / "mine", {"data/squares.py": code})
        (tmp_path / "own.txt").touch()
        changes = {"data": {"name": "squares"}, "classes": ["light"], "groups": ["subject"]}
        benchmark = grid(plugins, **changes)
        check_plan({"b": benchmark})
        store_data(benchmark, PlannedData(benchmark).code)
        check_plan({"b": benchmark})
        with pytest.raises(ConfigError, match="no column 'person'; known: subject"):
            check_plan({"b": grid(plugins, **{**changes, "groups": ["person"]})})


@pytest.mark.parametrize(
    "forget", [{"kind": "where", "column": "subject", "is": [17]}, {"kind": "files", "path": "l"}]
)
def test_a_forget_set_that_needs_columns_names_the_function_that_is_missing(tmp_path, forget):
    with forgotten_after():
        code = OWN.replace("def columns(", "def _columns(").replace("= columns(", "= _columns(")
        plugins = write_files(tmp_path / "mine", {"data/squares.py": code})
        for name in ("own.txt", "l"):
            (tmp_path / name).write_text("train/a/0.png")
        changes = {"data": {"name": "squares"}, "classes": [], "fractions": []}
        with pytest.raises(ConfigError) as error:
            check_plan({"b": grid(plugins, cells={"gone": {"forget": forget}}, **changes)})
        (line,) = str(error.value).splitlines()
        assert line.startswith("benchmarks.b.cells.gone.forget: the data set 'squares' does not ")
        assert "add a function columns(options) to its file" in line
