"""Weights from a user's file: read without running anything in it, and fitted to a model."""

from __future__ import annotations

import errno
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from collateral.contract.spelling import plain
from collateral.models._classifier import Classifier
from collateral.models._taken_apart import BODY
from collateral.results.chain import content_hash
from collateral.results.record import NAMES_IN_FILE
from collateral.training.renaming import check_no_two, renamed

LOG = logging.getLogger(__name__)
HEAD = "head."
WITHIN = ("state_dict", "model_state_dict", "model")  # where others keep a state dict among more
COUNTER = "num_batches_tracked"  # of batch norm: old files lack it, and nothing here reads it
NAMED = 3  # of the names that do not fit
SAVED = (b"PK", b"\x80")  # how files begin that torch saved: a zip, or of old a pickle

Weights = dict[str, Tensor]


@contextmanager
def naming(key: str) -> Iterator[None]:
    """Put the key of the config before what is wrong with its file."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from None


def about(file: Path, rename: Mapping[str, str]) -> dict[str, Any]:
    """Return what a record says of a user's file."""
    return {"name": file.name, "hash": content_hash(file), "rename": dict(rename)}


def names_in_file(path: Path, rename: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return for the record the names that `rename` replaced, by the names that it gave."""
    new = renamed(read_weights(path), rename) if rename else {}
    changed = {name: old for old, name in new.items() if old != name}
    return {NAMES_IN_FILE: changed} if changed else {}


def read_weights(path: Path) -> Weights:
    """Read a .safetensors file, or a state dict that torch saved; code in it is refused."""
    if path.suffix == ".safetensors":
        try:
            return load_file(path)
        except SafetensorError as error:
            raise ValueError(f"'{path}': no sound .safetensors file: {error}") from None
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # of every kind where a file is broken, or holds code
        if isinstance(error, OSError) and error.errno != errno.EINVAL:  # which a cut zip gives
            raise
        raise _refusal(path, error) from None
    return _state_dict(content, path)


def _refusal(path: Path, error: Exception) -> ValueError:
    """Tell a file that holds code from one that is damaged, or that torch never saved."""
    with path.open("rb") as file:
        was_saved = file.read(2).startswith(SAVED)
    is_refused = type(error).__name__ == "UnpicklingError" or "TorchScript" in str(error)
    if not (was_saved and is_refused):
        return ValueError(
            f"'{path}': cannot be read: damaged, or no file that torch saved; copy it anew"
        )
    return ValueError(
        f"'{path}': refused, as it is no file of tensors alone, and what else is in it might "
        "run; save model.state_dict(), at best as .safetensors"
    )


def _state_dict(content: Any, path: Path) -> Weights:
    """Find the names and tensors in what torch has read."""
    inner = {key: content[key] for key in WITHIN if isinstance(content, dict) and key in content}
    found = {key: one for key, one in {"": content, **inner}.items() if _is_state_dict(one)}
    if len(found) > 1:
        both = " and ".join(map(repr, found))
        raise ValueError(f"'{path}': has state dicts under {both}; save the one that is meant")
    for one in found.values():
        return {str(name): value for name, value in one.items()}
    keys = [plain(str(key)) for key in content] if isinstance(content, dict) else []
    there = f" (found: {_some(keys)})" if keys else ""
    raise ValueError(
        f"'{path}': not a state dict, from names to tensors{there}; save model.state_dict()"
    )


def _is_state_dict(content: Any) -> bool:
    if not isinstance(content, dict) or not content:
        return False
    return all(isinstance(value, Tensor) for value in content.values())


def start_from(model: Classifier, path: Path, rename: Mapping[str, str]) -> None:
    """Give a model all weights of a file but a head of another size, or none, which stays new."""
    given = _named(model, read_weights(path), rename)
    own = model.state_dict()
    heads = [name for name in own if name.startswith(HEAD)]
    if any(name not in given or given[name].shape != own[name].shape for name in heads):
        found = [_shape(given[name]) for name in heads if name in given]
        LOG.info("'%s': its head (%s) is left out", path, ", ".join(found) or "none")
        given |= {name: own[name] for name in heads}
    _give(model, given, path)


def take_over(model: Classifier, path: Path, rename: Mapping[str, str]) -> None:
    """Give a model all weights of a file."""
    _give(model, _named(model, read_weights(path), rename), path)


def _named(model: Classifier, weights: Weights, rename: Mapping[str, str]) -> Weights:
    """Return the weights by the model's own names; what it has not keeps its name."""
    own, names = model.state_dict(), renamed(weights, rename)
    for name, new in names.items():
        inner = model.names(new)
        names[name] = inner if new not in own and inner in own else new
    check_no_two(names)
    return {new: weights[name] for name, new in names.items()}


def _give(model: Classifier, given: Weights, path: Path) -> None:
    """Load the weights, or say in one line which names and shapes do not fit."""
    own = model.state_dict()
    missing = [name for name in own if name not in given and not name.endswith(COUNTER)]
    strange = [name for name in given if name not in own]
    others = [
        f"{_shown(name)} {_shape(given[name])} for {_shape(own[name])}"
        for name in given
        if name in own and given[name].shape != own[name].shape
    ]
    parts = {"missing": list(map(_shown, missing)), "not in the model": list(map(plain, strange))}
    wrong = [f"{what}: {_some(names)}" for what, names in parts.items() if names]
    if others:
        wrong.append(f"of another shape: {_some(others)}")
    if wrong:
        raise ValueError(
            f"'{path}' does not fit the model; {'; '.join(wrong)}{_hint(model, given)}"
        )
    model.load_state_dict({**own, **given})


def _hint(model: Classifier, given: Weights) -> str:
    """Return the `rename` that would help, where all names have one word too many in front."""
    first = {name.partition(".")[0] + "." for name in given}
    if len(first) > 1:
        return ""
    (prefix,) = first
    renamed = _named(model, given, {prefix: ""})
    helps = len(renamed.keys() & model.state_dict().keys()) > len(given) / 2
    return f"; try rename: {{{prefix}: ''}}" if helps else ""


def _some(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")


def _shown(name: str) -> str:
    """Return a name as the model that was taken apart has it."""
    return plain(name.removeprefix(BODY))


def _shape(value: Tensor) -> str:
    return "x".join(map(str, value.shape)) or "1"
