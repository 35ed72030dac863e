"""Load weights from a user's file into a model, without running code in the file."""

from __future__ import annotations

import errno
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from collateral.contract.messages import printable, quoted
from collateral.models._classifier import BODY, Classifier, Names
from collateral.results.provenance import content_hash
from collateral.results.record import NAMES_IN_FILE

LOG = logging.getLogger(__name__)
HEAD = "head."
# Keys under which a checkpoint may store its state dict.
WITHIN = ("state_dict", "model_state_dict", "model")
COUNTER = "num_batches_tracked"  # counters of batch norm, which old files lack and no code uses
NAMED = 3  # maximum number of wrong parameter names in an error message
SAVED = (b"PK", b"\x80")  # first bytes of files that torch.save wrote: a zip file, or an old pickle

Weights = dict[str, Tensor]


@contextmanager
def name_in_errors(key: str) -> Iterator[None]:
    """Prefix errors about a file with the config key that names the file."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from None


def describe_file(file: Path, rename: Mapping[str, str]) -> dict[str, Any]:
    """Return name, hash and renamed prefixes of a user's file of weights, for a record."""
    return {"name": file.name, "hash": content_hash(file), "rename": dict(rename)}


def names_in_file(path: Path, rename: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the old name of each weight that `rename` renames, by its new name, for the record."""
    new = rename_all(read_weights(path), rename) if rename else {}
    changed = {name: old for old, name in new.items() if old != name}
    return {NAMES_IN_FILE: changed} if changed else {}


def read_weights(path: Path) -> Weights:
    """Read a .safetensors file or a state dict of torch.save; refuse files with code."""
    if path.suffix == ".safetensors":
        try:
            return load_file(path)
        except SafetensorError as error:
            raise ValueError(f"'{path}': no sound .safetensors file: {error}") from None
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # Damaged files, and files with code, raise errors of many types.
        if isinstance(error, OSError) and error.errno != errno.EINVAL:  # EINVAL: a truncated zip
            raise
        raise _refusal(path, error) from None
    return _state_dict(content, path)


def _refusal(path: Path, error: Exception) -> ValueError:
    """Return the error for a file that contains code, is damaged, or is not from torch.save."""
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
    """Find the state dict in the object that torch.load returned."""
    inner = {key: content[key] for key in WITHIN if isinstance(content, dict) and key in content}
    found = {key: one for key, one in {"": content, **inner}.items() if _is_state_dict(one)}
    if len(found) > 1:
        both = " and ".join(map(repr, found))
        raise ValueError(f"'{path}': has state dicts under {both}; save the one that is meant")
    for one in found.values():
        return {str(name): value for name, value in one.items()}
    keys = [printable(str(key)) for key in content] if isinstance(content, dict) else []
    there = f" (found: {_some(keys)})" if keys else ""
    raise ValueError(
        f"'{path}': not a state dict, from names to tensors{there}; save model.state_dict()"
    )


def _is_state_dict(content: Any) -> bool:
    if not isinstance(content, dict) or not content:
        return False
    return all(isinstance(value, Tensor) for value in content.values())


def load_initial(model: Classifier, path: Path, rename: Mapping[str, str]) -> None:
    """Load weights; keep the new head if the file has no head or a head of another size."""
    given = _named(model, read_weights(path), rename)
    own = model.state_dict()
    heads = [name for name in own if name.startswith(HEAD)]
    if any(name not in given or given[name].shape != own[name].shape for name in heads):
        found = [_shape(given[name]) for name in heads if name in given]
        LOG.info("'%s': its head (%s) is left out", path, ", ".join(found) or "none")
        given |= {name: own[name] for name in heads}
    _load(model, given, path)


def load_trained(model: Classifier, path: Path, rename: Mapping[str, str]) -> None:
    """Load all weights of a file, including the head."""
    _load(model, _named(model, read_weights(path), rename), path)


def _named(model: Classifier, weights: Weights, rename: Mapping[str, str]) -> Weights:
    """Return the weights under the model's own names; unknown names stay unchanged."""
    layout, names = _translate(model, rename_all(weights, rename))
    if layout:
        LOG.info("the names of the weights are those of %s", layout)
    check_distinct(names)
    return {new: weights[name] for name, new in names.items()}


def _translate(model: Classifier, names: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the name of the public layout that fits best, and the new name of each weight.

    A layout fits best if its translation gives the most names that the model has.
    """
    own = model.state_dict()

    def translate(layout: Names) -> dict[str, str]:
        by_layout = {new: new if new in own else layout(new) for new in names.values()}
        return {old: by_layout[new] if by_layout[new] in own else new for old, new in names.items()}

    layouts = {"": model.names, **model.layouts}
    found = {name: translate(layout) for name, layout in layouts.items()}
    best = max(found, key=lambda name: sum(new in own for new in found[name].values()))
    return best, found[best]


def _load(model: Classifier, given: Weights, path: Path) -> None:
    """Load the weights, or raise an error of one line with the wrong names and shapes."""
    own = model.state_dict()
    missing = [name for name in own if name not in given and not name.endswith(COUNTER)]
    strange = [name for name in given if name not in own]
    others = [
        f"{_shown(name)} {_shape(given[name])} for {_shape(own[name])}"
        for name in given
        if name in own and given[name].shape != own[name].shape
    ]
    parts = {
        "missing": list(map(_shown, missing)),
        "not in the model": list(map(printable, strange)),
    }
    wrong = [f"{what}: {_some(names)}" for what, names in parts.items() if names]
    if others:
        wrong.append(f"of another shape: {_some(others)}")
    if wrong:
        raise ValueError(
            f"'{path}' does not fit the model; {'; '.join(wrong)}{_hint(model, given, missing)}"
        )
    model.load_state_dict({**own, **given})


def _hint(model: Classifier, given: Weights, missing: Sequence[str]) -> str:
    """Return a hint for an error: why weights are missing, or which prefix of names to remove."""
    for part, reason in model.missing.items():
        if missing and all(part in name for name in missing):
            return f"; the file has {reason}"
    first = {name.partition(".")[0] + "." for name in given}
    if len(first) > 1 or not all("." in name for name in given):
        return ""
    (prefix,) = first
    _, names = _translate(model, rename_all(given, {prefix: ""}))
    helps = len({*names.values()} & model.state_dict().keys()) > len(given) / 2
    return f"; try rename: {{{prefix}: ''}}" if helps else ""


def _some(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")


def _shown(name: str) -> str:
    """Return the name of a weight in the wrapped model, for a message."""
    return printable(name.removeprefix(BODY))


def _shape(value: Tensor) -> str:
    return "x".join(map(str, value.shape)) or "1"


def rename_all(names: Iterable[str], rename: Mapping[str, str]) -> dict[str, str]:
    """Return the new name of each weight; raise if an entry of `rename` matches no name."""
    names = list(names)
    for before in rename:
        if not any(name.startswith(before) for name in names):
            first = f"; the first is {quoted(names[0])}" if names else ""
            raise ValueError(f"rename: {quoted(before)}: no name in the file begins so{first}")
    return {name: _rename(name, rename) for name in names}


def _rename(name: str, rename: Mapping[str, str]) -> str:
    # Longer prefixes are tried first, because they are more specific.
    for before in sorted(rename, key=len, reverse=True):
        if name.startswith(before):
            return rename[before] + name.removeprefix(before)
    return name


def check_distinct(new: Mapping[str, str]) -> None:
    """Raise if two weights get the same new name, because one of them would be lost."""
    before: dict[str, str] = {}
    for name, one in new.items():
        if one in before:
            both = f"{quoted(before[one])} and {quoted(name)}"
            raise ValueError(f"rename: {both} both become {quoted(one)}")
        before[one] = name
