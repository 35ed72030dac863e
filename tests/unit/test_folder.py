"""A folder of images: what is found, in which order, how it is decoded, what is refused."""

import os
import re

import numpy as np
import pytest
from image_files import HOSTILE, picture, write_folder, write_image
from PIL import Image

from collateral.contract.conventions import FILE
from collateral.data import folder
from collateral.data._metadata import find_class_names, find_input_files, find_size, hash_user_files
from collateral.data._readers.file_list import SUFFIXES, SUFFIXES_OF
from collateral.data._subset import take_subset
from collateral.data.folder import index_folder
from collateral.results.dataset import Labels


@pytest.fixture(autouse=True)
def _listed_anew():
    index_folder.cache_clear()


def options(path, **more):
    return folder.Options(path=path, **{"size": 8, **more})


def load(path, **more):
    return folder.load(options(path, **more))


def relist():
    index_folder.cache_clear()


def test_train_and_test_are_in_the_order_of_their_paths(tmp_path):
    data = load(write_folder(tmp_path, ("b", "a c", "a"), each=(2, 1)))
    assert data.labels.class_names == ("a", "a c", "b")
    paths = data.labels.columns[FILE].tolist()
    assert paths == sorted(paths)
    assert [data.labels.class_names[label] for label in data.labels.train] == [
        path.split("/")[1] for path in paths
    ]
    assert data.labels.test_columns[FILE].tolist() == [
        "test/a c/0.png",
        "test/a/0.png",
        "test/b/0.png",
    ]
    assert data.train_images.shape == (6, 8, 8, 3)


def test_a_folder_val_is_a_test_set_too(tmp_path):
    data = load(write_folder(tmp_path, tops=("train", "val"), each=(2, 3)))
    assert data.labels.test.tolist() == [0, 0, 0, 1, 1, 1]


def test_files_in_folders_of_a_class_are_of_that_class(tmp_path):
    write_folder(tmp_path)
    write_image(tmp_path / "train/cat/more/deep/9.png")
    assert "train/cat/more/deep/9.png" in load(tmp_path).labels.columns[FILE]


def test_a_single_folder_is_split_into_train_and_test_by_class_and_reproducibly(tmp_path):
    write_folder(tmp_path, tops=("",), each=(10,))
    data = load(tmp_path, test_share=0.3)
    assert np.bincount(data.labels.train).tolist() == [7, 7]
    assert np.bincount(data.labels.test).tolist() == [3, 3]
    files = [*data.labels.columns[FILE], *data.labels.test_columns[FILE]]
    assert len({*files}) == 20
    again, other = load(tmp_path, test_share=0.3), load(tmp_path, test_share=0.3, test_seed=1)
    assert again.labels.test_columns[FILE].tolist() == data.labels.test_columns[FILE].tolist()
    assert other.labels.test_columns[FILE].tolist() != data.labels.test_columns[FILE].tolist()


@pytest.mark.parametrize(
    "tops", [("Train", "Test"), ("TRAIN", "VAL"), ("train", "Test"), ("test",), ("cat", "val")]
)
@pytest.mark.parametrize("share", [None, 0.2])
def test_parts_in_other_letters_or_without_train_are_no_classes(tmp_path, tops, share):
    write_folder(tmp_path, tops=tops, each=(2,) * len(tops))
    with pytest.raises(ValueError, match=r"no names of classes: .*; rename to train/, test/$"):
        load(tmp_path, test_share=share)


def test_a_class_in_train_may_be_called_train(tmp_path):
    data = load(write_folder(tmp_path, ("Test", "train")))
    assert data.labels.class_names == ("Test", "train")


def test_valid_and_invalid_are_classes(tmp_path):
    data = load(write_folder(tmp_path, ("invalid", "valid"), tops=("",), each=(4,)), test_share=0.5)
    assert data.labels.class_names == ("invalid", "valid")


@pytest.mark.parametrize("name", HOSTILE)
def test_names_with_spaces_unicode_and_tags_are_names(tmp_path, name):
    write_folder(tmp_path, ("cat", name))
    write_image(tmp_path / "train" / name / f"{name}.png")
    data = load(tmp_path)
    assert data.labels.class_names == tuple(sorted(["cat", name]))
    assert f"train/{name}/{name}.png" in data.labels.columns[FILE]
    data.labels.save(tmp_path / "labels.npz")
    kept = Labels.load(tmp_path / "labels.npz")
    assert kept.columns[FILE].tolist() == data.labels.columns[FILE].tolist()
    assert kept.test_columns[FILE].tolist() == data.labels.test_columns[FILE].tolist()


def test_what_is_hidden_or_no_image_of_a_class_is_left_out_and_said(tmp_path, capsys):
    write_folder(tmp_path, tops=("train", "test", "val"), each=(4, 2, 2))
    for name in ("train/cat/.DS_Store", "train/cat/notes.txt", "train/stray.png"):
        (tmp_path / name).write_text("x")
    write_image(tmp_path / "train/.owl/0.png")
    write_image(tmp_path / "test/dog/.1.png")
    data = load(tmp_path)
    assert data.labels.class_names == ("cat", "dog")
    assert (len(data.train_images), len(data.test_images)) == (8, 4)
    assert capsys.readouterr().out == (
        "left out 6 files and folders: train/.owl/, train/cat/.DS_Store, train/cat/notes.txt, "
        "train/stray.png, test/dog/.1.png, val/\n"
    )


def test_a_suffix_counts_if_pillow_reads_its_format():
    Image.init()
    known: dict[str, set[str]] = {}
    for suffix, name in Image.registered_extensions().items():
        known.setdefault(name, set()).add(suffix)
    known["JPEG"] |= {".mpo"}  # Pillow takes them for JPEG until it has looked inside
    assert {name: {*suffixes} for name, suffixes in SUFFIXES_OF.items()} == {
        name: known[name] for name in SUFFIXES_OF
    }
    assert {*SUFFIXES_OF} <= {*Image.OPEN}
    assert "" in SUFFIXES


def test_no_format_starts_a_program():
    assert "EPS" not in SUFFIXES_OF


# Decoding.


def test_an_image_of_the_right_size_is_kept_bit_by_bit(tmp_path):
    write_folder(tmp_path, height=8, width=8)
    assert (load(tmp_path).train_images[0] == picture(1, 8, 8)).all()


@pytest.mark.parametrize("shape", [(20, 31), (31, 20), (5, 9), (8, 11)])
def test_the_short_side_is_scaled_and_the_centre_cut_out(tmp_path, shape):
    transforms = pytest.importorskip("torchvision").transforms
    height, width = shape
    write_folder(tmp_path, height=height, width=width)
    whole = Image.fromarray(picture(1, height, width))
    expected = transforms.Compose([transforms.Resize(8), transforms.CenterCrop(8)])(whole)
    assert (load(tmp_path).train_images[0] == np.asarray(expected)).all()


def test_grey_files_make_grey_images(tmp_path):
    write_folder(tmp_path, height=8, width=8, channels=1)
    data = load(tmp_path)
    assert data.train_images.shape[3] == 1
    assert (data.train_images[0, :, :, 0] == picture(1, 8, 8, 1)).all()
    assert find_size("folder", options(tmp_path)).shape == (8, 8, 1)
    assert data.train_images.flags.c_contiguous
    assert len(data.mean) == 1


def test_one_colour_file_makes_all_images_coloured_and_that_is_said(tmp_path, capsys):
    write_folder(tmp_path, height=8, width=8, channels=1)
    write_image(tmp_path / "test/dog/colour.png")
    data = load(tmp_path)
    assert data.train_images.shape[3] == 3
    assert (data.train_images[0] == picture(1, 8, 8, 1)[..., None]).all()
    assert "converted to RGB: 12 L" in capsys.readouterr().out


@pytest.mark.parametrize("mode", ["RGBA", "CMYK", "P", "LA", "1", "YCbCr"])
def test_other_colour_modes_are_converted_with_a_message(tmp_path, mode, capsys):
    write_folder(tmp_path)
    suffix = "jpg" if mode in ("CMYK", "YCbCr") else "png"
    shown = Image.fromarray(picture(5)).convert(mode)
    shown.save(tmp_path / f"train/cat/a.{suffix}")
    expected = "RGB" if mode == "YCbCr" else mode  # JPEG is that inside
    data = load(tmp_path, size=10)
    assert data.train_images.shape == (9, 10, 10, 3)
    said = capsys.readouterr().out
    assert (f"converted to RGB: 1 {expected}\n" in said) == (expected != "RGB")


def write_deep(root, step):
    """Write images of 16 bits, a ramp in such steps; return it."""
    values = np.arange(64, dtype=np.uint16).reshape(8, 8) * step
    for top in ("train", "test"):
        for name in ("cat", "dog"):
            (root / top / name).mkdir(parents=True)
            Image.fromarray(values).save(root / top / name / "deep.png")
    return values


def test_sixteen_bits_become_eight_and_not_white(tmp_path, capsys):
    values = write_deep(tmp_path, 1024)
    assert (load(tmp_path).train_images[0, :, :, 0] == values // 256).all()
    assert "dark" not in capsys.readouterr().out


def test_twelve_bits_in_sixteen_are_refused(tmp_path):
    write_deep(tmp_path, 64)  # up to 4032
    said = (
        r"4 images of 16 bits have no pixel above 4032 of 65,535 \(that one in 'train/cat/deep.png"
    )
    with pytest.raises(ValueError, match=rf"data.path: {said}.*multiply them up to 16, or save 8"):
        load(tmp_path)


def test_a_brighter_image_of_sixteen_bits_shows_that_they_are_not_twelve(tmp_path):
    values = write_deep(tmp_path, 64)
    Image.fromarray(values + np.uint16(64)).save(tmp_path / "test/dog/deep.png")  # up to 4096
    assert load(tmp_path).test_images.max() == 16


@pytest.mark.parametrize("values", [np.int32(70_000), np.int32(200), np.float32(0.5)])
def test_images_whose_range_nobody_knows_are_named(tmp_path, values):
    write_folder(tmp_path)
    Image.fromarray(np.full((9, 8), values)).save(tmp_path / "train/cat/wide.tif")
    said = "1 of 13 images cannot be read: 'train/cat/wide.tif' .*whose range nobody knows; save 8 "
    with pytest.raises(ValueError, match=said):
        load(tmp_path)


def test_a_pgm_of_sixteen_bits_is_read_as_a_png_is(tmp_path):
    values = write_deep(tmp_path, 1024)
    (tmp_path / "train/cat/deep.png").unlink()
    header = b"P5 8 8 65535 "
    (tmp_path / "train/cat/deep.pgm").write_bytes(header + values.astype(">u2").tobytes())
    assert (load(tmp_path).train_images[0, :, :, 0] == values // 256).all()


@pytest.mark.parametrize("suffix", ["png", "jpg", "gif", "bmp", "tif", "webp", "ppm"])
def test_formats_are_many(tmp_path, suffix):
    write_folder(tmp_path)
    write_image(tmp_path / f"train/cat/one.{suffix}")
    assert len(load(tmp_path).train_images) == 9


def write_broken(root):
    write_folder(root, height=40, width=40)
    (root / "train/cat/no image.jpg").write_bytes(b"nothing")
    whole = (root / "test/dog/1.png").read_bytes()
    (root / "test/dog/1.png").write_bytes(whole[: len(whole) // 2])
    return root


def test_broken_files_are_named_in_one_line(tmp_path):
    with pytest.raises(ValueError, match="2 of 13 images cannot be read") as error:
        load(write_broken(tmp_path))
    said = str(error.value)
    assert said.startswith("data.path: ")
    assert "'train/cat/no image.jpg'" in said
    assert "'test/dog/1.png'" in said
    assert said.endswith("or give `broken: skip`")
    assert " at 0x" not in said
    assert "\n" not in said


def write_huge(path):
    """Write a picture of 182 megapixels, black, in few bytes."""
    Image.new("1", (14_000, 13_000)).save(path)
    return path


def test_a_picture_above_what_pillow_reads_is_named_with_a_remedy(tmp_path):
    write_folder(tmp_path)
    write_huge(tmp_path / "train/cat/huge.png")
    given = options(tmp_path)
    assert find_size("folder", given).num_train == 9  # the plan looks at it as well
    with pytest.raises(ValueError, match="1 of 13 images cannot be read: ") as error:
        load(tmp_path)
    assert "above 178 megapixels, Pillow's limit; make it smaller" in str(error.value)
    assert len(load(tmp_path, broken="skip").train_images) == 8


def test_broken_files_are_left_out_where_that_is_asked_for(tmp_path, capsys):
    data = load(write_broken(tmp_path), broken="skip")
    assert len(data.train_images) == len(data.labels.train) == 8
    assert data.labels.test_columns[FILE].tolist() == [
        "test/cat/0.png", "test/cat/1.png", "test/dog/0.png"
    ]  # fmt: skip
    assert "left out: 2 of 13 images" in capsys.readouterr().out


def test_a_class_of_broken_files_alone_is_refused_all_the_same(tmp_path):
    write_folder(tmp_path)
    for path in (tmp_path / "train/cat").iterdir():
        path.write_bytes(b"")
    with pytest.raises(
        ValueError, match=r"data\.broken: skip: 2 classes, without train examples: cat"
    ):
        load(tmp_path, broken="skip")


# What is refused, before an image is opened.


def empty_class(root):
    write_folder(root)
    (root / "train/owl").mkdir()


def strange_test_class(root):
    write_folder(root)
    write_image(root / "test/dgo/0.png")


def empty_test(root):
    write_folder(root, each=(2, 0))
    (root / "test").mkdir()


NO_TEST_SET = "test set: none; expected exactly one of .*`test_share`"
WRONG = {
    "nothing there": (lambda root: None, {}, "there is no folder"),
    "one class": (
        lambda root: write_folder(root, ("cat",)),
        {},
        "1 classes, without train examples: none; 2 test examples; expected at least two",
    ),
    "no class": (lambda root: write_image(root / "1.png"), {"test_share": 0.2}, "0 classes, "),
    "an empty class": (empty_class, {}, "3 classes, without train examples: owl; 4 test"),
    "no test set": (
        lambda root: write_folder(root, tops=("train",), each=(2,)),
        {},
        NO_TEST_SET,
    ),
    "no share": (lambda root: write_folder(root, tops=("",), each=(2,)), {}, NO_TEST_SET),
    "an empty test set": (empty_test, {}, "; 0 test examples; expected"),
    "a class to test alone": (
        strange_test_class,
        {},
        r"in the test set: no class 'dgo'; known: cat, dog; did you mean dog\?",
    ),
    "both": (write_folder, {"test_share": 0.2}, "data.test_share: .*test set: test/, test_share;"),
    "one image": (
        lambda root: write_folder(root, tops=("",), each=(1,)),
        {"test_share": 0.2},
        "data.test_share: no test example of class 'cat': it has one image",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_errors_are_one_line_before_any_image_is_read(tmp_path, case):
    write, more, said = WRONG[case]
    write(tmp_path / "images")
    line = folder.problem(options(tmp_path / "images", **more))
    assert line.startswith("data.")
    assert re.search(said, line)
    assert "\n" not in line
    with pytest.raises(ValueError, match=said):
        load(tmp_path / "images", **more)


def test_a_list_that_leaves_nothing_to_test_on_is_told_a_way_out(tmp_path):
    root = write_folder(tmp_path / "images", tops=("",), each=(4,))
    gone = tmp_path / "gone.txt"
    gone.write_text("".join(f"cat/{number}.png\n" for number in range(4)))
    line = folder.problem(options(root, test_share=0.5, train_list=gone))
    assert line.startswith("data.train_list: leaves 0 images of class 'cat' to test on, ")
    assert line.endswith("where `test_share` asks for 2; give a test set")


def test_images_that_stay_must_leave_as_many_as_the_share_asks_for(tmp_path):
    root = write_folder(tmp_path / "pictures", tops=("",), each=(10,))
    gone = tmp_path / "gone.txt"
    gone.write_text("".join(f"cat/{number}.png\n" for number in range(9)))
    line = folder.problem(options(root, test_share=0.6, train_list=gone))
    assert "leaves 1 images of class 'cat' to test on, where `test_share` asks for 6" in line


@pytest.mark.skipif(os.name != "posix", reason="names are bytes on POSIX alone")
def test_a_name_that_is_no_text_is_refused(tmp_path):
    write_folder(tmp_path)
    name = os.fsencode(tmp_path) + b"/train/cat/\xff.png"
    try:
        os.link(tmp_path / "train/cat/0.png", name)
    except OSError:
        pytest.skip("this file system has text for names")
    assert "is no UTF-8; rename it" in folder.problem(options(tmp_path))


def test_a_class_folder_that_links_to_a_folder_above_is_left_out(tmp_path):
    """As a class, it would have all images of all classes again."""
    write_folder(tmp_path)
    elsewhere = write_folder(tmp_path / "disk", ("owl",), tops=("",), each=(4,))
    (tmp_path / "train/loop").symlink_to(tmp_path)
    (tmp_path / "train/self").symlink_to(tmp_path / "train")
    for top in ("train", "test"):
        (tmp_path / top / "owl").symlink_to(elsewhere / "owl")
    index = folder.index_folder(options(tmp_path))
    assert index.examples.class_names == ("cat", "dog", "owl")
    assert {"train/loop/", "train/self/"} <= {*index.left_out}


# What the plan asks.


def test_classes_are_known_by_their_folders(tmp_path):
    write_folder(tmp_path, ("dog", "cat"))
    assert find_class_names("folder", options(tmp_path)) == ("cat", "dog")
    assert find_class_names("folder", options(tmp_path / "nowhere")) is None


@pytest.mark.parametrize(
    "more", [{}, {"per_class": 2}, {"classes": ["dog", "cat"], "per_class": 3}]
)
def test_size_and_files_are_known_without_an_image(tmp_path, more):
    write_folder(tmp_path, ("cat", "dog", "owl"))
    given = options(tmp_path, **more)
    size, data = find_size("folder", given), take_subset(folder.load(given), given)
    counts = [np.bincount(labels).tolist() for labels in (data.labels.train, data.labels.test)]
    assert [list(size.train), list(size.test)] == counts
    assert (size.class_names, size.shape) == (data.labels.class_names, data.train_images.shape[1:])
    assert size.columns() == {FILE: data.labels.columns[FILE].tolist()}


def test_a_file_more_another_size_another_name_and_another_time_are_another_state(tmp_path):
    write_folder(tmp_path)
    states = [hash_user_files("folder", options(tmp_path))]
    changes = [
        lambda: write_image(tmp_path / "train/cat/new.png"),
        lambda: write_image(tmp_path / "train/cat/new.png", height=30),
        lambda: (tmp_path / "train/cat/new.png").rename(tmp_path / "train/cat/other.png"),
        lambda: os.utime(tmp_path / "train/cat/other.png", (100, 100)),
    ]
    for change in changes:
        change()
        relist()
        states.append(hash_user_files("folder", options(tmp_path)))
    assert len({*states}) == 5
    relist()
    assert hash_user_files("folder", options(tmp_path)) == states[-1]


def test_no_file_of_a_folder_is_an_input_whose_name_snakemake_would_read(tmp_path):
    write_folder(tmp_path, ("cat", "<script>"))
    assert find_input_files("folder", options(tmp_path)) == []
    assert len(hash_user_files("folder", options(tmp_path))) == 16
    assert hash_user_files("folder", options(tmp_path / "nowhere")) == ""
