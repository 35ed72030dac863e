"""Examples in memory: crops and flips as a plain loop makes them, and batches that lose nobody."""

import re
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from collateral.results.dataset import Dataset, Labels
from collateral.training.examples import (
    Examples,
    Images,
    Task,
    fits,
    train_examples,
)
from collateral.training.examples import test_examples as held_out_examples
from collateral.training.optimizers import count_batches

CPU = torch.device("cpu")
COUNT, HEIGHT, WIDTH, CHANNELS = 11, 5, 7, 3
PADDING = 2
PIXELS = np.random.default_rng(0).integers(0, 256, (COUNT, HEIGHT, WIDTH, CHANNELS), dtype=np.uint8)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def examples(padding: int = 0, *, flip: bool = False) -> Examples:
    labels = Labels(np.arange(COUNT), np.arange(2), tuple(str(i) for i in range(COUNT)))
    mean, std = (0.5,) * CHANNELS, (0.25,) * CHANNELS
    return train_examples(Dataset(PIXELS, PIXELS[:2], labels, mean, std, padding, flip), CPU)


def plain(rows: list[int]) -> torch.Tensor:
    """Return the images as they are, made one by one."""
    images = [torch.from_numpy(PIXELS[row]).permute(2, 0, 1).float() / 255 for row in rows]
    return torch.stack(images)


def pad_and_crop(image: np.ndarray, top: int, left: int, *, is_mirrored: bool) -> np.ndarray:
    """Augment one image (H, W, C) in the plain way: zeros around it, a window, perhaps mirrored."""
    height, width, channels = image.shape
    canvas = np.zeros((height + 2 * PADDING, width + 2 * PADDING, channels), dtype=np.uint8)
    canvas[PADDING : PADDING + height, PADDING : PADDING + width] = image
    window = canvas[top : top + height, left : left + width]
    return window[:, ::-1] if is_mirrored else window


def test_clean_images_are_the_pixels_over_255():
    rows = [4, 0, 4]
    assert torch.equal(examples(PADDING).images.clean(torch.tensor(rows)), plain(rows))


def test_padding_does_not_show_in_clean_images():
    assert torch.equal(examples(PADDING).pixels(), examples().pixels())


def test_a_view_of_each_image_is_drawn_once_and_stays(monkeypatch):
    monkeypatch.setattr("collateral.training.examples.VIEWED_AT_ONCE", 3)
    some = examples(PADDING, flip=True).select(torch.tensor([3, 3, 9, 0]))
    viewed, generator = some.viewed(seeded()), seeded()
    drawn = [some.images.augmented(rows, generator) for rows in some.rows.split(3)]
    assert torch.equal(viewed.pixels(), torch.cat(drawn))
    assert torch.equal(viewed.augmented(seeded(1)), viewed.pixels())
    assert torch.equal(viewed.select(torch.tensor([2])).pixels(), viewed.pixels()[2:3])
    assert torch.equal(viewed.labels, some.labels)


def test_no_examples_have_no_views():
    assert len(examples(PADDING).select(torch.arange(0)).viewed(seeded()).pixels()) == 0


def test_a_random_crop_is_what_padding_and_cropping_each_image_gives():
    rows = torch.tensor([3, 3, 9, 0])
    augmented = examples(PADDING, flip=True).images.augmented(rows, seeded(5))
    generator = seeded(5)
    tops, lefts = torch.randint(2 * PADDING + 1, (2, len(rows)), generator=generator).tolist()
    mirrored = (torch.rand(len(rows), generator=generator) < 0.5).tolist()
    assert 0 < sum(mirrored) < len(rows)  # this seed shows both
    by_hand = [
        pad_and_crop(PIXELS[row], top, left, is_mirrored=is_mirrored)
        for row, top, left, is_mirrored in zip(rows.tolist(), tops, lefts, mirrored, strict=True)
    ]
    expected = torch.from_numpy(np.stack(by_hand)).permute(0, 3, 1, 2).float() / 255
    assert torch.equal(augmented, expected)


def test_the_window_is_equally_likely_in_every_place():
    dot = torch.zeros(1, 3, 3, 1, dtype=torch.uint8)
    dot[0, 1, 1] = 255
    views = Images(dot, 1, flip=False).augmented(torch.zeros(900, dtype=torch.int64), seeded())
    counts = views.flatten(1).argmax(1).bincount(minlength=9)  # where the dot is in each
    # Binomial with mean 100 and deviation 9.4: within 4 deviations.
    assert counts.tolist() == pytest.approx([100] * 9, abs=38)


def test_half_of_the_images_are_mirrored():
    one = examples(flip=True)
    views = one.images.augmented(torch.zeros(1000, dtype=torch.int64), seeded())
    is_mirrored = (views == plain([0]).flip(3)).flatten(1).all(1)
    is_clean = (views == plain([0])).flatten(1).all(1)
    assert (is_mirrored ^ is_clean).all()
    # Binomial: within 4 deviations of 16.
    assert is_mirrored.sum().item() == pytest.approx(500, abs=64)


def test_without_flip_no_image_is_mirrored():
    views = examples(padding=1).images.augmented(torch.zeros(200, dtype=torch.int64), seeded())
    windows = {
        (top, left): np.pad(PIXELS[0], ((1, 1), (1, 1), (0, 0)))[top:, left:][:HEIGHT, :WIDTH]
        for top in range(3)
        for left in range(3)
    }
    pixels = (views * 255).round().byte().permute(0, 2, 3, 1).numpy()
    assert all(any((view == window).all() for window in windows.values()) for view in pixels)


def test_a_data_set_without_augmentation_draws_nothing():
    generator = seeded()
    before = generator.get_state()
    views = examples().images.augmented(torch.arange(COUNT), generator)
    assert torch.equal(views, plain(list(range(COUNT))))
    assert torch.equal(generator.get_state(), before)


@pytest.mark.parametrize("augment", [True, False])
def test_batches_lie_in_channels_last_order(augment):
    batches = list(examples(PADDING, flip=True).batches(4, seeded(), augment=augment))
    assert len(batches) > 1
    for x, _ in batches:
        assert x.shape[1:] == (CHANNELS, HEIGHT, WIDTH)
        assert x.dtype == torch.float32
        assert x.is_contiguous(memory_format=torch.channels_last)


def test_batches_show_each_example_once_with_its_own_label():
    seen = list(examples().batches(4, seeded()))
    assert [len(y) for _, y in seen] == [4, 7]
    labels = torch.cat([y for _, y in seen]).tolist()
    assert sorted(labels) == list(range(COUNT))
    assert labels != list(range(COUNT))
    assert torch.equal(torch.cat([x for x, _ in seen]), plain(labels))


def many(count: int) -> Examples:
    """Return examples that are told apart by their labels, with crops and flips."""
    pixels = torch.from_numpy(np.resize(PIXELS, (count, HEIGHT, WIDTH, CHANNELS)))
    return Examples(Images(pixels, PADDING, flip=True), torch.arange(count), torch.arange(count))


@pytest.mark.parametrize(
    ("count", "size", "expected"),
    [
        (66, 32, [32, 34]),
        (71, 32, [32, 39]),
        (72, 32, [32, 32, 8]),
        (64, 32, [32, 32]),
        (39, 32, [39]),
        (5, 32, [5]),  # the only batch: nothing to join
        (9, 4, [4, 5]),
        (3, 1, [1, 1, 1]),
    ],
)
def test_a_rest_of_fewer_than_eight_joins_the_batch_before_it(count, size, expected):
    some, twice = many(count), 2 * len(expected)
    assert [len(y) for _, y in some.batches(size, seeded())] == expected
    assert [len(y) for _, y in islice(some.cycle(size, seeded()), twice)] == 2 * expected
    assert count_batches(some, size) == len(expected)


@pytest.mark.parametrize("augment", [True, False])
def test_all_batches_but_the_joined_one_are_those_of_a_plain_split_in_every_epoch(augment):
    """Order, crops and flips; the generator is left as the plain split leaves it."""
    some, ours, plain_ones = many(66), seeded(), seeded()
    for _ in range(3):
        found = list(some.batches(16, ours, augment=augment))
        images, expected = some.images, []
        for index in torch.randperm(66, generator=plain_ones).split(16):
            x = images.augmented(index, plain_ones) if augment else images.clean(index)
            expected.append((x, index))
        assert [len(y) for _, y in expected] == [16, 16, 16, 16, 2]
        for (x, y), (plain_x, plain_y) in zip(found[:-1], expected[:3], strict=True):
            assert torch.equal(x, plain_x) and torch.equal(y, plain_y)
        assert torch.equal(found[-1][1], torch.cat([y for _, y in expected[3:]]))
        assert torch.equal(ours.get_state(), plain_ones.get_state())


def test_evaluation_keeps_a_small_rest():
    assert [len(y) for _, y in many(66).in_order(32)] == [32, 32, 2]


def test_batches_depend_only_on_the_generator():
    def views(seed: int) -> torch.Tensor:
        torch.rand(1)  # the global generator has no say
        return torch.cat([x for x, _ in examples(PADDING, flip=True).batches(4, seeded(seed))])

    assert torch.equal(views(3), views(3))
    assert not torch.equal(views(3), views(4))


def test_in_order_gives_clean_images_in_order():
    seen = list(examples(PADDING, flip=True).in_order(4))
    assert torch.cat([y for _, y in seen]).tolist() == list(range(COUNT))
    assert torch.equal(torch.cat([x for x, _ in seen]), plain(list(range(COUNT))))


def test_a_cycle_shows_all_examples_before_any_again():
    batches = list(islice(examples().cycle(4, seeded()), 4))
    rounds = [torch.cat([y for _, y in some]).tolist() for some in (batches[:2], batches[2:])]
    assert [sorted(labels) for labels in rounds] == [list(range(COUNT))] * 2
    assert rounds[0] != rounds[1]


def test_select_takes_images_and_labels_together():
    chosen = examples().select(torch.tensor([7, 2]))
    assert chosen.labels.tolist() == [7, 2]
    assert torch.equal(chosen.pixels(), plain([7, 2]))


def test_relabelling_keeps_the_images_and_does_not_change_the_old_labels():
    some = examples().select(torch.tensor([7, 2]))
    other = some.relabelled(torch.tensor([0, 1]))
    assert other.labels.tolist() == [0, 1]
    assert torch.equal(other.pixels(), some.pixels())
    assert some.labels.tolist() == [7, 2]


def test_joined_examples_follow_one_another():
    everything = examples()
    first, second = everything.select(torch.tensor([7, 2])), everything.select(torch.tensor([5]))
    joined = first.joined(second)
    assert len(joined) == 3
    assert joined.labels.tolist() == [7, 2, 5]
    assert torch.equal(joined.pixels(), plain([7, 2, 5]))


def test_examples_of_different_images_cannot_be_joined():
    with pytest.raises(AssertionError, match="different sets of images"):
        examples().joined(examples())


def test_soft_labels_stay_with_their_images():
    soft = torch.eye(COUNT) * 0.75 + 0.25 / COUNT
    labelled = examples().relabelled(soft)
    batches = list(labelled.batches(4, seeded()))
    assert sum(len(x) for x, _ in batches) == COUNT
    for x, y in batches:
        assert y.shape == (len(x), COUNT)
        assert torch.equal(x, plain(y.argmax(1).tolist()))
    assert torch.equal(labelled.select(torch.tensor([3])).labels, soft[3:4])


def test_train_and_test_examples_are_the_data_set_in_order():
    labels = Labels(np.array([1, 0, 1]), np.array([0]), ("a", "b"))
    data = Dataset(PIXELS[:3], PIXELS[5:6], labels, (0.5,) * 3, (0.25,) * 3)
    train, test = train_examples(data, CPU), held_out_examples(data, CPU)
    assert (train.labels.tolist(), test.labels.tolist()) == ([1, 0, 1], [0])
    assert torch.equal(test.pixels(), plain([5]))
    assert Task(train, train, data.info).num_classes == 2


def test_images_on_disk_are_gathered_without_a_copy_of_all(tmp_path):
    status = Path("/proc/self/status")
    if not status.exists():
        pytest.skip("needs /proc to ask what memory is this process's own")

    def own_megabytes() -> float:
        return int(re.search(r"RssAnon:\s+(\d+)", status.read_text())[1]) / 1024

    count, side = 1000, 200
    pixels = np.random.default_rng(0).integers(0, 256, (count, side, side, 3), dtype=np.uint8)
    labels = Labels(np.arange(count) % 10, np.arange(10), tuple(map(str, range(10))))
    Dataset(pixels, pixels[:10], labels, (0.5,) * 3, (0.25,) * 3).save(tmp_path / "dataset.npz")
    expected = torch.from_numpy(pixels[-1]).permute(2, 0, 1).float() / 255
    del pixels
    before = own_megabytes()
    found = train_examples(Dataset.load(tmp_path / "dataset.npz"), CPU)
    for batch, _ in found.in_order(10):
        last = batch[-1]
    assert torch.equal(last, expected)
    assert own_megabytes() - before < 40  # of 114


def test_images_that_a_gpu_cannot_hold_stay_on_the_host(monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (100, 1000))
    gpu = torch.device("cuda", 0)
    assert [fits(size, gpu) for size in (50, 51)] == [True, False]
    assert fits(10**12, CPU)
