"""Data sets that are read and written a piece at a time."""

import re
from pathlib import Path

import numpy as np
import pytest
from image_files import picture, write_folder, write_image
from PIL import Image

from collateral.data import arrays, folder
from collateral.data._readers import decoding, pieces
from collateral.data._readers.pieces import ArrayPieces, DatasetInPieces
from collateral.data._readers.pixels import ChannelSums, statistics
from collateral.data._subset import take_subset
from collateral.data.folder import index_folder
from collateral.metrics.copies import EXACT, find_copies, in_chunks
from collateral.results.arrays import write_in_pieces
from collateral.results.dataset import Dataset, Labels


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch):
    """Make pieces of three images of 8 x 8, so that a few images are several pieces."""
    index_folder.cache_clear()
    monkeypatch.setattr(pieces, "PIECE_BYTES", 3 * 8 * 8 * 3)


def options(path, **more):
    return folder.Options(path=path, **{"size": 8, **more})


def opened(path, **more):
    given = options(path, **more)
    return take_subset(folder.open_pieces(given), given)


def random_data(count=11):
    rng = np.random.default_rng(count)
    train, test = (rng.integers(0, 256, (n, 8, 8, 3), dtype=np.uint8) for n in (count, 4))
    labels = Labels(np.arange(count) % 2, np.arange(4) % 2, ("cat", "dog"))
    return Dataset(train, test, labels, *statistics(train), padding=2, flip=True)


def test_the_file_is_the_same_to_the_byte_as_if_all_were_in_memory(tmp_path):
    data = random_data()
    data.save(tmp_path / "whole.npz")
    DatasetInPieces.wrap(data).save(tmp_path / "pieces.npz")
    assert (tmp_path / "pieces.npz").read_bytes() == (tmp_path / "whole.npz").read_bytes()
    with np.load(tmp_path / "pieces.npz") as found:
        assert (found["train_images"] == data.train_images).all()


def test_a_folder_is_the_same_in_pieces_and_in_memory(tmp_path):
    write_folder(tmp_path / "images", each=(5, 3))
    opened(tmp_path / "images").save(tmp_path / "pieces.npz")
    found, whole = Dataset.load(tmp_path / "pieces.npz"), folder.load(options(tmp_path / "images"))
    assert (found.train_images == whole.train_images).all()
    assert (found.test_images == whole.test_images).all()
    assert (found.mean, found.std) == (whole.mean, whole.std) == statistics(whole.train_images)
    seen = [picture(seed) for seed in range(1, 17)]
    assert len({image.tobytes() for image in found.train_images}) == 10
    first = Image.fromarray(seen[0]).resize((8, 9), Image.Resampling.BILINEAR)
    assert (found.train_images[0] == np.asarray(first)[:8]).all()


def test_pieces_are_no_larger_than_asked_for(tmp_path):
    write_folder(tmp_path, each=(5, 3))
    sizes = [len(piece) for piece in opened(tmp_path).train_images]
    assert sizes == [3, 3, 3, 1]
    sizes = [len(piece) for piece in DatasetInPieces.wrap(random_data()).train_images]
    assert sizes == [3, 3, 3, 2]


def test_only_images_that_are_kept_are_decoded_and_counted(tmp_path, monkeypatch):
    write_folder(tmp_path, ("ant", "bee", "cow"), each=(6, 2))
    decoded = []
    decode = decoding._decode_into

    def spy(pixels, source, size):
        decoded.append(source.parent.name)
        return decode(pixels, source, size)

    monkeypatch.setattr(decoding, "_decode_into", spy)
    data = opened(tmp_path, classes=("cow", "ant"), per_class=4, test_per_class=1).read()
    assert sorted(decoded) == ["ant"] * 5 + ["cow"] * 5
    assert data.labels.train.tolist() == [1] * 4 + [0] * 4
    assert (data.mean, data.std) == statistics(data.train_images)
    whole = folder.load(options(tmp_path))
    assert (data.train_images[:4] == whole.train_images[:4]).all()
    assert (data.train_images[4:] == whole.train_images[12:16]).all()


def test_a_drawn_test_set_is_told_apart_in_every_piece(tmp_path):
    write_folder(tmp_path, tops=("",), each=(9,))
    data = opened(tmp_path, test_share=0.4).read()
    by_file = {}
    for part, images in (("columns", data.train_images), ("test_columns", data.test_images)):
        files = getattr(data.labels, part)["file"].tolist()
        by_file |= dict(zip(files, images, strict=True))
    assert len(by_file) == 18
    for name, image in by_file.items():
        alone = Image.open(tmp_path / name).resize((8, 9), Image.Resampling.BILINEAR)
        assert (image == np.asarray(alone)[:8]).all()


def test_a_broken_image_leaves_no_file(tmp_path):
    write_folder(tmp_path / "images", each=(7, 2), height=40, width=40)
    broken = tmp_path / "images/train/dog/3.png"
    broken.write_bytes(broken.read_bytes()[:-300])
    data = opened(tmp_path / "images")  # its header is whole
    with pytest.raises(ValueError, match=r"1 of 18 images cannot be read: 'train/dog/3\.png'"):
        data.save(tmp_path / "out/dataset.npz")
    assert not list((tmp_path / "out").iterdir())
    assert len(opened(tmp_path / "images", broken="skip").read().train_images) == 13


def write_npz(folder, save=np.savez, train=None, count=11, tests=4):
    """Write arrays of a user's own; return the images, as they are in the file."""
    rng = np.random.default_rng(count)
    stored = rng.integers(0, 256, (count, 8, 8, 3), dtype=np.uint8)
    test = rng.integers(0, 256, (tests, 8, 8, 3), dtype=np.uint8)
    stored = stored if train is None else train(stored)
    labels = {"train_labels": np.arange(count) * 3 % 4 // 2, "test_labels": np.arange(tests) % 2}
    folder.mkdir(exist_ok=True)
    save(folder / "own.npz", train_images=stored, test_images=test, **labels)
    return stored, test


def opened_npz(folder, **more):
    given = arrays.Options(path=folder / "own.npz", **more)
    return take_subset(arrays.open_pieces(given), given)


STORED = {
    "plain": (np.savez, None),
    "compressed": (np.savez_compressed, None),
    "columns first": (np.savez, np.asfortranarray),
    "floats": (np.savez, lambda images: (images / 255).astype(np.float16)),
    "big-endian": (np.savez_compressed, lambda images: (images / 255).astype(">f4")),
    "grey": (np.savez, lambda images: np.ascontiguousarray(images[..., 0])),
}


@pytest.mark.parametrize("case", STORED)
def test_arrays_are_the_same_in_pieces_and_in_memory(tmp_path, case):
    save, change = STORED[case]
    stored, test = write_npz(tmp_path, save, change)
    if case == "grey":
        content = dict(np.load(tmp_path / "own.npz"))
        np.savez(tmp_path / "own.npz", **{**content, "test_images": test[..., :1]})
        test = test[..., :1]
    opened_npz(tmp_path).save(tmp_path / "dataset.npz")
    found = Dataset.load(tmp_path / "dataset.npz")
    is_whole = stored.dtype == np.uint8
    expected = stored if is_whole else np.rint(stored.astype(np.float32) * 255).astype(np.uint8)
    expected = expected.reshape(*expected.shape[:3], -1)
    assert (found.train_images == expected).all() and len(expected) == 11
    assert (found.test_images == test).all()
    assert (found.mean, found.std) == statistics(expected)
    assert found.labels.train.tolist() == [0, 1, 1, 0] * 2 + [0, 1, 1]


def test_arrays_that_are_left_out_are_in_the_mean_but_not_in_the_file(tmp_path):
    stored, test = write_npz(tmp_path)
    data = opened_npz(tmp_path, classes=("class_1", "class_0"), per_class=3, test_per_class=1)
    found = data.read()
    assert (found.train_images == stored[[0, 1, 2, 3, 4, 5]]).all()
    assert found.labels.train.tolist() == [1, 0, 0, 1, 1, 0]
    assert (found.test_images == test[:2]).all()
    assert (found.mean, found.std) == statistics(stored) != statistics(found.train_images)
    alone = opened_npz(tmp_path, classes=("class_1", "class_0"), per_class=2, test_per_class=1)
    assert (alone.train_images.read() == stored[[0, 1, 2, 3]]).all()


def test_damage_to_test_images_is_found_when_they_are_written(tmp_path):
    _, test = write_npz(tmp_path, tests=60)
    content = (tmp_path / "own.npz").read_bytes()
    place = content.index(test[59].tobytes()) + 100
    damaged = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
    (tmp_path / "own.npz").write_bytes(damaged)
    data = opened_npz(tmp_path)  # only the first test images are read
    with pytest.raises(ValueError, match=r"data\.path: cannot read .*own\.npz"):
        data.save(tmp_path / "out/dataset.npz")
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_no_more_than_a_few_pieces_of_an_array_are_in_memory(tmp_path, monkeypatch, save):
    """Of 400 images of 256 x 256 (79 MB), less than a third."""
    monkeypatch.setattr(pieces, "PIECE_BYTES", 2**21)
    images = np.zeros((400, 256, 256, 3), np.uint8)
    images[7, 3], images[399, 200:] = 250, 9
    labels = np.arange(400) % 2
    save(
        tmp_path / "own.npz",
        **{"train_images": images, "train_labels": labels},
        **{"test_images": images[:10], "test_labels": labels[:10]},
    )
    expected = statistics(images)
    del images
    before, most = own_megabytes(), []
    data = opened_npz(tmp_path)
    for piece in data.train_images:
        most.append(own_megabytes())
        assert len(piece) == 10
    data.save(tmp_path / "dataset.npz")
    assert max(*most, own_megabytes()) - before < 25
    found = Dataset.load(tmp_path / "dataset.npz")
    assert (found.mean, found.std) == expected
    assert found.train_images[399, 200:].min() == found.train_images[399, 200:].max() == 9


def test_pieces_that_are_not_the_whole_array_are_an_error(tmp_path):
    class Short(ArrayPieces):
        shape = (9, 8, 8, 3)

    images = random_data().train_images
    with pytest.raises(AssertionError, match="11 rows in the pieces of 9"):
        write_in_pieces(tmp_path / "a.npz", [("images", Short(images, np.arange(11)))])
    assert not list(tmp_path.iterdir())


def test_sums_are_the_same_however_images_are_divided():
    images = random_data(40).train_images
    sums = ChannelSums()
    for part in np.split(images, [1, 7, 30]):
        sums.add(part)
    assert sums.statistics() == statistics(images)
    values = images.reshape(-1, 3) / 255
    assert np.allclose(sums.statistics(), [values.mean(axis=0), values.std(axis=0)])


def own_megabytes():
    status = Path("/proc/self/status")
    if not status.exists():
        pytest.skip("needs /proc to ask what memory is this process's own")
    return int(re.search(r"RssAnon:\s+(\d+)", status.read_text())[1]) / 1024


def test_no_more_than_a_few_pieces_are_in_memory(tmp_path, monkeypatch):
    """Of 800 images of 256 x 256 (157 MB), less than a third."""
    monkeypatch.setattr(pieces, "PIECE_BYTES", 2**22)
    write_folder(tmp_path / "images", each=(2, 1), height=16, width=16)
    for top, count in (("train", 700), ("test", 94)):
        for k in range(count):
            link = tmp_path / f"images/{top}/cat/{k + 10}.png"
            link.hardlink_to(tmp_path / f"images/{top}/dog/0.png")
    data = opened(tmp_path / "images", size=256)
    before, most = own_megabytes(), []
    for piece in data.train_images:
        most.append(own_megabytes())
        assert len(piece) <= 21
    data.save(tmp_path / "dataset.npz")
    most.append(own_megabytes())
    assert (tmp_path / "dataset.npz").stat().st_size > 155e6
    assert max(most) - before < 50


def test_copies_are_found_in_chunks_as_in_one(monkeypatch):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (30, 32, 32, 3), dtype=np.uint8)
    images[17], images[23], images[29] = images[2], images[2], images[5]
    images[8] = np.clip(images[9].astype(int) + 1, 0, 255)
    forget, retain = np.array([2, 5, 8]), np.setdiff1d(np.arange(30), [2, 5, 8])
    whole = find_copies(images, forget, retain)
    monkeypatch.setattr("collateral.metrics.copies.CHUNK_BYTES", 4 * 32 * 32 * 3)
    assert [len(part) for part in in_chunks(images)] == [4] * 7 + [2]
    assert (find_copies(images, forget, retain) == whole).all()
    assert whole[:3].tolist() == [[2, 17, EXACT], [2, 23, EXACT], [5, 29, EXACT]]
    assert whole[3, :2].tolist() == [8, 9]


def test_an_image_of_another_size_is_no_reason_for_another_shape(tmp_path):
    write_folder(tmp_path)
    write_image(tmp_path / "train/cat/wide.png", height=30, width=90)
    assert opened(tmp_path).train_images.shape == (9, 8, 8, 3)
