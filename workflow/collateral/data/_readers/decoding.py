"""Decode image files in parallel and scale them to one size. If all are grey, keep one channel."""

from __future__ import annotations

import io
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from collateral.contract.messages import error_in_one_line, quoted
from collateral.contract.work import count_cores
from collateral.data._readers.file_list import SUFFIXES_OF

# Names of Pillow's modes for grey images.
DEEP = ("I", "I;16", "I;16B", "I;16L", "I;16N")  # grey images of 16 bits
GREY = ("1", "L", *DEEP)
SECONDS = 5  # seconds between two lines that report progress
MOST_NAMED = 3  # maximum number of broken files that a message names
# If all 16-bit pixels are below this value, the images probably have 12 bits or fewer.
DARK = 4096
CHUNK = 1024  # number of images that are read at a time
NUM_HEADERS = 32  # number of image headers that are read to decide whether a data set is grey

WIDE = "32-bit integers or floating-point numbers, whose range nobody knows; save 8 or 16 bits"

T = TypeVar("T")
# An image to decode: its file, its bytes, or a function that opens it.
Source = Path | bytes | Callable[[], Image.Image]


@dataclass(frozen=True)
class ImageHeader:
    """The header of an image file."""

    width: int
    height: int
    is_grey: bool


@dataclass(frozen=True)
class Decoded:
    """The outcome of decoding an image file."""

    mode: str = ""  # Pillow's colour mode
    largest: int = 0  # largest pixel value of an image of 16 bits
    problem: str = ""  # reason why the file cannot be read


def decode(
    sources: Iterable[Source], names: Sequence[str], size: int, *, skip_broken: bool
) -> tuple[NDArray[np.uint8], list[int]]:
    """Return the decoded images in order, with channels last, and their indices in `sources`.

    Raise for broken images; if `skip_broken` is true, only print their names.
    """
    images = np.empty((len(names), size, size, 3), np.uint8)
    Image.init()  # Pillow loads its formats once, before threads start.
    modes, broken, last_printed = Counter[str](), dict[int, str](), time.monotonic()
    deepest = dict[int, int]()  # largest value of each image of 16 bits
    with ThreadPoolExecutor(count_cores()) as pool:
        waiting = enumerate(sources)
        # Files are read in chunks, so that not all of them are in memory at once.
        while chunk := list(islice(waiting, CHUNK)):
            # Pillow releases the GIL while it decodes and resizes.
            found = pool.map(lambda one: _decode_into(images[one[0]], one[1], size), chunk)
            for (place, _), one in zip(chunk, found, strict=True):
                modes[one.mode] += not one.problem
                broken |= {place: one.problem} if one.problem else {}
                deepest |= {place: one.largest} if one.mode in DEEP else {}
                if time.monotonic() - last_printed >= SECONDS:
                    last_printed = time.monotonic()
                    print(f"decoded {place + 1:,} of {len(names):,} images", flush=True)
    if broken:
        _report_broken(broken, names, skip_broken=skip_broken)
    _check_depth(deepest, names)
    kept = [place for place in range(len(names)) if place not in broken]
    return _unify_channels(images[kept] if broken else images, +modes), kept


def _unify_channels(images: NDArray[np.uint8], modes: Counter[str]) -> NDArray[np.uint8]:
    """Keep one channel if all images are grey; print how many images had another colour mode."""
    is_grey = all(mode in GREY for mode in modes)
    changed = {mode: modes[mode] for mode in sorted(modes) if mode != ("L" if is_grey else "RGB")}
    if changed:
        listed = ", ".join(f"{count:,} {mode}" for mode, count in changed.items())
        print(f"converted to {'grey' if is_grey else 'RGB'}: {listed}", flush=True)
    return np.ascontiguousarray(images[..., :1]) if is_grey else images


def _check_depth(largest: dict[int, int], names: Sequence[str]) -> None:
    """Raise if the images of 16 bits have values of fewer bits: little would be left of 8 bits."""
    place = max(largest, key=largest.__getitem__, default=None)
    if place is not None and largest[place] < DARK:
        raise ValueError(
            f"data.path: {len(largest)} images of 16 bits have no pixel above {largest[place]} of "
            f"65,535 (that one in {quoted(names[place])}); if they have 12 bits or fewer, multiply "
            "them up to 16, or save 8"
        )


def read_image_header(source: Source) -> ImageHeader | str:
    """Return the header of an image file, or the reason why the file cannot be read."""
    try:
        with _open_image(source) as image:
            return ImageHeader(image.width, image.height, image.mode in GREY)
    except Exception as error:
        return error_in_one_line(error)


def num_channels(sources: Sequence[Source]) -> int:
    """Return 1 if all readable images in a sample of the files are grey, else 3."""
    headers = map(read_image_header, take_evenly(sources, NUM_HEADERS))
    return 1 if all(one.is_grey for one in headers if isinstance(one, ImageHeader)) else 3


def take_evenly(items: Sequence[T], count: int) -> Sequence[T]:
    """Return about `count` evenly spaced items of a sequence."""
    return items[:: max(1, len(items) // count)]


def _decode_into(pixels: NDArray[np.uint8], source: Source, size: int) -> Decoded:
    """Decode one image into the array `pixels`; return its colour mode, or why decoding failed."""
    try:
        with _open_image(source) as image:
            mode = image.mode
            largest = int(np.asarray(image).max()) if mode in DEEP else 0
            pixels[:] = np.asarray(_resize_and_crop(_as_rgb(image), size))
    # Pillow raises errors of many types, depending on the format and the damage.
    except Exception as error:
        return Decoded(problem=error_in_one_line(error))
    return Decoded(mode, largest)


def _open_image(source: Source) -> Image.Image:
    if not isinstance(source, Path | bytes):
        return source()
    file = source if isinstance(source, Path) else io.BytesIO(source)
    try:
        return Image.open(file, formats=tuple(SUFFIXES_OF))
    except Image.UnidentifiedImageError:  # Pillow's message has the memory address of the bytes.
        raise ValueError("no image that can be read") from None
    except Image.DecompressionBombError:
        most = 2 * (Image.MAX_IMAGE_PIXELS or 0) // 10**6
        raise ValueError(f"above {most} megapixels, Pillow's limit; make it smaller") from None


def _as_rgb(image: Image.Image) -> Image.Image:
    # In mode I, a TIFF file has 32 bits, but a PGM file has 16.
    if image.mode == "F" or (image.mode == "I" and image.format == "TIFF"):
        raise ValueError(f"pixels are {WIDE}")
    if image.mode in DEEP:
        # Keep the high byte of 16-bit pixels, because Pillow would clip all values above 255.
        values = np.asarray(image).astype(np.int64)
        image = Image.fromarray((values >> 8).clip(0, 255).astype(np.uint8))
    if image.mode == "P" and "transparency" in image.info:
        image = image.convert("RGBA")
    return image.convert("RGB")


def _resize_and_crop(image: Image.Image, size: int) -> Image.Image:
    """Scale the short side to `size` and crop the centre, as torchvision's transforms do."""
    short = min(image.size)
    if short != size:
        width, height = (int(size * side / short) for side in image.size)
        image = image.resize((width, height), Image.Resampling.BILINEAR)
    left, top = (round((side - size) / 2) for side in image.size)
    return image.crop((left, top, left + size, top + size))


def _report_broken(broken: dict[int, str], names: Sequence[str], *, skip_broken: bool) -> None:
    """Raise an error that lists the broken files, or only print it if `skip_broken` is true."""
    reasons = [f"{quoted(names[place])} ({broken[place]})" for place in sorted(broken)]
    listed = ", ".join(reasons[:MOST_NAMED]) + ", ..." * (len(broken) > MOST_NAMED)
    problem = f"{len(broken)} of {len(names)} images cannot be read: {listed}"
    if not skip_broken:
        raise ValueError(f"data.path: {problem}; mend or remove them, or give `broken: skip`")
    print(f"left out: {problem}", flush=True)
