"""Decode image files in parallel and scale them to one size. If all are grey, keep one channel."""

from __future__ import annotations

import io
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from collateral.contract.messages import error_in_one_line, quoted
from collateral.contract.work import count_cores
from collateral.data._readers.file_list import SUFFIXES_OF
from collateral.data._readers.pieces import Pieces, images_per_piece

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


def inspect(
    read_sources: Callable[[], Iterable[Source]], names: Sequence[str], *, skip_broken: bool
) -> tuple[int, list[int]]:
    """Return the number of channels (1 if all images are grey, else 3) and the readable images.

    Raise for broken images; if `skip_broken` is true, only print their names. For that, all images
    are decoded; otherwise only their headers are read, and damage behind it is found later.
    """

    def look(place: int, source: Source) -> Decoded:
        return _decode_alone(source) if skip_broken else _read_mode(source)

    found = [*_map(look, read_sources(), len(names), "checked")]
    if not skip_broken and any(one.problem for one in found):
        raise_for_broken(read_sources(), names)
    return _survey(found, names, skip_broken=skip_broken)


def raise_for_broken(sources: Iterable[Source], names: Sequence[str]) -> NoReturn:
    """Decode all images to find those that are broken, and raise an error that lists them."""
    found = _map(lambda _, source: _decode_alone(source), sources, len(names), "checked")
    _survey(found, names, skip_broken=False)
    raise ValueError("data.path: an image was changed while it was read; run again")


@dataclass(frozen=True)
class DecodedPieces(Pieces):
    """Images that are decoded when they are asked for, a piece at a time."""

    read_sources: Callable[[], Iterable[Source]]  # all images of the data set, in a fixed order
    names: Sequence[str]  # their names, for errors
    rows: NDArray[np.int64]  # which of them are here, ascending
    size: int
    channels: int

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """Number of images, height, width and number of channels."""
        return (len(self.rows), self.size, self.size, self.channels)

    def __getitem__(self, rows: NDArray[np.int64]) -> DecodedPieces:
        """Return the images in these rows."""
        return replace(self, rows=self.rows[rows])

    def __iter__(self) -> Iterator[NDArray[np.uint8]]:
        """Decode and yield the images; raise for broken ones."""
        wanted, count = {*self.rows.tolist()}, images_per_piece((0, self.size, self.size, 3))
        images = np.empty((count, self.size, self.size, 3), np.uint8)
        chosen = (one for row, one in enumerate(self.read_sources()) if row in wanted)
        found = _map(
            lambda place, one: _decode_into(images[place % count], one, self.size),
            chosen,
            len(self.rows),
            chunk=count,
        )
        done = 0
        while len(part := [*islice(found, count)]):
            if any(one.problem for one in part):
                raise_for_broken(self.read_sources(), self.names)
            yield np.ascontiguousarray(images[: len(part), ..., : self.channels])
            done += len(part)
        assert done == len(self.rows), f"{done} images of {len(self.rows)}"


def _map(
    function: Callable[[int, Source], Decoded],
    sources: Iterable[Source],
    total: int,
    verb: str = "decoded",
    chunk: int = CHUNK,
) -> Iterator[Decoded]:
    """Call a function with the place and the source of every image, in parallel.

    Only `chunk` images are read at a time; the next ones are read when all results are taken.
    """
    Image.init()  # Pillow loads its formats once, before threads start.
    last_printed = time.monotonic()
    with ThreadPoolExecutor(count_cores()) as pool:
        waiting = enumerate(sources)
        # Files are read in chunks, so that not all of them are in memory at once.
        while some := list(islice(waiting, chunk)):
            # Pillow releases the GIL while it decodes and resizes.
            yield from [*pool.map(lambda one: function(*one), some)]
            if time.monotonic() - last_printed >= SECONDS:
                last_printed = time.monotonic()
                print(f"{verb} {some[-1][0] + 1:,} of {total:,} images", flush=True)


def _survey(
    found: Iterable[Decoded], names: Sequence[str], *, skip_broken: bool
) -> tuple[int, list[int]]:
    """Return the number of channels and the indices of readable images.

    Raise for broken images and for dark images of 16 bits; print how many images had another
    colour mode.
    """
    modes, broken = Counter[str](), dict[int, str]()
    deepest = dict[int, int]()  # largest value of each image of 16 bits
    for place, one in enumerate(found):
        modes[one.mode] += not one.problem
        broken |= {place: one.problem} if one.problem else {}
        deepest |= {place: one.largest} if one.mode in DEEP else {}
    if broken:
        _report_broken(broken, names, skip_broken=skip_broken)
    _check_depth(deepest, names)
    is_grey = all(mode in GREY for mode in +modes)
    changed = {
        mode: n for mode, n in sorted((+modes).items()) if mode != ("L" if is_grey else "RGB")
    }
    if changed:
        listed = ", ".join(f"{count:,} {mode}" for mode, count in changed.items())
        print(f"converted to {'grey' if is_grey else 'RGB'}: {listed}", flush=True)
    return 1 if is_grey else 3, [place for place in range(len(names)) if place not in broken]


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

    def store(image: Image.Image) -> None:
        pixels[:] = np.asarray(_resize_and_crop(_as_rgb(image), size))

    return _decode(source, store)


def _decode_alone(source: Source) -> Decoded:
    """Decode one image; return its colour mode, or why decoding failed."""
    return _decode(source, _as_rgb)


def _decode(source: Source, use: Callable[[Image.Image], object]) -> Decoded:
    """Open one image and pass it to `use`; return its colour mode, or why decoding failed."""
    try:
        with _open_image(source) as image:
            mode = image.mode
            largest = int(np.asarray(image).max()) if mode in DEEP else 0
            use(image)
    # Pillow raises errors of many types, depending on the format and the damage.
    except Exception as error:
        return Decoded(problem=error_in_one_line(error))
    return Decoded(mode, largest)


def _read_mode(source: Source) -> Decoded:
    """Return the colour mode of an image from its header; images of deep grey are decoded."""
    return _decode(source, lambda image: _as_rgb(image) if image.mode in (*DEEP, "F") else None)


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
