"""Random-size crops in training, the centre in evaluation."""

import numpy as np
import pytest
import torch
from PIL import Image

from collateral.data import folder
from collateral.data._metadata import find_size
from collateral.results.dataset import Dataset, Labels
from collateral.training.crops import RATIOS, centre_crop, draw_boxes, random_size_crops
from collateral.training.examples import Examples, Images, train_examples
from collateral.training.examples import test_examples as held_out_examples

CPU = torch.device("cpu")
COUNT = 20_000


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def boxes(height, width, count=COUNT):
    return draw_boxes(count, height, width, generator=seeded()).double().unbind(1)


@pytest.mark.parametrize(("height", "width"), [(256, 256), (60, 200), (31, 7)])
def test_a_crop_lies_within_its_image(height, width):
    top, left, own_height, own_width = boxes(height, width)
    assert torch.stack([top, left, height - top - own_height, width - left - own_width]).min() >= 0
    assert torch.stack([own_height, own_width]).min() >= 1


def test_areas_and_ratios_of_crops_are_those_of_the_recipe():
    """Of squares the mean share of the area is 0.480, and torchvision's 0.481."""
    _, __, height, width = boxes(256, 256)
    area = height * width / 256**2
    # The share's deviation is 0.26, so that of a mean over 20,000 is 0.0018; within four of them.
    assert area.mean() == pytest.approx(0.480, abs=4 * 0.0018)
    assert 0.08 - 0.004 < area.min() < 0.085
    ratio = width / height
    assert RATIOS[0] - 0.02 < ratio.min() < 0.77
    assert 1.3 < ratio.max() < RATIOS[1] + 0.02
    # Its logarithm is symmetric: as many crops are wide as are high.
    assert (ratio > 1).double().mean() == pytest.approx(0.5, abs=0.02)


def test_corners_are_equally_likely_where_the_crop_fits():
    top, left, height, width = boxes(256, 256)
    for start, side in ((top, height), (left, width)):
        free = side < 200
        place = (start / (256 - side))[free]
        assert place.mean() == pytest.approx(0.5, abs=0.015)
        assert place.std() == pytest.approx(12**-0.5, abs=0.015)


def test_where_no_try_fits_the_crop_is_the_centre():
    """With a ratio of at most 4/3, a part of 8 % of a strip is higher than the strip."""
    top, left, height, width = boxes(3, 4000, 5)
    assert {*zip(top.tolist(), left.tolist(), height.tolist(), width.tolist(), strict=True)} == {
        (0.0, 1998.0, 3.0, 4.0)
    }


def pictures(count=6, height=90, width=70):
    """Return smooth pictures of which no two are alike."""
    small = np.random.default_rng(count).integers(0, 256, (count, 9, 7, 3), dtype=np.uint8)
    return np.stack([np.asarray(Image.fromarray(one).resize((width, height))) for one in small])


@pytest.mark.parametrize("size", [24, 64])
def test_a_crop_is_pillows_antialiased_scaling_to_one_step(size):
    images = pictures()
    crops = random_size_crops(torch.from_numpy(images), size, seeded(3))
    drawn = draw_boxes(len(images), 90, 70, generator=seeded(3)).tolist()
    for image, crop, (top, left, height, width) in zip(images, crops, drawn, strict=True):
        part = Image.fromarray(image[top : top + height, left : left + width])
        expected = np.asarray(part.resize((size, size), Image.Resampling.BILINEAR)).astype(int)
        assert np.abs(crop.numpy().astype(int) - expected).max() <= 1


def examples(**more):
    pixels = torch.from_numpy(pictures())
    images = Images(pixels, padding=0, flip=more.pop("flip", False), crop=32, **more)
    return Examples(images, torch.arange(len(pixels)), torch.arange(len(pixels)))


def test_evaluation_sees_the_centre_as_it_is_stored():
    found = examples().pixels()
    assert found.shape == (6, 3, 32, 32)
    expected = pictures()[:, 29:61, 19:51].transpose(0, 3, 1, 2) / 255  # (90 - 32) / 2 and so on
    assert np.allclose(found.numpy(), expected)


def test_the_centre_of_256_is_its_224_middle_pixels():
    images = torch.arange(256).expand(1, 256, 256)[..., None]
    found = centre_crop(images, 224)
    assert (found.shape[1], found[0, 0, 0, 0].item(), found[0, 0, -1, 0].item()) == (224, 16, 239)


def test_training_sees_another_crop_each_time_and_the_same_by_the_same_generator():
    some, generator = examples(flip=True), seeded(1)
    first, second = some.augmented(generator), some.augmented(generator)
    assert first.shape == (6, 3, 32, 32)
    assert not torch.equal(first, second)
    assert torch.equal(some.augmented(seeded(1)), first)


def test_half_of_the_crops_are_mirrored():
    one = examples(flip=True).select(torch.zeros(400, dtype=torch.int64))
    plain = examples().select(torch.zeros(400, dtype=torch.int64))
    views, straight = one.augmented(seeded(2)), plain.augmented(seeded(2))
    mirrored = (views == straight.flip(3)).flatten(1).all(1)
    assert (mirrored | (views == straight).flatten(1).all(1)).all()
    assert mirrored.sum().item() == pytest.approx(200, abs=40)


def test_views_are_not_cropped_once_more():
    viewed = examples().viewed(seeded(4))
    assert torch.equal(viewed.augmented(seeded(5)), viewed.pixels())


def test_models_are_given_images_of_the_size_of_the_crop(tmp_path):
    images = pictures()
    labels = Labels(np.arange(6) % 2, np.arange(3) % 2, ("a", "b"))
    data = Dataset(images, images[:3], labels, (0.5,) * 3, (0.25,) * 3, flip=True, crop=48)
    data.save(tmp_path / "dataset.npz")
    found = Dataset.load(tmp_path / "dataset.npz")
    assert found.info.shape == (48, 48, 3)
    assert train_examples(found, CPU).augmented(seeded()).shape[2:] == (48, 48)
    assert held_out_examples(found, CPU).pixels().shape[2:] == (48, 48)


def test_the_plan_knows_the_size_of_the_crop_and_of_the_stored_images(tmp_path):
    for place, image in enumerate(pictures(8)):
        path = tmp_path / ("train", "test")[place % 2] / ("a", "b")[place // 4] / f"{place}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(path)
    given = folder.Options(path=tmp_path, size=40, crop=32)
    size, data = find_size("folder", given), folder.load(given)
    assert size.shape == data.info.shape == (32, 32, 3)
    assert data.train_images.shape == (4, 40, 40, 3)
    assert size.image_bytes == data.train_images[0].nbytes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 32, "crop": 33}, "`crop`: 33: images have a `size` of 32, not more"),
        ({"size": 32, "crop": 24, "padding": 4}, "`crop` and `padding` are two kinds"),
    ],
)
def test_crops_that_cannot_be_are_refused(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        folder.Options(path=tmp_path, **options)
