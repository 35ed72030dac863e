"""A table beside a folder of images: columns, who is in which set, and what is refused."""

import json
import re

import numpy as np
import pytest
from drive import run_stage
from image_files import write_folder, write_image
from small_grid import grid

from collateral.config.errors import ConfigError
from collateral.contract.conventions import FILE
from collateral.data import folder
from collateral.data._metadata import find_size, hash_user_files
from collateral.data._readers.examples import draw_groups
from collateral.data._readers.file_list import find_listed
from collateral.data.folder import index_folder
from collateral.jobs.data import DataJob
from collateral.jobs.split import SplitJob
from collateral.plan.preflight import check_plan
from collateral.results.dataset import Labels

CLASSES = ("cat", "dog")
SUBJECTS = ("017", "17", "023", "5", "x", "y")  # pictures 0 to 3 of a class are of the first


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    index_folder.cache_clear()
    monkeypatch.chdir(tmp_path)


def subject_of(path):
    """Return whose picture a file is: unlike numbers of pictures, and one person in one class."""
    number = int(path.rpartition("/")[2].removesuffix(".png"))
    if path.split("/")[-2] == "dog" and number == 19:
        return "only dogs"
    return SUBJECTS[min(number // 4, 5)]


def write_table(root, name="people.csv", *, rows=None, delimiter=",", header=("file", "subject")):
    files = sorted(str(path.relative_to(root)) for path in root.rglob("*.png"))
    rows = [(file, subject_of(file)) for file in files] if rows is None else rows
    lines = [delimiter.join(row) for row in (header, *rows)]
    path = root.parent / name
    path.write_text("\ufeff" + "\r\n".join(lines) + "\r\n", encoding="utf-8")
    index_folder.cache_clear()
    return path


@pytest.fixture
def root(tmp_path):
    """A folder of one tree, 20 pictures a class, and its table."""
    images = write_folder(tmp_path / "images", CLASSES, tops=("",), each=(20,))
    write_table(images)
    return images


def options(root, **more):
    given = {"path": root, "size": 8, "table": root.parent / "people.csv", **more}
    return folder.Options.model_validate(given)


def subjects(labels, part="columns"):
    return set(getattr(labels, part)["subject"].tolist())


# Columns.


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_columns_of_the_table_are_those_of_train_and_test_examples(tmp_path, delimiter):
    images = write_folder(tmp_path / "images", CLASSES, each=(5, 3))
    write_table(images, delimiter=delimiter)
    given = options(images)
    labels = folder.load(given).labels
    for part in (labels.columns, labels.test_columns):
        assert [*part] == [FILE, "subject"]
        assert [subject_of(file) for file in part[FILE]] == part["subject"].tolist()
    assert find_size("folder", given).columns()["subject"] == labels.columns["subject"].tolist()


def test_the_table_in_use_is_not_called_left_out(root, capsys):
    table = (root.parent / "people.csv").rename(root / "people.csv")
    (root / "cat/people.csv").write_text("another")
    folder.load(options(root, test_share=0.2, table=table))
    assert capsys.readouterr().out == "left out 1 files and folders: cat/people.csv\n"


def test_a_class_without_images_is_not_blamed_on_the_test_set(root, tmp_path):
    (root / "owl").mkdir()
    (tmp_path / "unseen.txt").write_text("dog/9.png\n")
    line = folder.problem(options(root, test_path=tmp_path / "unseen.txt"))
    assert line.startswith("data.path: 3 classes, without train examples: owl;")


def test_columns_stay_with_their_pictures_where_some_are_left_out(root):
    (root / "cat/0.png").write_text("no image")
    labels = folder.load(options(root, test_share=0.2, broken="skip")).labels
    files, names = labels.columns[FILE].tolist(), labels.columns["subject"].tolist()
    assert "cat/0.png" not in files
    assert [subject_of(file) for file in files] == names


def test_another_value_in_the_table_is_another_state(root):
    given = options(root, test_share=0.2)
    before = hash_user_files("folder", given)
    table = root.parent / "people.csv"
    table.write_text(table.read_text(encoding="utf-8-sig").replace(",x", ",z"))
    index_folder.cache_clear()
    assert hash_user_files("folder", given) != before
    table.write_text("\n\n" + table.read_text().replace(",z", " , x "))  # as it was, but for spaces
    index_folder.cache_clear()
    assert hash_user_files("folder", given) == before


# A deletion request, through the stages.


def make_split(root, values, **more):
    """Run the stages `data` and `split`; return the labels and the forgotten files."""
    given = {"path": str(root), "size": 8, "table": "people.csv", **more}
    forget = {"column": "subject", "is": values}
    run_stage(DataJob, root.parent, name="folder", options=given)
    run_stage(SplitJob, root.parent, cell="c", forget="where", params=forget)
    labels = Labels.load(root.parent / "labels.npz")
    chosen = json.loads((root.parent / "c/split.json").read_text())
    return labels, labels.columns[FILE][chosen["forget"]].tolist()


@pytest.mark.parametrize(
    ("value", "numbers"), [("017", range(4)), ("17", range(4, 8)), (17, range(4, 8))]
)
def test_all_pictures_of_a_person_are_forgotten_and_zeros_count(root, value, numbers):
    stay = {"subject": [value]}
    _, files = make_split(root, [value], test_share=0.2, test_by="subject", train_where=stay)
    assert {file for file in files} >= {f"{name}/{n}.png" for name in CLASSES for n in numbers}
    assert {subject_of(file) for file in files} == {str(value)}
    assert len(files) == 8


def test_a_value_that_is_not_in_the_table_stops_before_any_job(root):
    data = {"name": "folder", "path": "images", "size": 8, "table": "people.csv", "test_share": 0.2}
    cell = {"forget": {"kind": "where", "column": "subject", "is": ["0017"]}}
    benchmark = grid(data=data, classes=[], fractions=[], cells={"gone": cell})
    with pytest.raises(ConfigError, match=r"gone.forget.is: no value '0017' .*there: '017', '17';"):
        check_plan({"b": benchmark})


# Who is in which set.


@pytest.mark.parametrize("seed", range(10))
def test_nobody_is_in_both_sets_and_all_classes_are_in_both(root, seed):
    labels = folder.load(options(root, test_share=0.2, test_by="subject", test_seed=seed)).labels
    assert not subjects(labels) & subjects(labels, "test_columns")
    assert np.bincount(labels.train, minlength=2).min() >= 12
    assert np.bincount(labels.test, minlength=2).min() >= 1
    assert len(labels.train) + len(labels.test) == 40


def test_the_draw_by_persons_is_always_the_same_and_follows_the_seed(root):
    tested = [
        folder.load(options(root, test_share=0.2, test_by="subject", test_seed=seed)).labels
        for seed in (0, 0, *range(1, 6))
    ]
    files = [labels.test_columns[FILE].tolist() for labels in tested]
    assert files[0] == files[1]
    assert any(others != files[0] for others in files[2:])


def test_without_a_column_a_person_may_be_in_both_sets(root):
    labels = folder.load(options(root, test_share=0.2)).labels
    assert subjects(labels) & subjects(labels, "test_columns")


@pytest.mark.parametrize("more", [{}, {"test_by": "subject"}])
def test_examples_that_must_stay_in_the_train_set_are_not_drawn_for_testing(root, more):
    stay = {"subject": ["017", "x"]}
    for seed in range(5):
        given = options(root, test_share=0.2, test_seed=seed, train_where=stay, **more)
        assert not {"017", "x"} & subjects(folder.load(given).labels, "test_columns")


def test_a_listed_file_keeps_all_pictures_of_its_person(root, tmp_path):
    (tmp_path / "gone.txt").write_text("cat/0.png\n")
    for seed in range(5):
        given = options(root, test_share=0.2, test_by="subject", test_seed=seed,
                        train_list=tmp_path / "gone.txt")  # fmt: skip
        assert "017" not in subjects(folder.load(given).labels, "test_columns")


def test_a_listed_file_that_is_not_there_is_refused(root, tmp_path):
    (tmp_path / "gone.txt").write_text("cat/0.png\ncat/99.png\n")
    line = folder.problem(options(root, test_share=0.2, train_list=tmp_path / "gone.txt"))
    assert line.startswith("data.train_list: ")
    assert "line 2: 'cat/99.png' is not among the 40 images" in line


def test_groups_of_one_give_every_class_its_exact_share():
    labels = [0] * 30 + [1] * 10
    chosen = draw_groups(labels, [str(n) for n in range(40)], 0.2, 0, set())
    assert [sum(labels[row] == label for row in chosen) for label in (0, 1)] == [6, 2]


def test_a_class_of_one_person_alone_cannot_be_tested_on(root):
    files = [f"{name}/{n}.png" for name in CLASSES for n in range(20)]
    write_table(root, rows=[(f, "d" if f.startswith("dog") else f) for f in files])
    line = folder.problem(options(root, test_share=0.2, test_by="subject"))
    assert line.startswith("data.test_share: no test example of class 'dog': ")


# What is refused, before an image is opened.


def rows_of(root, *, without=(), more=()):
    files = sorted(str(path.relative_to(root)) for path in root.rglob("*.png"))
    return [*((file, "1") for file in files if file not in without), *more]


BAD_TABLES = {
    "files that it lacks": (
        {"without": [f"cat/{n}.png" for n in range(5)]},
        r"expected one row per image.*; images without a row: cat/0.png, cat/1.png, cat/2.png",
    ),
    "files that are not there": (
        {"more": [("cat/99.png", "1"), ("owl/1.png", "2")]},
        r"without a row: none; rows of .*: cat/99.png \(line 42\), owl/1.png \(line 43\)",
    ),
    "both": (
        {"without": ["cat/3.png"], "more": [("cat/3.PNG", "1")]},
        r"images without a row: cat/3.png; rows of no image, .*: cat/3.PNG \(line 41\)",
    ),
    "a file twice": (
        {"more": [("./cat/0.png", "2")]},
        r"one that has another row: cat/0.png \(line 2\), ./cat/0.png \(line 42\)",
    ),
    "a row cut off": ({"more": [("cat/0.png",)]}, r"line 42: 1 values for 2 columns"),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_a_table_that_does_not_fit_the_folder_names_the_files(root, case):
    changes, said = BAD_TABLES[case]
    write_table(root, rows=rows_of(root, **changes))
    line = folder.problem(options(root, test_share=0.2))
    assert line.startswith("data.table: ") and "people.csv'" in line and "\n" not in line
    assert re.search(said, line), line


@pytest.mark.parametrize(
    ("before", "after", "hint"),
    [
        ("cat/0.png", "cat\\0.png", "write / in place of \\"),
        ("cat/0.png", "images/cat/0.png", "leave out 'images/' before it"),
        (
            "dog/3.png",
            "C:\\data\\images\\dog\\3.png",
            "write / in place of \\ and leave out 'C:/data/images/' before it",
        ),
    ],
)
def test_a_path_as_another_program_writes_it_gets_a_hint(root, tmp_path, before, after, hint):
    write_table(root, rows=[(after if f == before else f, one) for f, one in rows_of(root)])
    line = folder.problem(options(root, test_share=0.2))
    assert line.endswith(f"is not among the images; {hint}")
    listed = tmp_path / "gone.txt"
    listed.write_text(f"{after}\n")
    with pytest.raises(ValueError, match="1 of 1 paths") as error:
        find_listed("path", listed, [f for f, _ in rows_of(root)])
    assert str(error.value).endswith(f"is not among the 40 images; {hint}")


def test_a_table_may_be_utf_16_and_one_of_latin_1_is_named_with_the_remedy(root):
    path = write_table(root, rows=[(file, "größe") for file, _ in rows_of(root)])
    text = path.read_text(encoding="utf-8-sig")
    for encoding in ("utf-16", "utf-8-sig"):
        path.write_bytes(text.replace("\n", "\r\n").encode(encoding))
        index_folder.cache_clear()
        labels = folder.load(options(root, test_share=0.2)).labels
        assert {*labels.columns["subject"]} == {"größe"}
    path.write_bytes(text.encode("latin-1"))
    index_folder.cache_clear()
    line = folder.problem(options(root, test_share=0.2))
    assert "line 2 is not UTF-8 text; it may be Latin-1; save it as UTF-8" in line


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (("filename", "subject"), "no column 'file'; known: filename, subject; did you mean filen"),
        (("file", "file"), "columns ['file', 'file']; expected columns with different names"),
        (("file", ""), "columns ['file', '']; expected"),
    ],
)
def test_columns_without_a_name_of_their_own_are_refused(root, header, said):
    write_table(root, header=header)
    assert said in folder.problem(options(root, test_share=0.2))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"table": "no.csv"}, r"data.table: 'no.csv': .*; paths start at the working"),
        ({"test_by": "person"}, "data.test_by: no column 'person'; known: file, subject"),
        ({"test_by": "subject", "table": None}, "data.test_by: no column 'subject'; known: file"),
        (
            {"train_where": {"subject": 99}},
            "data.train_where: no value '99' in column subject; known: ",
        ),
    ],
)
def test_options_that_do_not_fit_the_files_are_named(root, more, said):
    assert re.match(said, folder.problem(options(root, **{"test_share": 0.2, **more})))


@pytest.mark.parametrize("key", ["test_by", "train_list", "train_where"])
def test_options_of_a_share_are_refused_without_it(root, key):
    value = {"subject": 17} if key == "train_where" else "subject"
    with pytest.raises(ValueError, match=f"`{key}` goes with `test_share`, which is not given"):
        options(root, test_path="cats.txt", **{key: value})


# A test set that is named.


def test_a_list_is_the_test_set_and_all_others_are_trained_on(root, tmp_path):
    listed = [f"cat/{n}.png" for n in (3, 7)] + ["./dog/19.png"]
    (tmp_path / "unseen.txt").write_text("# never trained on\n" + "\n".join(listed))
    given = options(root, test_path=tmp_path / "unseen.txt")
    labels = folder.load(given).labels
    assert labels.test_columns[FILE].tolist() == ["cat/3.png", "cat/7.png", "dog/19.png"]
    assert subjects(labels, "test_columns") == {"017", "17", "only dogs"}
    assert len(labels.train) == 37


def test_the_last_train_image_on_the_list_is_another_state(root, tmp_path):
    (tmp_path / "unseen.txt").write_text("dog/9.png\n")
    given = options(root, test_path=tmp_path / "unseen.txt")
    before = hash_user_files("folder", given)
    # Train and test images, one after the other, are the same files in the same order.
    (tmp_path / "unseen.txt").write_text("dog/8.png\ndog/9.png\n")
    index_folder.cache_clear()
    assert hash_user_files("folder", given) != before


def test_a_folder_elsewhere_is_the_test_set(root, tmp_path):
    unseen = write_folder(tmp_path, CLASSES, tops=("holdout",), each=(2,)) / "holdout"
    write_image(unseen / "dog/9.png", seed=999, height=8, width=8)
    data = folder.load(options(root, test_path=unseen))
    assert data.labels.test_columns[FILE].tolist()[-1] == "holdout/dog/9.png"
    assert data.labels.test.tolist() == [0, 0, 1, 1, 1]
    expected = np.random.default_rng(999).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    assert (data.test_images[-1] == expected).all()
    assert len(data.labels.train) == 40
    assert [*data.labels.columns] == [FILE, "subject"]


def unknown_class(tmp_path):
    write_image(tmp_path / "holdout/dgo/0.png")
    return {"test_path": "holdout"}


def in_the_folder(tmp_path):
    return {"test_path": "images/dog"}


def nothing_in_it(tmp_path):
    (tmp_path / "holdout").mkdir()
    return {"test_path": "holdout"}


def all_cats(tmp_path):
    (tmp_path / "cats.txt").write_text("".join(f"cat/{n}.png\n" for n in range(20)))
    return {"test_path": "cats.txt"}


def a_typo(tmp_path):
    (tmp_path / "typo.txt").write_text("# two\n\ncat/1.png\ncat/0.pgn\n")
    return {"test_path": "typo.txt"}


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda _: {"test_path": "no"}, "data.test_path: 'no': .*; paths start at"),
        (unknown_class, r"data.test_path: in the test set: no class 'dgo'; .*did you mean dog\?"),
        (in_the_folder, "data.test_path: 'images/dog': lies inside `path`, where its folders"),
        (all_cats, "data.test_path: 2 classes, without train examples: cat; 20 test"),
        (nothing_in_it, "data.test_path: 2 classes, .*; 0 test examples; expected"),
        (a_typo, r"data.test_path: .*: line 4: 'cat/0.pgn' is not among the 40 images; did you"),
        (lambda _: {"test_path": "no", "test_share": 0.2}, "test_share, test_path; expected exac"),
    ],
)
def test_a_test_set_that_cannot_be_meant_is_refused(root, tmp_path, make, said):
    line = folder.problem(options(root, **make(tmp_path)))
    assert re.search(said, line), line


def test_a_named_test_set_does_not_go_with_a_folder_test(tmp_path):
    images = write_folder(tmp_path / "images", CLASSES)
    line = folder.problem(folder.Options(path=images, size=8, test_path=tmp_path))
    assert "test set: test/, test_path; expected exactly one of" in line
