"""Images from files of any format: decoded in parallel, of one size, grey where all of them are."""

from __future__ import annotations

import io
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from collateral.contract.cores import num_cores
from collateral.contract.spelling import shown
from collateral.data._reading.formats import SUFFIXES_OF

GREY = ("1", "L", "I", "I;16", "I;16B", "I;16L", "I;16N")
SECONDS = 5  # between two lines of progress
MOST_NAMED = 3
DARK = 16  # of 255: what is left of 12 bits in 16
AT_ONCE = 1024
NUM_LOOKED_AT = 32  # of many images, to see whether they are grey

T = TypeVar("T")
Source = Path | bytes | Callable[[], Image.Image]  # a file, what is in one, or who opens it


@dataclass(frozen=True)
class Decoded:
    """Images (N, H, W, C), and which of the sources they are."""

    images: NDArray[np.uint8]
    kept: NDArray[np.int64]  # places among the sources


@dataclass(frozen=True)
class Looks:
    """An image as the head of its file tells it."""

    width: int
    height: int
    is_grey: bool


class _Progress:
    """Say how far it is, every few seconds."""

    def __init__(self, total: int) -> None:
        self.total, self.said = total, time.monotonic()

    def at(self, done: int) -> None:
        """Say it, if it is time."""
        if time.monotonic() - self.said >= SECONDS:
            self.said = time.monotonic()
            print(f"decoded {done:,} of {self.total:,} images", flush=True)


def decode(
    sources: Iterable[Source], names: Sequence[str], size: int, *, skip_broken: bool
) -> Decoded:
    """Return all images in order; broken ones are named, and left out where that is asked for."""
    images = np.empty((len(names), size, size, 3), np.uint8)
    Image.init()  # once, before there are threads
    modes, broken, progress = Counter[str](), dict[int, str](), _Progress(len(names))
    with ThreadPoolExecutor(num_cores()) as pool:
        waiting = enumerate(sources)
        # Some at a time, so that not all files are in memory at once.
        while some := list(islice(waiting, AT_ONCE)):
            # Pillow lets go of Python's lock while it decodes and resizes.
            found = pool.map(lambda one: _into(images[one[0]], one[1], size), some)
            for (place, _), (mode, problem) in zip(some, found, strict=True):
                modes[mode] += not problem
                broken |= {place: problem} if problem else {}
                progress.at(place + 1)
    if broken:
        _tell_broken(broken, names, skip_broken=skip_broken)
    kept = np.array([place for place in range(len(names)) if place not in broken], np.int64)
    return Decoded(_of_one_kind(images[kept] if broken else images, +modes), kept)


def _of_one_kind(images: NDArray[np.uint8], modes: Counter[str]) -> NDArray[np.uint8]:
    """Return images with one channel if all files are grey; say what was converted."""
    is_grey = all(mode in GREY for mode in modes)
    changed = {mode: modes[mode] for mode in sorted(modes) if mode != ("L" if is_grey else "RGB")}
    if changed:
        listed = ", ".join(f"{count:,} {mode}" for mode, count in changed.items())
        print(f"converted to {'grey' if is_grey else 'RGB'}: {listed}", flush=True)
    if any(mode.startswith("I") for mode in modes) and images.max(initial=0) < DARK:
        print(f"dark: of 65,535 no pixel has {256 * DARK}: scale 12 bits to 16", flush=True)
    return np.ascontiguousarray(images[..., :1]) if is_grey else images


def looks_of(sources: Sequence[Source]) -> list[Looks]:
    """Return what the heads of some files say; broken ones are named where they are read."""
    return [one for one in map(look_at, sources) if isinstance(one, Looks)]


def look_at(source: Source) -> Looks | str:
    """Return what the head of a file says, or why it cannot be read."""
    try:
        with _opened(source) as image:
            return Looks(image.width, image.height, image.mode in GREY)
    except (OSError, ValueError) as error:
        return " ".join(str(error).split())


def num_channels(sources: Sequence[Source]) -> int:
    """Return 1 where images seem to be grey, by some of them, else 3."""
    some = spread(sources, NUM_LOOKED_AT)
    return 1 if all(one.is_grey for one in looks_of(some)) else 3


def spread(items: Sequence[T], count: int) -> Sequence[T]:
    """Return about `count` of many, at even distances."""
    return items[:: max(1, len(items) // count)]


def _into(pixels: NDArray[np.uint8], source: Source, size: int) -> tuple[str, str | None]:
    """Decode one image to its place; return its mode, or what is wrong with it."""
    try:
        with _opened(source) as image:
            mode = image.mode
            pixels[:] = np.asarray(_cut(_as_rgb(image), size))
    # Damage has as many names as there are formats.
    except Exception as error:
        return "", " ".join(str(error).split()) or type(error).__name__
    return mode, None


def _opened(source: Source) -> Image.Image:
    if not isinstance(source, Path | bytes):
        return source()
    try:
        file = source if isinstance(source, Path) else io.BytesIO(source)
        return Image.open(file, formats=tuple(SUFFIXES_OF))
    except Image.UnidentifiedImageError:
        raise ValueError("no image that can be read") from None
    except Image.DecompressionBombError:
        most = 2 * (Image.MAX_IMAGE_PIXELS or 0) // 10**6
        raise ValueError(f"above {most} megapixels, Pillow's limit; make it smaller") from None


def _as_rgb(image: Image.Image) -> Image.Image:
    if image.mode == "F":
        raise ValueError("pixels are floating-point numbers, whose range nobody knows")
    if image.mode.startswith("I"):
        # Of two bytes a pixel the larger; Pillow would cut off all that is above 255.
        values = np.asarray(image).astype(np.int64)
        image = Image.fromarray((values >> 8).clip(0, 255).astype(np.uint8))
    if image.mode == "P" and "transparency" in image.info:
        image = image.convert("RGBA")
    return image.convert("RGB")


def _cut(image: Image.Image, size: int) -> Image.Image:
    """Scale the short side to `size` and cut out the centre, as torchvision's transforms do."""
    short = min(image.size)
    if short != size:
        width, height = (int(size * side / short) for side in image.size)
        image = image.resize((width, height), Image.Resampling.BILINEAR)
    left, top = (round((side - size) / 2) for side in image.size)
    return image.crop((left, top, left + size, top + size))


def _tell_broken(broken: dict[int, str], names: Sequence[str], *, skip_broken: bool) -> None:
    """Name broken files in one line: as an error, unless they may be left out."""
    listed = ", ".join(f"{shown(names[i])} ({text})" for i, text in _first(broken))
    more = f" and {len(broken) - MOST_NAMED} more" if len(broken) > MOST_NAMED else ""
    said = f"{len(broken)} of {len(names)} images cannot be read: {listed}{more}"
    if not skip_broken:
        raise ValueError(f"data.path: {said}; mend or remove them, or give `broken: skip`")
    print(f"left out: {said}", flush=True)


def _first(broken: dict[int, str]) -> Iterator[tuple[int, str]]:
    for place in sorted(broken)[:MOST_NAMED]:
        yield place, broken[place]
