"""Peak memory of the job `data` on made large images in a folder.

    python benchmarks/bench_data.py [--count 131689] [--size 224] [--share 1] [--folder FOLDER]

All images are links to a hundred made JPEG files, so that the folder is small; the written
dataset.npz is not: 19.8 GB with the default numbers. `--share 0.01` takes a hundredth of the
images. Everything is made in a temporary folder (below `--folder`) and deleted.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from pathlib import Path

import numpy as np
from PIL import Image

CLASSES, FILES = 100, 100
# The job itself: open, write, and print the peak memory of this process in MB.
JOB = """
import resource, sys
from pathlib import Path
from collateral.data import folder
path, size, out = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
folder.open_pieces(folder.Options(path=path, size=size, test_share=0.04)).save(out)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def make_folder(folder: Path, count: int, size: int) -> None:
    """Make a folder of `count` images in a hundred classes, a little larger than `size`."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    for file in range(FILES):
        coarse = rng.integers(0, 256, (8, 10, 3), dtype=np.uint8)
        Image.fromarray(coarse).resize((size + size // 4, size)).save(folder / f"{file}.jpg")
    for label in range(CLASSES):
        (folder / f"images/class_{label:03d}").mkdir(parents=True)
    for place in range(count):
        link = folder / f"images/class_{place % CLASSES:03d}/{place}.jpg"
        os.link(folder / f"{place * 7 % FILES}.jpg", link)


def main() -> None:
    """Make the images, run the job in a process of its own, and print what it took."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=131_689)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--share", type=float, default=1.0, help="share of the images")
    parser.add_argument("--folder", type=Path, help="where there is space")
    given = parser.parse_args()
    count = round(given.count * given.share)
    with tempfile.TemporaryDirectory(dir=given.folder) as place:
        images, out = Path(place) / "made", Path(place) / "dataset.npz"
        make_folder(images, count, given.size)
        words = [sys.executable, "-c", JOB, str(images / "images"), str(given.size), str(out)]
        start = time.monotonic()
        text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        seconds, gigabytes = time.monotonic() - start, out.stat().st_size / 1e9
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak = float(text.split()[-1])
    print(f"{count:,} images of {given.size} pixels, {gigabytes:.1f} GB: peak {peak:.0f} MB")
    print(f"{seconds:.0f} s, {used.ru_utime + used.ru_stime:.0f} CPU s")


if __name__ == "__main__":
    main()
