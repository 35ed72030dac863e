"""Insert bugs into a copy of the project, one at a time, and check that the named tests fail.

    python tools/bugs.py                   # all bugs, one after another: about 20 minutes
    python tools/bugs.py report drawn      # bugs whose area or description contains one of these
    python tools/bugs.py --jobs 2
    python tools/bugs.py --stale           # run no test; list the bugs that cannot be inserted

The bugs are in bugs.toml. A bug consists of a text in a file, the text that replaces it, and the
tests that should fail. It is not a diff, because the context lines of a diff change with every
other change. If a file was renamed, the old text is searched in all of workflow/; if the text
itself is gone, the bug is stale and must be rewritten. `mutants.py` makes mechanical changes
everywhere in the pure modules; these are bugs as a tired engineer writes them, a few in every area,
including tables, plots and pages.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "workflow/collateral"
SUFFIXES = (".py", ".smk", ".j2")
SECONDS = 900  # time limit for the tests of one bug


@dataclass(frozen=True)
class Bug:
    """A text in a file, the text with the bug, and the tests that should fail."""

    area: str
    words: str
    file: str  # path below workflow/collateral, or below workflow/ if it begins with a dot
    old: str
    new: str
    tests: tuple[str, ...]

    def path(self, root: Path) -> Path | None:
        """Return the file that contains the old text exactly once; None if there is none."""
        first = root / PACKAGE / self.file if not self.file.startswith(".") else None
        first = first or root / "workflow" / self.file.removeprefix("./")
        texts = source_texts(root)
        files = [first, *texts]
        return next((p for p in files if texts.get(p, "").count(self.old) == 1), None)

    def missing_tests(self, root: Path) -> list[str]:
        """Return the patterns of tests that no test file matches."""
        return [name for name in self.tests if not [*(root / "tests").glob(f"{name}.py")]]

    def problems(self, root: Path) -> list[str]:
        """Return the reasons why the bug is stale; empty if it can be inserted."""
        found = [f"no test file matches {name}" for name in self.missing_tests(root)]
        if self.path(root) is None:
            files = [p for p, text in source_texts(root).items() if self.old in text]
            where = f"{len(files)} files, or twice in one" if files else "no file"
            found.insert(0, f"its text is in {where} of workflow/: {self.old!r}")
        return found


@cache
def source_texts(root: Path) -> dict[Path, str]:
    """Return the text of every rule, module and template below workflow/, by path."""
    files = sorted((root / "workflow").rglob("*"))
    return {p: p.read_text() for p in files if p.is_file() and p.suffix in SUFFIXES}


def read_bugs() -> Iterator[Bug]:
    """Yield the bugs in bugs.toml."""
    areas = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
    for area, bugs in areas.items():
        yield from (Bug(area, **{**bug, "tests": tuple(bug["tests"])}) for bug in bugs)


BUGS = tuple(read_bugs())


def test_files(root: Path, bug: Bug) -> list[str]:
    """Return the paths of the files of its tests."""
    return [str(path) for name in bug.tests for path in sorted((root / "tests").glob(f"{name}.py"))]


def run_tests(root: Path, files: Iterable[str]) -> tuple[bool, str]:
    """Run tests in a copy until one fails; return whether all passed, and the failed test."""
    variables = {**os.environ, "PYTHONPATH": str(root / "workflow"), "PYTHONDONTWRITEBYTECODE": "1"}
    words = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *files]
    try:
        done = subprocess.run(
            words, cwd=root, env=variables, capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return False, ""
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    first = failed[0].partition(" - ")[0].rpartition("/")[2] if failed else ""
    return done.returncode == 0, first


def look(bug: Bug, root: Path) -> tuple[str, str]:
    """Insert a bug into a copy, run its tests, remove it; return the result and the failed test.

    The result is "seen", "not seen" or "stale".
    """
    path = bug.path(root)
    if path is None:
        return "stale", "its text is in no file, or in one twice"
    sound = path.read_text()
    path.write_text(sound.replace(bug.old, bug.new))
    try:
        has_passed, first = run_tests(root, test_files(root, bug))
    finally:
        path.write_text(sound)
    return ("seen", first) if first else ("not seen", "" if has_passed else "no test failed")


def copy_project(target: Path) -> Path:
    """Copy the files that git tracks, as they are in the working tree."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    return target


def main() -> None:
    """Print one line per bug, and the number of bugs in each area that the tests noticed."""
    parser = ArgumentParser()
    parser.add_argument("names", nargs="*", default=[""])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--stale", action="store_true", help="print stale bugs, run no test")
    args = parser.parse_args()
    bugs = [b for b in BUGS if any(name in f"{b.area} {b.words}" for name in args.names)]
    if args.stale:
        raise SystemExit(print_stale(bugs))
    with tempfile.TemporaryDirectory() as folder:
        copies: Queue[Path] = Queue()
        for place in range(args.jobs):
            copies.put(copy_project(Path(folder) / str(place)))
        first = copies.get()
        files = sorted({file for bug in bugs for file in test_files(first, bug)})
        is_sound, failed = run_tests(first, files)
        assert is_sound, f"without a bug: {failed or 'tests took too long'}"
        copies.put(first)

        def look_in_a_copy(bug: Bug) -> tuple[Bug, str, str]:
            root = copies.get()
            try:
                return bug, *look(bug, root)
            finally:
                copies.put(root)

        with ThreadPoolExecutor(args.jobs) as pool:
            found = []
            for bug, state, by in pool.map(look_in_a_copy, bugs):
                print(f"{state:8} | {bug.area:8} | {bug.words} | {by}", flush=True)
                found.append((bug.area, state))
    print_sums(found)


def print_stale(bugs: list[Bug]) -> int:
    """Print every stale bug; return 1 if there is one."""
    stale = {bug: found for bug in bugs if (found := bug.problems(ROOT))}
    for bug, found in stale.items():
        print("\n    ".join([f"{bug.area}: {bug.words} ({bug.file})", *found]))
    print(f"{len(stale)} of {len(bugs)} bugs are stale")
    return 1 if stale else 0


def print_sums(found: list[tuple[str, str]]) -> None:
    """Print the number of noticed bugs in each area; exit with 1 if a bug is stale."""
    total, seen = Counter(area for area, _ in found), Counter(a for a, s in found if s == "seen")
    for area, count in total.items():
        print(f"{area}: {seen[area]} of {count}")
    print(f"all: {sum(seen.values())} of {len(found)}")
    stale = [state for _, state in found if state == "stale"]
    raise SystemExit(1 if stale else 0)


if __name__ == "__main__":
    main()
