"""Golden hashes: are the results of all kinds of jobs the same bits before and after a change?

    python tools/golden.py write build/golden.json                # before the change
    python tools/golden.py compare build/golden.json              # after it; names what differs
    python tools/golden.py write build/golden.json --root PATH    # of another checkout

Both run configs/smoke.yaml and tools/golden.yaml in an empty folder, in about three minutes. Then
the times in every cost.json are replaced by numbers that depend on the file's path alone, and
tables, figures and pages are made again, so that these are the same for the same code. Compared are
the names of all result files, and the contents of all but records: of a page, its text without
hashes. How a record describes its job may change, what the job computes may not.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = Path(sys.executable).parent
CONFIG = Path(__file__).with_suffix(".yaml")
# The rules that make tables, figures and pages, as the Makefile has them.
PRESENT = re.findall(r"^PRESENT = (.*)$", (ROOT / "Makefile").read_text(), re.M)[0].split()
SEAL, PLACE = "sha256", "place"  # keys of every record, and of no other JSON file
HASH = re.compile(r"\b[0-9a-f]{8,64}\b")
HIDDEN = ("script", "style", "template")  # elements whose content is no text of a page
SITES = ("a", "a", "b", "c", "a")
# Weights of the smoke run that golden.yaml gives, by cell and seed.
GIVEN = {
    "digit_3-50-2": "seed-1/rl",
    "digit_3-50-0": "seed-0/salun",
    "site-2": "seed-0/ft",
    "site-0": "seed-1/amun",
}
SVHN_SIZES = {"train": 20, "test": 20}
# A `collateral` that lets torchvision read the tiny files of SVHN, whose hashes it does not know.
PROGRAM = """#!/bin/sh
case "$*" in
*svhn*) exec {python} {tool} job "$@" ;;
*) exec {collateral} "$@" ;;
esac
"""


def run_all(root: Path, folder: Path) -> None:
    """Run both configs of a checkout in a folder, then present both with times that are fixed."""
    smoke = root / "configs/smoke.yaml"
    snakemake(root, folder, smoke)
    write_inputs(folder)
    snakemake(root, folder, CONFIG)
    fix_times(folder / "results")
    for config in (smoke, CONFIG):
        again = ("--allowed-rules", "all", *PRESENT, "--forcerun", *PRESENT)
        snakemake(root, folder, config, *again)


def snakemake(root: Path, folder: Path, config: Path, *options: str) -> None:
    """Run Snakemake with the package and the config of a checkout; raise if it fails."""
    path = os.pathsep.join([str(folder), str(PROGRAMS), os.environ["PATH"]])
    variables = {"PATH": path, "PYTHONPATH": str(root / "workflow"), "OMP_NUM_THREADS": "1"}
    words = ["snakemake", "--snakefile", root / "Snakefile", "--directory", folder]
    words += ["--configfile", config, "--cores", "2", *options]
    done = subprocess.run(
        [*map(str, words)], env={**os.environ, **variables}, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{config}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")


def write_inputs(folder: Path) -> None:
    """Write golden.npz, given weights, SVHN's tiny files, and the program that reads these."""
    smoke = folder / "results/smoke"
    (folder / "theirs").mkdir(exist_ok=True)
    for name, run in GIVEN.items():
        weights = smoke / f"digit_3-50/{run}/model.safetensors"
        shutil.copy(weights, folder / f"theirs/{name}.safetensors")
    write_golden_npz(folder)
    write_svhn(folder)
    program, names = folder / "collateral", {"python": sys.executable, "tool": Path(__file__)}
    program.write_text(PROGRAM.format(**names, collateral=PROGRAMS / "collateral"))
    program.chmod(0o755)


def write_golden_npz(folder: Path) -> None:
    """Write the data set of the smoke run with a column of sites."""
    with np.load(folder / "results/smoke/dataset.npz") as found:
        arrays = {name: found[name] for name in ("train_images", "train_labels")}
        arrays |= {name: found[name] for name in ("test_images", "test_labels", "class_names")}
    for part in ("train", "test"):
        name = "site" if part == "train" else "test_site"
        arrays[name] = np.resize(SITES, len(arrays[f"{part}_labels"]))
    np.savez(folder / "golden.npz", **arrays)


def write_svhn(folder: Path) -> None:
    """Write files of a few random images in SVHN's format."""
    from scipy.io import savemat  # noqa: PLC0415

    (folder / "svhn").mkdir(exist_ok=True)
    for part, count in SVHN_SIZES.items():
        images = np.random.default_rng(count).integers(0, 256, (32, 32, 3, count), dtype=np.uint8)
        labels = 1 + np.arange(count)[:, None] % 10
        savemat(folder / f"svhn/{part}_32x32.mat", {"X": images, "y": labels})


def run_job(words: list[str]) -> None:
    """Run a command of the package, in which torchvision trusts every file of SVHN."""
    from torchvision.datasets import svhn  # noqa: PLC0415

    from collateral.cli import main  # noqa: PLC0415

    svhn.check_integrity = lambda *_: True
    main(words)


def fix_times(results: Path) -> None:
    """Replace the times in every cost.json; its modification time stays, so that no job reruns."""
    for path in sorted(results.rglob("cost.json")):
        before = path.stat()
        path.write_text(json.dumps(with_fixed_times(json.loads(path.read_text()))))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def with_fixed_times(cost: Mapping[str, Any]) -> dict[str, Any]:
    """Return a cost whose measured numbers depend on its place and their names alone."""
    place = cost[PLACE]
    seconds = {name: fixed_number(place, name) for name in cost["seconds"]}
    fixed = {**cost, "seconds": seconds, "peak_rss_mb": 100 + fixed_number(place, "peak")}
    if seconds:  # else the user stated the total
        fixed["total_seconds"] = sum(seconds.values())
    if "epoch_seconds" in cost:
        epochs = len(cost["epoch_seconds"])
        fixed["epoch_seconds"] = [sum(seconds.values()) * (i + 1) / epochs for i in range(epochs)]
    del fixed[SEAL]
    return {**fixed, SEAL: sha256(json.dumps(fixed, sort_keys=True).encode())}


def fixed_number(*names: str) -> float:
    """Return a number from 1 to 66 for these names."""
    return 1 + int(sha256("/".join(names).encode())[:4], 16) / 1000


def hash_results(results: Path) -> dict[str, str]:
    """Return a hash of the content of every result file; of a record, an empty one."""
    files = (path for path in sorted(results.rglob("*")) if path.is_file())
    names = ((path.relative_to(results), path) for path in files)
    return {
        name.as_posix(): content_hash(path)
        for name, path in names
        if not any(part.startswith(".") for part in name.parts) and name.name != "README.md"
    }


def content_hash(path: Path) -> str:
    """Return the hash of a file's content; of a page's text; empty for a record."""
    if path.suffix == ".json":
        content = json.loads(path.read_text())
        return "" if isinstance(content, dict) and SEAL in content else sha256(path.read_bytes())
    if path.suffix == ".html":
        return sha256(page_text(path.read_text()).encode())
    return sha256(path.read_bytes())


def page_text(page: str) -> str:
    """Return the text of a page, without hashes of code and records, and without comments."""
    return HASH.sub("HASH", "\n".join(Text(page).parts))


class Text(HTMLParser):
    """The pieces of text of a page."""

    def __init__(self, page: str) -> None:
        """Read a page."""
        super().__init__()
        self.parts: list[str] = []
        self.hidden = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Count the elements around, whose content is no text."""
        self.hidden += tag in HIDDEN

    def handle_endtag(self, tag: str) -> None:
        """Leave an element."""
        self.hidden -= tag in HIDDEN

    def handle_data(self, data: str) -> None:
        """Keep a text."""
        if not self.hidden and data.strip():
            self.parts.append(" ".join(data.split()))


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for every file that is gone, new or different."""
    for name in sorted({*before, *after}):
        if name not in after:
            yield f"gone: {name}"
        elif name not in before:
            yield f"new: {name}"
        elif before[name] != after[name]:
            yield f"different: {name}"


def sha256(content: bytes) -> str:
    """Return the SHA-256 of bytes."""
    return hashlib.sha256(content).hexdigest()


def main() -> None:
    """Write golden hashes, or compare with them."""
    if sys.argv[1:2] == ["job"]:
        run_job(sys.argv[2:])
        return
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mode", choices=("write", "compare"))
    parser.add_argument("file", type=Path, help="JSON file of hashes")
    parser.add_argument("--root", type=Path, default=ROOT, help="checkout to run")
    parser.add_argument("--folder", type=Path, help="empty folder to run in, and to keep")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="golden-") as temporary:
        folder = (args.folder or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        run_all(args.root.resolve(), folder)
        hashes = hash_results(folder / "results")
    if args.mode == "write":
        args.file.write_text(json.dumps(hashes, indent=1) + "\n")
        print(f"{len(hashes)} files")
        return
    lines = [*differences(json.loads(args.file.read_text()), hashes)]
    print("\n".join([*lines, f"{len(lines)} of {len(hashes)} files are not as before"]))
    sys.exit(bool(lines))


if __name__ == "__main__":
    main()
