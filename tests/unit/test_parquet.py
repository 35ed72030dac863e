"""Parquet files as the hub serves them: found, understood, decoded, and what is refused."""

import io
import json
import re
import subprocess
import sys

import numpy as np
import pytest
from image_files import picture
from PIL import Image

from collateral.contract.conventions import FILE
from collateral.data import parquet
from collateral.data._metadata import find_input_files, find_size
from collateral.data._subset import take_subset

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

NOTES = {"info": {"features": {"label": {"names": ["cat", "dog"], "_type": "ClassLabel"}}}}


def encoded(seed, **shape):
    buffer = io.BytesIO()
    Image.fromarray(picture(seed, 8, 8, **shape)).save(buffer, "png")
    return buffer.getvalue()


def write(path, labels, *, notes=NOTES, name="label", broken=(), stem=None, **columns):
    """Write a file of one image for each label, numbered from the first letter of its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    first = 100 * ord(path.name[0])
    images = [
        {
            "bytes": b"no" if i in broken else encoded(first + i),
            "path": f"{stem or path.stem}-{i}.png",
        }
        for i in range(len(labels))
    ]
    table = pa.table({"image": images, name: labels, **columns})
    table = table.replace_schema_metadata({"huggingface": json.dumps(notes)} if notes else None)
    pq.write_table(table, path, row_group_size=2)
    return path


def write_hub(root, **more):
    write(
        root / "data/train-00000-of-00002.parquet", [0, 1, 0], **{k: v[:3] for k, v in more.items()}
    )
    write(
        root / "data/train-00001-of-00002.parquet", [1, 1], **{k: v[3:5] for k, v in more.items()}
    )
    write(root / "data/test-00000-of-00001.parquet", [1, 0], **{k: v[5:] for k, v in more.items()})
    return root


def load(path, **more):
    return parquet.load(parquet.Options(path=path, **{"size": 8, **more}))


def test_files_and_rows_keep_their_order_and_names(tmp_path):
    data = load(write_hub(tmp_path))
    assert data.labels.class_names == ("cat", "dog")
    assert (data.labels.train.tolist(), data.labels.test.tolist()) == ([0, 1, 0, 1, 1], [1, 0])
    assert data.labels.columns[FILE].tolist()[2:4] == [
        "train-00000-of-00002-2.png",
        "train-00001-of-00002-0.png",
    ]
    assert (data.train_images[1] == picture(100 * ord("t") + 1, 8, 8)).all()
    assert data.train_images.flags.c_contiguous
    assert find_input_files("parquet", parquet.Options(path=tmp_path)) == sorted(
        tmp_path.rglob("*.parquet")
    )


@pytest.mark.parametrize(
    ("train", "test"),
    [
        ("train.parquet", "validation.parquet"),
        ("plain_text/train/0000.parquet", "plain_text/test/0000.parquet"),
        ("train-00000-of-00001-0123abc.parquet", "val-00000-of-00001-0123abc.parquet"),
    ],
)
def test_sets_are_told_by_names_of_files_and_folders(tmp_path, train, test):
    write(tmp_path / train, [0, 1, 0])
    write(tmp_path / test, [1, 0])
    data = load(tmp_path)
    assert (len(data.train_images), len(data.test_images)) == (3, 2)


def test_a_set_that_is_neither_trained_nor_tested_on_is_said(tmp_path, capsys):
    write_hub(tmp_path)
    write(tmp_path / "data/validation-0.parquet", [0, 1])
    assert len(load(tmp_path).test_images) == 2
    assert re.search(r"left out, .*: validation-0.parquet", capsys.readouterr().out)


def test_a_single_parquet_file_is_split_into_train_and_test_by_class(tmp_path):
    path = write(tmp_path / "all.parquet", [0, 1] * 10)
    data = load(path, test_share=0.2)
    assert np.bincount(data.labels.train).tolist() == [8, 8]
    assert np.bincount(data.labels.test).tolist() == [2, 2]
    files = [*data.labels.columns[FILE], *data.labels.test_columns[FILE]]
    assert len({*files}) == 20


@pytest.mark.parametrize("seed", range(5))
def test_rows_of_one_value_are_drawn_together_and_some_stay(tmp_path, seed):
    subjects = [17, 17, 5, 5, 23, 23, 8, 8, 8, 8, 9, 9, 17, 17, 5, 5, 23, 8, 9, 9]
    path = write(tmp_path / "all.parquet", [0, 1] * 10, subject=subjects)
    stay = {"subject": [17, 23]}
    given = {"test_share": 0.2, "test_seed": seed, "train_where": stay}
    labels = load(path, **given, test_by="subject").labels
    train, test = ({*part["subject"].tolist()} for part in (labels.columns, labels.test_columns))
    assert not train & test
    assert {17, 23} <= train
    assert np.bincount(labels.test, minlength=2).min() >= 1
    by_row = load(path, **given).labels
    assert not {17, 23} & {*by_row.test_columns["subject"].tolist()}
    assert np.bincount(by_row.test).tolist() == [2, 2]


def test_further_columns_are_kept_and_floats_are_not(tmp_path):
    more = {"subject": [17, 23, 5, 17, 5, 1, 2], "site": [*"abcabca"], "age": [0.5] * 7}
    data = load(write_hub(tmp_path, **more))
    assert data.labels.columns["subject"].tolist() == [17, 23, 5, 17, 5]
    assert data.labels.columns["site"].tolist() == [*"abcab"]
    assert data.labels.test_columns["subject"].tolist() == [1, 2]
    assert "age" not in data.labels.columns


def test_categories_are_columns_of_what_they_are_of(tmp_path):
    write(tmp_path / "train.parquet", [0, 1, 0], site=pa.array([*"aba"]).dictionary_encode())
    write(tmp_path / "test.parquet", [1, 0])
    assert load(tmp_path).labels.columns["site"].tolist() == [*"aba"]


def test_a_column_that_the_test_files_lack_is_of_the_train_set_alone(tmp_path):
    write(tmp_path / "train.parquet", [0, 1, 0], subject=[17, 23, 5], site=[*"abc"])
    write(tmp_path / "test.parquet", [1, 0], site=[*"de"])
    data = load(tmp_path)
    assert data.labels.columns["subject"].tolist() == [17, 23, 5]
    assert data.labels.test_columns["site"].tolist() == [*"de"]
    assert "subject" not in data.labels.test_columns
    size = find_size("parquet", parquet.Options(path=tmp_path, size=8))
    assert size.columns()["subject"] == [17, 23, 5]


def test_whole_numbers_that_are_floats_in_the_test_files_are_of_the_train_set_alone(tmp_path):
    write(tmp_path / "train.parquet", [0, 1, 0], subject=[17, 23, 5])
    write(tmp_path / "test.parquet", [1, 0], subject=[17.0, None])
    labels = load(tmp_path).labels
    assert labels.columns["subject"].tolist() == [17, 23, 5]
    assert "subject" not in labels.test_columns


@pytest.mark.parametrize("plain", ["train-0", "test-0", "test-1"])
def test_images_may_be_structs_in_one_file_and_bytes_in_another(tmp_path, plain):
    for part in ("train-0", "test-0", "test-1"):
        path = write(tmp_path / f"{part}.parquet", [1, 0])
        if part == plain:
            image = pq.read_table(path)["image"].combine_chunks().field("bytes")
            pq.write_table(pq.read_table(path).set_column(0, "image", image), path)
    data = load(tmp_path)
    assert (len(data.train_images), len(data.test_images)) == (2, 4)
    assert (FILE in data.labels.columns) == (plain != "train-0")
    assert (FILE in data.labels.test_columns) == (plain == "train-0")


def test_files_of_the_two_sets_may_be_called_alike(tmp_path):
    write(tmp_path / "train.parquet", [0, 1, 0], stem="a")
    write(tmp_path / "test.parquet", [1, 0], stem="a")
    data = load(tmp_path)
    assert data.labels.columns[FILE].tolist() == ["a-0.png", "a-1.png", "a-2.png"]
    assert data.labels.test_columns[FILE].tolist() == ["a-0.png", "a-1.png"]


def test_train_files_that_are_called_alike_name_no_example(tmp_path):
    for part in ("train-0", "train-1", "test-0"):
        write(tmp_path / f"{part}.parquet", [0, 1], stem="a")
    assert FILE not in load(tmp_path).labels.columns


def test_text_labels_are_classes(tmp_path):
    write(tmp_path / "train.parquet", ["owl", "cat", "owl"], notes=None)
    write(tmp_path / "test.parquet", ["cat", "owl"], notes=None)
    data = load(tmp_path)
    assert data.labels.class_names == ("cat", "owl")
    assert data.labels.train.tolist() == [1, 0, 1]


@pytest.mark.parametrize("more", [{}, {"per_class": 1}, {"classes": ["dog", "cat"]}])
def test_size_and_columns_are_known_without_decoding(tmp_path, more):
    given = parquet.Options(path=write_hub(tmp_path, subject=[*range(7)]), size=8, **more)
    size, data = find_size("parquet", given), take_subset(parquet.load(given), given)
    assert list(size.train) == np.bincount(data.labels.train).tolist()
    assert list(size.test) == np.bincount(data.labels.test).tolist()
    assert size.shape == data.train_images.shape[1:]
    assert size.columns() == {n: c.tolist() for n, c in data.labels.columns.items()}


def two_labels(root):
    notes = {"info": {"features": {n: {"names": ["a", "b"]} for n in ("label", "coarse")}}}
    for part in ("train", "test"):
        write(root / f"{part}.parquet", [0, 1], notes=notes, coarse=[1, 0])


def no_label(root):
    for part in ("train", "test"):
        write(root / f"{part}.parquet", [0, 1], name="quality", notes=None)


def of_test_alone(root):
    write(root / "test.parquet", [0, 1])


def one_class(root):
    for part in ("train", "test"):
        write(root / f"{part}.parquet", [0, 0], notes=None)


def both(root, labels):
    for part in ("train", "test"):
        write(root / f"{part}.parquet", labels, notes=None)


def unlabelled(root):
    write(root / "train.parquet", [0, 1])
    write(root / "test.parquet", [-1, -1])


def damaged(root):
    write_hub(root)
    (root / "data/train-00000-of-00002.parquet").write_bytes(b"PAR1")


def broken_image(root):
    write(root / "train.parquet", [0, 1, 1], broken=[1])
    write(root / "test.parquet", [0, 1])


def no_label_to_test_by(root):
    write(root / "train.parquet", [0, 1])
    write(root / "test.parquet", [0, 1], name="other")


def no_image_to_test_by(root):
    write(root / "train.parquet", [0, 1])
    table = pq.read_table(write(root / "test.parquet", [0, 1]))
    pq.write_table(table.drop(["image"]), root / "test.parquet")


def no_subject_in_one_file(root):
    write(root / "train-0.parquet", [0, 1], subject=[1, 2])
    write(root / "train-1.parquet", [0, 1])
    write(root / "test-0.parquet", [0, 1])


WRONG = {
    "a test set without labels": (no_label_to_test_by, {}, r"test.parquet': .*no column 'label'"),
    "a test set without images": (no_image_to_test_by, {}, r"test.parquet': .*no column 'image'"),
    "a train file that lacks a column": (
        no_subject_in_one_file,
        {},
        r"data.path: .*train-1.parquet': .*no column 'subject'",
    ),
    "nothing there": (lambda root: None, {}, "data.path: no .parquet file at"),
    "an empty folder": (lambda root: root.mkdir(), {}, "data.path: no .parquet file at"),
    "no train set": (
        of_test_alone,
        {},
        "data.test_share: None: 0 files are called train-... and 1 ",
    ),
    "a column that is not there": (
        of_test_alone,
        {"test_share": 0.2, "test_by": "subject"},
        "data.test_by: no column 'subject'",
    ),
    "a share too many": (
        write_hub,
        {"test_share": 0.2},
        "data.test_share: 0.2: 2 files are called train",
    ),
    "another image column": (write_hub, {"image": "img"}, "data.image: no column 'img'"),
    "another label column": (
        write_hub,
        {"label": "lable"},
        r"data.label: no column 'lable'; .* did you mean label\?",
    ),
    "two labels": (two_labels, {}, "data.label: columns that may be meant: label, coarse"),
    "no label": (no_label, {}, "data.label: columns that may be meant: none"),
    "one class": (one_class, {}, "data.label: 1 classes"),
    "a label below 0": (
        lambda root: both(root, [1, -3, 0]),
        {},
        r"column 'label': row 1: -3; expected text everywhere, or whole numbers from 0 to 1",
    ),
    "labels from 1 on": (
        lambda root: both(root, [1, 2]),
        {},
        "3 classes, without train examples: class_0",
    ),
    "a number without a label": (lambda root: both(root, [0, 1, None]), {}, "row 2 has no label"),
    "a text without a label": (lambda root: both(root, ["a", None, "b"]), {}, "row 1 has no label"),
    "no labels to test by": (unlabelled, {}, "row 2: -1; expected"),
    "a damaged file": (damaged, {}, "data.path: cannot read .*train-00000"),
    "a broken image": (
        broken_image,
        {},
        r"1 of 5 images cannot be read: 'row 1' \(ValueError: no image that",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_errors_are_one_line(tmp_path, case):
    write_case, more, said = WRONG[case]
    write_case(tmp_path / "own")
    with pytest.raises(ValueError, match=said) as error:
        load(tmp_path / "own", **more)
    assert "\n" not in str(error.value)


def test_broken_images_are_left_out_where_that_is_asked_for(tmp_path):
    broken_image(tmp_path)
    data = load(tmp_path, broken="skip")
    assert data.labels.train.tolist() == [0, 1]
    assert data.labels.columns[FILE].tolist() == ["train-0.png", "train-2.png"]


def test_pyarrow_is_imported_where_it_is_used_alone():
    code = "import sys; from collateral.data import parquet; print('pyarrow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_without_pyarrow_the_line_says_what_to_install(tmp_path, monkeypatch):
    write_hub(tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ValueError, match=r"parquet needs pyarrow; install it: .*\[parquet\]"):
        load(tmp_path)
