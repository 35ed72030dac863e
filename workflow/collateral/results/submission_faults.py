"""Why a submission is refused: files, hashes, seeds, and arrays that do not fit the benchmark."""

from __future__ import annotations

import tokenize
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from collateral.contract.messages import listed, printable
from collateral.results import layout
from collateral.results.arrays import BROKEN, open_arrays
from collateral.results.files import InvalidResultError, report_broken_file
from collateral.results.outputs import KEPT, MANY_CLASSES
from collateral.results.provenance import content_hash
from collateral.results.published_cells import PublishedCell
from collateral.results.submission import (
    STATEMENT,
    CellStatement,
    Statement,
    Submission,
    compute_outputs,
)

DTYPES = ("float16", "float32")
INTEGERS = tuple(f"{kind}int{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64))
# Types of the arrays besides the logits, by the last part of their name.
TYPES = {
    **dict.fromkeys(("confidence", "kept", "rest"), (*DTYPES, "float64")),
    **dict.fromkeys(("prediction", "classes", "num_classes"), INTEGERS),
}
MOST_ARRAYS = 100
# Errors by a header, which numpy reads as a Python literal, besides those of a damaged file.
BAD_HEADER = (*BROKEN, MemoryError, RecursionError, SyntaxError, TypeError, tokenize.TokenError)
BYTES_OF_ROW = 128  # largest size of what is stored of an example besides its logits
ROUNDING = 2.0**-11  # largest relative error of a number rounded to float16
# Largest absolute error of a confidence besides that of the logits' rounding.
FLOAT_ERROR = 1e-6
MOST_FAULTS = 20  # number of faults that are listed
Headers = dict[str, tuple[tuple[int, ...], str]]  # shape and type by name of the array


def find_faults(submission: Submission, cells: Mapping[str, PublishedCell]) -> list[str]:
    """Return why a submission is refused, one sentence per reason; empty if it is sound."""
    stated = submission.stated
    found = [*_find_file_faults(submission), *_find_name_faults(stated)]
    for name in stated.cells:
        if name not in cells:
            found.append(f"{printable(name)}: no such cell; {listed('there are', [*cells])}")
            continue
        found += _find_reference_faults(stated.cells[name], cells[name])
        found += _find_seed_faults(submission, cells[name])
        for seed in cells[name].seeds:
            if submission.is_own_file(submission.path(name, seed)):
                found += _find_output_faults(submission, cells[name], seed)
    more = len(found) - MOST_FAULTS
    return found[:MOST_FAULTS] + ([f"... and {more} more"] if more > 0 else [])


def _find_file_faults(submission: Submission) -> Iterator[str]:
    listed_files = submission.stated.files
    for name in sorted({*listed_files, *submission.names} - {STATEMENT}):
        path = submission.folder / name
        if not submission.is_inside(path):
            yield f"{printable(name)}: a link, or outside of the submission's folder"
        elif not path.is_file():
            yield f"{printable(name)}: {STATEMENT} lists it, and it is missing"
        elif name not in listed_files:
            yield f"{printable(name)}: {STATEMENT} does not list it"
        elif content_hash(path) != listed_files[name]:
            yield f"{printable(name)}: was changed after {STATEMENT} was written"


def _find_name_faults(stated: Statement) -> Iterator[str]:
    if stated.run in (layout.ORIGINAL, layout.RETRAINED, *layout.RESERVED):
        yield f"run: {stated.run} is the name of something else; choose another"


def _find_reference_faults(stated: CellStatement, cell: PublishedCell) -> Iterator[str]:
    """Yield what the submission was made with that is not what was published."""
    own = cell.hashes
    if stated.examples not in ("", own.examples):
        yield f"{cell.name}: made with other examples or another order (hash of the labels)"
    if stated.forget_set not in ("", own.forget_set):
        yield f"{cell.name}: made with another forget set than the published (hash of split.json)"
    for what, theirs, ours in (
        ("base model", stated.base, own.base),
        ("Retrain", stated.retrain, own.retrain),
    ):
        other = [str(s) for s, value in theirs.items() if value and value != ours.get(s, value)]
        if other:
            seeds = ", ".join(other)
            yield f"{cell.name}: made with another {what} than the published, seed {seeds}"


def _find_seed_faults(submission: Submission, cell: PublishedCell) -> Iterator[str]:
    folder = submission.folder / cell.name
    there = {path.parent.name for path in folder.glob(f"seed-*/{layout.OUTPUTS}")}
    planned = {f"seed-{seed}" for seed in cell.seeds}
    if missing := sorted(planned - there):
        yield f"{cell.name}: {', '.join(missing)} missing: all {len(planned)} seeds are required"
    if more := sorted(there - planned):
        yield f"{cell.name}: {', '.join(more)}: not a seed of the benchmark, whose seeds are fixed"


def _find_output_faults(submission: Submission, cell: PublishedCell, seed: int) -> Iterator[str]:
    """Yield what is wrong with the arrays of one seed."""
    place = f"{cell.name}, seed {seed}"
    try:
        if wrong := list(_find_shape_faults(submission.path(cell.name, seed), cell)):
            yield from (f"{place}: {text}" for text in wrong)
            return
        is_lost = submission.is_diverged(cell.name, seed)
        is_stated = seed in submission.stated.cells[cell.name].diverged
        if is_stated and not is_lost:
            yield f"{place}: stated as diverged, and every train example has a confidence"
        for name, label in (("train", cell.labels.train), ("test", cell.labels.test)):
            logits = submission.logits(cell.name, seed, name)
            if np.isfinite(logits).all():
                stated = _read_stated(submission.path(cell.name, seed), name)
                wrong = list(_find_inconsistencies(logits, label, stated))
                yield from (f"{place}, {name}: {text}" for text in wrong)
            elif not (is_lost and is_stated):
                remedy = "; if the method diverged, state it (--diverged)" if is_lost else ""
                yield f"{place}, {name}: logits are not finite{remedy}"
    except InvalidResultError as error:
        yield f"{place}: {error.path.name}: {error.reason}"


def _find_shape_faults(path: Path, cell: PublishedCell) -> Iterator[str]:
    """Compare the headers of the arrays with the benchmark, before anything is unpacked."""
    classes = len(cell.labels.class_names)
    rows = len(cell.labels.train) + len(cell.labels.test)
    if path.stat().st_size > rows * (8 * classes + BYTES_OF_ROW) + 2**20:
        yield "the file is larger than its arrays can be"
        return
    headers = _read_headers(path)
    for name, label in (("train", cell.labels.train), ("test", cell.labels.test)):
        array = f"{name}_logits"
        if array not in headers and f"{name}_kept" in headers and classes > MANY_CLASSES:
            yield from _find_short_faults(path, headers, name, (len(label), classes))
        elif array not in headers:
            yield f"no array {array}; {listed('there are', sorted(headers))}"
        else:
            shape, dtype = headers[array]
            if shape != (len(label), classes):
                yield f"{array}: shape {shape}, not {(len(label), classes)}: examples, classes"
            elif dtype not in DTYPES:
                yield f"{array}: type {dtype}, not {' or '.join(DTYPES)}"
        expected = dict.fromkeys(("confidence", "prediction"), (len(label),))
        yield from _find_wrong_headers(headers, name, expected)


def _find_short_faults(
    path: Path, headers: Headers, name: str, shape: tuple[int, int]
) -> Iterator[str]:
    """Yield what is wrong with logits of which only some are stored (`compress_logits`)."""
    rows, classes = shape
    expected = {"kept": (rows, KEPT), "classes": (rows, KEPT), "rest": (rows,), "num_classes": ()}
    if missing := [key for key in expected if f"{name}_{key}" not in headers]:
        yield f"no array {name}_{missing[0]}"
        return
    if wrong := list(_find_wrong_headers(headers, name, expected)):
        yield from wrong
        return
    with open_arrays(path) as file:
        if int(file[f"{name}_num_classes"]) != classes:
            yield f"{name}_num_classes: {int(file[f'{name}_num_classes'])}, not {classes}"
        found = file[f"{name}_classes"].astype(np.int64)
        if not ((found >= 0) & (found < classes)).all():
            yield f"{name}_classes: there are {classes} classes, numbered from 0"


def _find_wrong_headers(
    headers: Headers, name: str, expected: Mapping[str, tuple[int, ...]]
) -> Iterator[str]:
    for key, shape in expected.items():
        found, dtype = headers.get(f"{name}_{key}", (shape, TYPES[key][0]))
        if found != shape:
            yield f"{name}_{key}: shape {found}, not {shape}"
        elif dtype not in TYPES[key]:
            yield f"{name}_{key}: type {dtype}, not {' or '.join(TYPES[key])}"


def _read_headers(path: Path) -> Headers:
    """Return shape and type of every array in an .npz file; each name must be there once."""
    found: Headers = {}
    with report_broken_file(path, *BAD_HEADER), zipfile.ZipFile(path) as archive:
        if len(archive.infolist()) > MOST_ARRAYS:
            raise ValueError(f"more than {MOST_ARRAYS} arrays")
        for entry in archive.infolist():
            name = entry.filename.removesuffix(".npy")
            if name == entry.filename or name in found:
                raise ValueError(f"{printable(entry.filename)}: no array, or twice there")
            with archive.open(entry) as member:
                if npy.read_magic(member) != (1, 0):  # others may have a header of 4 GB
                    raise ValueError(f"{printable(name)} is not of version 1.0")
                shape, _, dtype = npy.read_array_header_1_0(member)
                found[name] = (shape, str(dtype))
    return found


def _read_stated(path: Path, subset: str) -> dict[str, NDArray[Any]]:
    """Return the confidences and predictions in a file, if it has them."""
    with open_arrays(path) as file:
        names = [n for n in ("confidence", "prediction") if f"{subset}_{n}" in file]
        return {name: file[f"{subset}_{name}"] for name in names}


def _find_inconsistencies(
    logits: NDArray[Any], label: NDArray[np.int64], stated: Mapping[str, NDArray[Any]]
) -> Iterator[str]:
    """Yield where stated predictions and confidences are not those of the logits."""
    rows = np.arange(len(label))
    if "prediction" in stated:
        given = stated["prediction"].astype(np.int64)
        is_class = (given >= 0) & (given < logits.shape[1])
        top = logits.max(axis=1)
        count = int((~is_class | (logits[rows, np.where(is_class, given, 0)] != top)).sum())
        if count:
            yield f"{count} predictions are not the class of the largest logit"
    if "confidence" in stated:
        exact = compute_outputs(logits, label).confidence
        # An error d of all logits changes a probability by at most d / 2: p (1 - p) <= 1/4.
        most = np.abs(logits.astype(np.float32)).max(axis=1) * ROUNDING + FLOAT_ERROR
        count = int((~(np.abs(stated["confidence"] - exact) <= most)).sum())
        if count:
            yield f"{count} confidences are not the softmax of the logits"
