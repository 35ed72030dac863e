"""Small images of a test's own, in folders by class."""

import numpy as np
from PIL import Image

HOSTILE = ("my dog", "größe", "<script>alert(1)</script>".replace("/", "∕"))


def picture(seed, height=12, width=10, channels=3):
    """Return pixels of which no two are alike."""
    shape = (height, width) if channels == 1 else (height, width, channels)
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def write_image(path, seed=0, **shape):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(picture(seed, **shape)).save(path)
    return path


def write_folder(root, classes=("cat", "dog"), *, tops=("train", "test"), each=(4, 2), **shape):
    """Write as many images of each class below each of `tops` as `each` says."""
    seed = 0
    for top, count in zip(tops, each, strict=True):
        for name in classes:
            for number in range(count):
                seed += 1
                write_image(root / top / name / f"{number}.png", seed, **shape)
    return root
