"""A submission: one method's outputs for a benchmark, in a folder or a tar file of it.

    submission.json                what its author states, and the hash of every file
    CELL/seed-S/outputs.npz        logits: train_logits, test_logits, float16 or float32, in the
                                   order of the data set, (examples, classes)
    CELL/seed-S/model.safetensors  weights, where they are sent
    CELL/trials.csv, CELL/selected.json, config.yaml    how the method was tuned, where it is sent

Numbers come from the logits alone; how the method was tuned is for a reader. Labels, forget sets,
similarities, base models and Retrains are those of the published benchmark, and a submission can
only state the hashes of those it was made with. All other files are ignored, and named.

Whoever wrote it may mean harm. Names that become part of a path are words of one folder, texts have
no control characters, and files that are no plain files, or too many or too large, are refused.
"""

from __future__ import annotations

import hashlib
import re
import stat
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from collateral.contract.messages import listed, printable
from collateral.results import layout
from collateral.results.cell import CellResults
from collateral.results.dataset import Labels
from collateral.results.files import InvalidResultError, read_json, write_json
from collateral.results.outputs import (
    ModelOutputs,
    Outputs,
    StoredOutputs,
)
from collateral.results.plan import BenchmarkPlan, CellNumbers
from collateral.results.provenance import content_hash, hash_files

STATEMENT = "submission.json"
CONFIG = "config.yaml"
JUDGED = "judged.json"  # what `collateral judge` found besides the numbers
SLUG = r"[a-z0-9_][a-z0-9_.\-]{0,99}"  # as `config.cells.is_slug`: never "." or ".."
SEED_FOLDER = "{cell}/seed-{seed}"
SETS = ("train", "test")
MADE_OF = {layout.OUTPUTS, layout.MODEL}  # files of a seed
OF_CELL = {layout.TRIALS, layout.SELECTED}
MOST_FILES = 10_000
MOST_BYTES = 2**35  # of all files together
MOST_STATED = 2**22  # bytes of submission.json
TOO_MUCH = f"more than {MOST_FILES:,} files, or than {MOST_BYTES / 2**30:.0f} GB"


def _check_text(text: str) -> str:
    """Return a text of one line; control characters would change what a terminal shows."""
    if not text.isprintable():
        raise ValueError("has characters that cannot be printed")
    return text


Slug = Annotated[str, Field(pattern=rf"\A{SLUG}\z")]
Text = Annotated[str, Field(max_length=200), AfterValidator(_check_text)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Stated(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CellStatement(_Stated):
    """A submission's statement on one cell; the hashes in it must equal the published ones."""

    examples: str = ""  # `hash_labels` of the data set
    forget_set: str = ""  # `hash` in split.json
    base: dict[int, str] = Field(default_factory=dict)  # SHA-256 of outputs.npz, by seed
    retrain: dict[int, str] = Field(default_factory=dict)
    diverged: tuple[int, ...] = ()  # seeds in which the method diverged: their logits are NaN
    seconds: Seconds | None = None  # mean time of one run, without tuning
    tuning_seconds: Seconds | None = None
    device: Text = ""


class Statement(_Stated):
    """Content of submission.json."""

    format: Literal[1] = 1
    benchmark: Slug
    run: Slug  # short name of the method
    method: Annotated[Text, Field(min_length=1, max_length=60)]  # name that the board shows
    by: Text = ""
    link: Text = ""  # paper or repository
    # Whether the method starts from the base model, or trains a new model.
    starts: Literal["base", "anew"] = "base"
    # Level of evidence that the author offers: outputs, also weights, also a config that reruns.
    evidence: Literal["outputs", "weights", "config"] = "outputs"
    cells: dict[Slug, CellStatement] = Field(min_length=1)
    files: dict[str, str] = Field(default_factory=dict)  # SHA-256 of each file


def read_statement(content: Any, place: str) -> Statement:
    """Return a statement; raise one line that names the place and the key if it is not valid."""
    try:
        return Statement.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or "the whole file"
        reason = first["msg"].replace("Extra inputs are not permitted", "unknown key")
        if first["type"] == "string_pattern_mismatch":
            reason = "no name of a folder: use a-z, 0-9, _, and from the second letter . and -"
        known = listed("known", [*Statement.model_fields])
        raise ValueError(f"{place}: {printable(key)}: {reason}; {known}") from None


@dataclass(frozen=True)
class Submission:
    """A submission whose statement was read; its arrays are read when they are needed."""

    folder: Path
    stated: Statement

    @staticmethod
    def load(folder: Path) -> Submission:
        """Read the statement of a submission; raise if it is missing or has unknown keys."""
        _check_files(folder)
        try:
            content = read_json(folder / STATEMENT)
        except InvalidResultError as error:
            raise ValueError(f"{error.path}: {error.reason}") from None
        return Submission(folder, read_statement(content, str(folder / STATEMENT)))

    def save(self) -> None:
        """Write the statement with the hash of every other file."""
        paths = [self.folder / name for name in self.names if name != STATEMENT]
        stated = self.stated.model_copy(update={"files": hash_files(paths, self.folder)})
        write_json(self.folder / STATEMENT, stated.model_dump(mode="json"))

    @cached_property
    def names(self) -> list[str]:
        """Paths of all files below the folder."""
        paths = (path for path in self.folder.rglob("*") if path.is_file() or path.is_symlink())
        return sorted(path.relative_to(self.folder).as_posix() for path in paths)

    def path(self, cell: str, seed: int, name: str = layout.OUTPUTS) -> Path:
        """Return the path of a file of one seed."""
        return self.folder / SEED_FOLDER.format(cell=cell, seed=seed) / name

    def is_inside(self, path: Path) -> bool:
        """Tell whether a path is below the folder, and neither it nor a folder of it a link."""
        try:
            place = self.folder.resolve() / path.relative_to(self.folder)
            path.is_file()  # raises if the name is too long
            return path.resolve() == place and ".." not in place.parts
        except (ValueError, OSError, RuntimeError):  # no name of a file, or links in a circle
            return False

    def is_own_file(self, path: Path) -> bool:
        """Tell whether there is a file that is inside."""
        return self.is_inside(path) and path.is_file()

    def logits(self, cell: str, seed: int, subset: str) -> NDArray[Any]:
        """Read the logits on the train or the test set."""
        return StoredOutputs(self.path(cell, seed), subset).logits

    def outputs(self, cell: str, seed: int, labels: Labels) -> ModelOutputs:
        """Return the outputs of one seed, all computed from the logits."""
        return ModelOutputs(
            compute_outputs(self.logits(cell, seed, "train"), labels.train),
            compute_outputs(self.logits(cell, seed, "test"), labels.test),
        )

    def is_diverged(self, cell: str, seed: int) -> bool:
        """Tell by the arrays, as `find_status`, if a train example has no confidence."""
        return not np.isfinite(self.logits(cell, seed, "train").max(axis=1)).all()

    @property
    def unread(self) -> list[str]:
        """Names of the files that are no part of a submission."""
        return [name for name in self.names if not self._is_part(PurePosixPath(name))]

    def _is_part(self, name: PurePosixPath) -> bool:
        cell = name.parts[0]
        if len(name.parts) == 1:
            return cell in (STATEMENT, CONFIG)
        is_of_cell = cell in self.stated.cells and len(name.parts) == 2 and name.name in OF_CELL
        is_of_seed = bool(re.fullmatch(rf"{SLUG}/seed-\d+/[^/]+", str(name)))
        return is_of_cell or (is_of_seed and cell in self.stated.cells and name.name in MADE_OF)


def _check_files(folder: Path) -> None:
    """Raise if anything in a folder is neither a file, a folder nor a link, or if it is too much.

    Links are named as faults later; nothing is read through them.
    """
    count = size = 0
    for path in folder.rglob("*"):
        found = path.lstat()
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode) or path.is_symlink()):
            name = printable(path.relative_to(folder).as_posix())
            raise ValueError(f"{folder}: {name}: neither a file nor a folder")
        count, size = count + 1, size + found.st_size
        if count > MOST_FILES or size > MOST_BYTES:
            raise ValueError(f"{folder}: {TOO_MUCH}")
    statement = folder / STATEMENT
    if statement.is_symlink():
        raise ValueError(f"{statement}: a link")
    if statement.is_file() and statement.stat().st_size > MOST_STATED:
        raise ValueError(f"{statement}: more than {MOST_STATED:,} bytes")


@contextmanager
def open_submission(path: Path) -> Iterator[Submission]:
    """Yield a submission; a tar file is unpacked to a temporary folder."""
    if path.is_dir():
        yield Submission.load(path)
        return
    with TemporaryDirectory() as name:
        _unpack(path, Path(name))
        yield Submission.load(Path(name))


def _unpack(path: Path, folder: Path) -> None:
    """Extract an uncompressed tar file of plain files; raise if a member is anything else.

    A compressed one, or a sparse member, could be small and hold more than a disk.
    """
    try:
        with tarfile.open(path, "r:") as archive:
            count = size = 0
            for member in archive:
                place = PurePosixPath(member.name)
                count, size = count + 1, size + member.size
                if count > MOST_FILES or size > MOST_BYTES:
                    raise ValueError(f"{path}: {TOO_MUCH}")
                if member.isdir():
                    continue
                is_plain = member.isreg() and not member.issparse()
                if not is_plain or ".." in place.parts or place.is_absolute():
                    raise ValueError(f"{path}: {member.name!r} is no plain file inside the folder")
                _extract(archive, member, folder / place)
    except (tarfile.TarError, EOFError, OSError) as error:
        reason = f"neither a folder nor an uncompressed tar file: {error}"
        raise ValueError(f"{path}: {reason}") from None


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    file = archive.extractfile(member)
    assert file is not None, "a regular file has content"
    with target.open("wb") as unpacked:
        while block := file.read(2**20):
            unpacked.write(block)


def open_cell(root: Path, cell: str, numbers: CellNumbers, methods: tuple[str, ...]) -> CellResults:
    """Return the results of a cell with these methods, Retrain and the base model, and no others.

    Whatever needs more than their outputs is left out: tuning, probes, shadow models, rounds.
    """
    kept = CellNumbers(
        seeds=tuple(numbers.seeds),
        base_seeds=tuple(numbers.base_seeds),
        methods=methods,
        controls=(layout.ORIGINAL,),
        attacks=tuple(numbers.attacks),
        margins=numbers.margins,
        looks=tuple(numbers.looks),
        groups=tuple(numbers.groups),
        positive=tuple(numbers.positive),
        reference=numbers.reference,
    )
    return CellResults(folder=root, cell=cell, **vars(kept))


def read_references(root: Path) -> tuple[BenchmarkPlan, dict[str, CellResults]]:
    """Return the plan of a benchmark, and its cells with Retrain and the base model alone."""
    if not (root / layout.PLAN).is_file():
        raise ValueError(
            f"{root}: no {layout.PLAN}: unpack the published benchmark (collateral unbundle), "
            "or run it"
        )
    plan = BenchmarkPlan.load(root / layout.PLAN)
    if plan.reference != layout.RETRAIN:
        raise ValueError(f"{root}: has no Retrain, so that nothing can be judged against it")
    if old := [name for name, cell in plan.cells.items() if cell.numbers is None]:
        raise ValueError(f"{root / layout.PLAN}: of an older version ({old[0]}); run it again")
    cells = {
        name: open_cell(root, name, cell.numbers, ())
        for name, cell in plan.cells.items()
        if cell.numbers is not None
    }
    return plan, cells


def state_references(cell: CellResults) -> CellStatement:
    """Return the hashes of the examples, forget set, base models and Retrains of a cell."""
    runs = {layout.ORIGINAL: "base", layout.RETRAIN: "retrain"}
    hashes: dict[str, dict[int, str]] = {name: {} for name in runs.values()}
    for result in cell.all_results():
        outputs = result.folder / layout.OUTPUTS
        if outputs.exists():
            hashes[runs[result.run]][result.seed] = content_hash(outputs)
    return CellStatement(examples=hash_labels(cell.labels), forget_set=cell.split.hash, **hashes)


def hash_labels(labels: Labels) -> str:
    """Return a hash of the labels of all examples in their order."""
    parts = (part.astype("<i8").tobytes() for part in (labels.train, labels.test))
    return hashlib.sha256(b"|".join(parts)).hexdigest()


def compute_outputs(logits: NDArray[Any], label: NDArray[np.int64]) -> Outputs:
    """Return outputs of which every part is computed from logits."""
    exact = logits.astype(np.float64)
    power = np.exp(exact - exact.max(axis=1, keepdims=True))
    confidence = power[np.arange(len(label)), label] / power.sum(axis=1)
    # As for models that are trained here: float16 would turn values above 65,504 into infinity.
    half = np.clip(exact, -6e4, 6e4).astype(np.float16)
    confidence = confidence.astype(np.float32)
    return Outputs(half, confidence, logits.argmax(axis=1).astype(np.int64), label)
