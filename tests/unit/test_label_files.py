"""Label files of a folder: Tiny-ImageNet, faces in flat folders, a flat validation set."""

import numpy as np
import pytest
from image_files import write_folder, write_image

from collateral.contract.conventions import FILE
from collateral.data import folder
from collateral.data._metadata import find_class_names, find_problem, find_size, hash_user_files
from collateral.data.folder import index_folder

WNIDS = ("n01443537", "n02099601", "n04146614")


@pytest.fixture(autouse=True)
def _listed_anew():
    index_folder.cache_clear()


def options(path, **more):
    return folder.Options(path=path, **{"size": 8, **more})


def write_tiny(root):
    """Write images in the layout of tiny-imagenet-200.zip; validation images are not in order."""
    for place, wnid in enumerate(WNIDS):
        for k in range(4):
            write_image(root / f"train/{wnid}/images/{wnid}_{k}.JPEG", 10 * place + k)
        boxes = "".join(f"{wnid}_{k}.JPEG\t0\t10\t20\t30\n" for k in range(4))
        (root / f"train/{wnid}/{wnid}_boxes.txt").write_text(boxes)
    rows = []
    for k in range(6):
        write_image(root / f"val/images/val_{k}.JPEG", 100 + k)
        rows.append(f"val_{k}.JPEG\t{WNIDS[(2 * k + 1) % 3]}\t0\t32\t44\t62\n")
    (root / "val/val_annotations.txt").write_text("".join(rows))
    for k in range(3):
        write_image(root / f"test/images/test_{k}.JPEG", 200 + k)
    (root / "wnids.txt").write_text("\n".join(reversed(WNIDS)))
    (root / "words.txt").write_text("n01443537\tgoldfish, Carassius auratus\n")
    return root


def test_tiny_imagenets_zip_is_read_as_it_is(tmp_path, capsys):
    root = write_tiny(tmp_path / "tiny-imagenet-200")
    given = options(root, test_labels=root / "val/val_annotations.txt")
    data = folder.load(given)
    assert data.labels.class_names == WNIDS == find_class_names("folder", given)
    assert data.labels.train.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert data.labels.test_columns[FILE].tolist() == [f"val/images/val_{k}.JPEG" for k in range(6)]
    assert data.labels.test.tolist() == [(2 * k + 1) % 3 for k in range(6)]
    assert {*data.labels.test_columns} == {FILE}, "the boxes have no names, so they are no columns"
    said = capsys.readouterr().out
    assert "left out 8 files" in said  # three boxes, three test images, wnids and words
    assert "val_annotations" not in said
    assert find_size("folder", given).test == (2, 2, 2)


def test_tiny_imagenet_without_its_labels_is_refused(tmp_path):
    problem = find_problem("folder", options(write_tiny(tmp_path)))
    assert "in the test set: no class 'images'" in problem
    assert "test_labels" in problem


def write_faces(root):
    """Write faces as MUFAC has them: flat folders, and a table for each."""
    for part, count in (("train", 6), ("val", 3), ("test", 4)):
        rows = ["image_path,age_class,person"]
        for k in range(count):
            # Names are not those of one part alone, as in a flat folder per part.
            write_image(root / f"{part}_images/F{k:04d}.jpg", 10 * len(part) + k)
            rows.append(f"F{k:04d}.jpg,{'hgb'[k % 3]},P{k // 2}")
        (root / f"custom_{part}_dataset.csv").write_text("\n".join(rows))
    return root


FACES = {"file_column": "image_path", "label_column": "age_class"}


def faces(root, **more):
    tables = {
        "labels": root / "custom_train_dataset.csv",
        "test_labels": root / "custom_test_dataset.csv",
    }
    return options(root, **FACES, **tables, **more)


def test_folders_of_parts_beside_tables_are_no_classes(tmp_path):
    problem = find_problem("folder", options(write_faces(tmp_path), test_share=0.2))
    assert problem.startswith("data.path: ")
    assert "test_images, train_images, val_images" in problem
    assert "`labels` and `test_labels`" in problem


def test_folders_that_only_sound_like_parts_stay_classes(tmp_path):
    write_folder(tmp_path, ("airport", "train_station"), tops=("",), each=(5,))
    (tmp_path / "notes.csv").write_text("a,b\n")
    assert find_problem("folder", options(tmp_path, test_share=0.2)) is None


def test_flat_folders_of_faces_are_read_by_their_tables(tmp_path):
    """The same names are in all three folders; each table's are in the folder of its part."""
    data = folder.load(faces(write_faces(tmp_path)))
    assert data.labels.class_names == ("b", "g", "h")
    assert data.labels.train.tolist() == [2, 1, 0, 2, 1, 0]
    assert data.labels.test.tolist() == [2, 1, 0, 2]
    assert data.labels.columns["person"].tolist() == ["P0", "P0", "P1", "P1", "P2", "P2"]
    assert data.labels.columns[FILE][0] == "train_images/F0000.jpg"
    assert data.labels.test_columns[FILE][0] == "test_images/F0000.jpg"


def test_a_table_whose_files_are_in_several_folders_is_refused(tmp_path):
    root = write_faces(tmp_path)
    for part in ("train", "val", "test"):
        (root / f"{part}_images").rename(root / f"of_{part}")
    problem = find_problem("folder", faces(root, broken="skip"))
    assert problem.startswith("data.test_labels: ")
    assert "have all its files: of_test/, of_train/; expected one" in problem


def write_flat(root, text, count=6, name="labels.csv"):
    for k in range(count):
        write_image(root / f"ILSVRC2012_val_{k:08d}.JPEG", k)
    (root / name).write_text(text)
    return root / name


@pytest.mark.parametrize("separator", [",", "\t", ";", " "])
def test_a_flat_validation_set_without_header_is_read(tmp_path, separator):
    rows = [f"ILSVRC2012_val_{k:08d}.JPEG{separator}{(10, 9)[k % 2]}" for k in range(6)]
    table = write_flat(tmp_path, "\n".join(rows))
    data = folder.load(options(tmp_path, labels=table, test_share=0.34))
    assert data.labels.class_names == ("9", "10")  # numbers in their order
    assert np.bincount(data.labels.train).tolist() == [2, 2]
    assert np.bincount(data.labels.test).tolist() == [1, 1]


def part_table(parts):
    rows = [
        f"ILSVRC2012_val_{k:08d}.JPEG,{'ab'[k % 2]},{part},s{k}" for k, part in enumerate(parts)
    ]
    return "\n".join(["file,label,part,site", *rows])


def test_a_column_of_parts_divides_the_images(tmp_path):
    table = write_flat(tmp_path, part_table(["train", "train", "val", "test", "train", "val"]))
    data = folder.load(options(tmp_path, labels=table))
    assert data.labels.columns["site"].tolist() == ["s0", "s1", "s4"]
    assert data.labels.test_columns["site"].tolist() == ["s3"]
    assert {*data.labels.columns} == {FILE, "site"}


def test_a_column_part_of_something_else_is_metadata(tmp_path):
    table = write_flat(tmp_path, part_table(["arm", "leg"] * 3))
    labels = folder.load(options(tmp_path, labels=table, test_share=0.34)).labels
    assert {*labels.columns["part"]} == {"arm", "leg"}


def test_images_without_a_row_are_left_out_and_said(tmp_path, capsys):
    table = write_flat(tmp_path, part_table(["train", "train", "test", "test"]))
    assert len(folder.load(options(tmp_path, labels=table)).train_images) == 2
    assert "left out 2 files and folders: ILSVRC2012_val_00000004.JPEG" in capsys.readouterr().out


GOOD = part_table(["train", "train", "test", "test", "train", "test"])
WRONG = {
    "a file that is not there": (
        GOOD.replace("_00000004", "_00000007"),
        r"data\.labels: .*1 of 6 files are not below `path`: line 6: 'ILSVRC2012_val_00000007",
    ),
    "no label": (GOOD.replace(",a,", ",,"), r"data\.labels: .*line 2: no value in column 'label'"),
    "twice": (
        GOOD.replace("_00000004", "_00000002"),
        r"data\.labels: .*in more than one row.*_00000002",
    ),
    "another column": (
        GOOD.replace("file,label", "image,label"),
        r"data\.labels: .*no column 'file'; known: image, label, part, site; name it by `file_col",
    ),
    "a short row": (
        GOOD.replace(",s3", ""),
        r"data\.labels: .*line 5: 3 values for 4 columns",
    ),
    "no part": (
        GOOD.replace(",train,", ",x,"),
        r"data\.labels: .*expected exactly one of `test_labels`, `test_share`",
    ),
    "one class": (GOOD.replace(",b,", ",a,"), r"data\.labels: 1 classes"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_with_a_label_file_is_named(tmp_path, text, message):
    table = write_flat(tmp_path, text)
    with pytest.raises(ValueError, match=message) as caught:
        index_folder(options(tmp_path, labels=table))
    assert "\n" not in str(caught.value)


def test_a_label_that_the_train_set_lacks_is_named(tmp_path):
    root = write_tiny(tmp_path)
    table = root / "val/val_annotations.txt"
    table.write_text(table.read_text().replace(WNIDS[1], "n09999999", 1))
    problem = find_problem("folder", options(root, test_labels=table))
    assert problem.startswith("data.test_labels: in the test set: no class 'n09999999'")


def test_a_missing_label_file_is_named(tmp_path):
    write_flat(tmp_path, GOOD)
    problem = find_problem("folder", options(tmp_path, labels=tmp_path / "none.csv"))
    assert problem.startswith(f"data.labels: '{tmp_path / 'none.csv'}': ")


def test_names_of_columns_need_a_label_file(tmp_path):
    with pytest.raises(ValueError, match="`file_column` goes with `labels` or `test_labels`"):
        options(tmp_path, file_column="image")


def test_another_label_of_one_image_makes_the_data_again(tmp_path):
    table = write_flat(tmp_path, GOOD)
    given = options(tmp_path, labels=table)
    before = hash_user_files("folder", given)
    table.write_text(GOOD.replace("_00000004.JPEG,a", "_00000004.JPEG,b"))
    index_folder.cache_clear()
    assert hash_user_files("folder", given) != before
