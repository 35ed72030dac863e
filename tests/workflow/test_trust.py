"""A damaged file below results/ is named in one line, or does no harm: docs/data/damages.md."""

from __future__ import annotations

import re
import shutil
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from conftest import REPOSITORY, SMOKE, Job, Project
from damage import (
    DAMAGES,
    RESULTS,
    Example,
    damaged,
    delete,
    examples,
    flip,
    set_apart,
    stop_of,
    swap,
)

from collateral.results import provenance
from collateral.results.verification import DISPENSABLE

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
DOCUMENT = REPOSITORY / "docs/data/damages.md"
# A job of each rule that reads results, and of each way to do so.
JOBS = {
    "split": {},
    "base": {"seed": "0"},
    "retrain": {"seed": "0"},
    "tune": {"method": "ltd"},
    "support_size": {"seed": "0"},
    "unlearn": {"run": "ft", "seed": "0"},
    "track": {"run": "ltd", "seed": "0"},
    "unlearn a sweep": {"run": "ltd@beta=1", "seed": "1"},
    "unlearn a control": {"run": "ideal", "seed": "0"},
    **{rule: {} for rule in ("neighbours", "pictures", "metrics", "gather", "tables")},
    **{rule: {} for rule in ("figures", "report", "check", "index")},
}
LINE = r"collateral \w+: (\S+): (.+); (?:delete and run again: rm -r \S+|run again)"
WORDS = {
    "is not the one that": "content",
    "broken: ": "itself",
    "does not fit its own hash": "itself",
    "has no hash of itself": "itself",
    "its place is": "place",
    "lists it": "record",
    "is missing": "missing",
    "used another version of": "inputs",
}
HARMLESS, GOES_ON = "–", "goes on"
OPENED: set[str] = set()
sys.addaudithook(lambda event, args: OPENED.add(str(args[0])) if event == "open" else None)


class GoesOnError(Exception):
    """A stage found all that it read sound, and would compute for long."""


def go_on(*_: object, **__: object) -> None:
    raise GoesOnError


@dataclass(frozen=True)
class Trial:
    """A finished experiment in which files may be damaged, and who reads them."""

    jobs: dict[str, Job]
    scratch: Path
    readers: dict[Path, list[str]]
    written: dict[str, dict[Path, bytes]]  # by a job that reads what is sound

    def run(self, name: str) -> str | None:
        """Run a job here, then move its results away; return what it stops with, if it does."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        with set_apart(self.jobs[name], self.scratch):
            return stop_of(self.jobs[name].command[1:])

    def files(self) -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in self.scratch.rglob("*") if path.is_file()}

    def note(self, name: str) -> None:
        """Run a job on what is sound: note what it reads and, if that is soon done, writes."""
        provenance._cached_hash.cache_clear()  # what another job hashed is not opened again
        OPENED.clear()
        try:
            assert self.run(name) is None
            self.written[name] = self.files()
        except GoesOnError:
            pass
        own = [Path(path) for path in self.jobs[name].output]  # opened for the hashes of a record
        for path in sorted(map(Path, OPENED)):
            is_own = any(path.is_relative_to(one) for one in own)
            if path.is_relative_to(RESULTS) and path.exists() and not is_own:
                self.readers[path].append(name)

    @property
    def aside(self) -> Path:
        return self.scratch.with_name("aside")


@pytest.fixture(scope="module")
def trial(finished: Project, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    folder = tmp_path_factory.mktemp("trust")
    shutil.copytree(finished.folder / "results", folder / "results")
    planned = finished.jobs(*SMOKE, "--forceall")
    jobs = {
        name: next(j for j in planned if j.rule == name.split()[0] and w <= j.wildcards.items())
        for name, w in ((name, wildcards.items()) for name, wildcards in JOBS.items())
    }
    made = Trial(jobs, folder / "scratch", defaultdict(list), {})
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr("collateral.training.run.Run.phase", go_on)
        patch.setattr("collateral.stages.figures.draw_all", go_on)
        # Of files that are as they were, the hash of the walk before.
        patch.setattr("collateral.results.verification.content_hash", provenance.file_hash)
        for name in jobs:
            made.note(name)
        yield made


def word_of(said: str) -> str:
    found = {word for part, word in WORDS.items() if part in said}
    assert len(found) == 1, said
    return found.pop()


def said_by(trial: Trial, reader: str) -> str | None:
    """Return in a word what a job says of what it reads; if nothing, it writes the same as ever."""
    try:
        said = trial.run(reader)
    except GoesOnError:
        return GOES_ON
    if said is None:
        assert trial.files() == trial.written[reader]
        return None
    line = re.fullmatch(LINE, said)
    assert line, said
    return word_of(line[2])


def verified(one: Example) -> str:
    """Return in a word what verify says of a file, or of what was made from it."""
    lines = (stop_of(["verify"]) or "").splitlines()[:-1]
    about = [line for line in lines if line.startswith(f"{one.path}: ")]
    return word_of((about or lines)[0]) if lines else ""


def outcome(trial: Trial, one: Example, name: str) -> str:
    """Return in a word or two what a damage comes to."""
    with damaged(one, DAMAGES[name], trial.aside) as is_changed:
        # Who reads what was remade has no reason to doubt it.
        readers = trial.readers.get(one.path, []) if is_changed and name != "remade" else []
        words = set(filter(None, (said_by(trial, reader) for reader in readers)))
        found = verified(one)
    # A job may do without what is gone, not with what is damaged.
    assert name == "deleted" or GOES_ON not in words, f"{one.path}, {name}: goes unnoticed"
    words -= {GOES_ON}
    is_spared = name == "deleted" and one.path.name in DISPENSABLE
    assert not words or found or is_spared, f"{one.path}, {name}: verify says nothing"
    return ", ".join(sorted(words)) or (f"verify: {found}" if found else HARMLESS)


def outcomes(trial: Trial) -> str:
    """Return the table; kinds of which all is the same share a row."""
    rows: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for kind, one in examples(trial.readers).items():
        rows[tuple(outcome(trial, one, name) for name in DAMAGES)].append(f"`{kind}`")
    lines = sorted((", ".join(sorted(kinds)), *row) for row, kinds in rows.items())
    return table(*in_few_columns(["file", *DAMAGES], lines))


def in_few_columns(
    header: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[list[str], list[tuple[str, ...]]]:
    """Let damages that come to the same for all files share a column."""
    columns: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, *cells in zip(header, *rows, strict=True):
        columns[tuple(cells)].append(name)
    return [", ".join(names) for names in columns.values()], list(zip(*columns, strict=True))


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def check_section(name: str, found: str, request: pytest.FixtureRequest) -> None:
    """Compare with what the page has after a mark; `--fix` writes it there."""
    before, mark, rest = DOCUMENT.read_text().partition(f"<!-- {name} -->\n")
    stated, end, after = rest.partition("<!-- end -->")
    if request.config.getoption("--fix"):
        DOCUMENT.write_text("".join([before, mark, found, end, after]))
    else:
        assert found == stated, (
            "docs/data/damages.md is stale: pytest tests/workflow/test_trust.py --fix"
        )


def test_the_page_says_what_every_damage_of_every_kind_of_file_comes_to(trial, request):
    check_section("outcomes", outcomes(trial), request)


BENCHMARK = RESULTS / "smoke"
CELL = BENCHMARK / "digit_3-50"
GA, GA_OF_1, RL = (CELL / run / "outputs.npz" for run in ("seed-0/ga", "seed-1/ga", "seed-0/rl"))
BASE, BASE_OF_1 = (BENCHMARK / f"base/seed-{seed}/model.safetensors" for seed in (0, 1))


def array_changed(name: str, change: Callable[[np.ndarray], np.ndarray]) -> Callable:
    def rewrite(one: Example) -> None:
        with np.load(one.path) as file:
            arrays = dict(file)
        np.savez(one.path, **{**arrays, name: change(arrays[name])})

    return rewrite


def rolled(name: str, axis: int = 0) -> Callable:
    return array_changed(name, lambda array: np.roll(array, 1, axis))


def edited(old: str, new: str) -> Callable:
    def edit(one: Example) -> None:
        text = one.path.read_text()
        assert old in text
        one.path.write_text(text.replace(old, new, 1))

    return edit


TWENTY_EDITED = array_changed("test_prediction", lambda array: np.r_[1 - array[:20], array[20:]])
# What was done, by which job it is seen, the file, the damage and the other file of it.
BEFORE: dict[str, tuple] = {
    "outputs of two runs swapped": ("metrics", GA, swap, RL),
    "outputs of two seeds swapped": ("metrics", GA, swap, GA_OF_1),
    "20 predictions edited in a valid .npz": ("metrics", GA, TWENTY_EDITED),
    "labels rolled by one": ("metrics", BENCHMARK / "labels.npz", rolled("train")),
    "neighbours rolled by one": (
        *("metrics", CELL / "neighbours.npz", rolled("train_similarity", axis=1)),
    ),
    "a bit of the base's weights flipped": ("unlearn", BASE, flip),
    "the base's weights of another seed": ("unlearn", BASE, swap, BASE_OF_1),
    "images rolled by one": ("unlearn", BENCHMARK / "dataset.npz", rolled("train_images")),
    "a learning rate chosen that is not in the grid": (
        *("track", CELL / "tune/ltd/selected.json", edited('"lr": 0.', '"lr": 1.')),
    ),
    "ok turned into diverged": (
        *("metrics", GA.with_name("record.json"), edited('"ok"', '"diverged"')),
    ),
    "a number edited in a cell's metrics.csv": (
        *("gather", CELL / "metrics.csv", edited(",ok\n", "9,ok\n")),
    ),
    "outputs deleted": ("metrics", GA, delete),
}


def test_causes_of_wrong_numbers_in_the_past_now_end_with_an_error(trial, request):
    said = []
    for what, (job, path, damage, *other) in BEFORE.items():
        with damaged(Example(path, *other * 2 or (path, path)), damage, trial.aside):
            line = re.fullmatch(LINE, trial.run(job) or "")
            assert line and stop_of(["verify"]), what
            said.append(f"`{job}: {line[1]}: {line[2]}`")
    check_section("before", f"{'; '.join(BEFORE)}.\n\nOf the first: {said[0]}.\n", request)
