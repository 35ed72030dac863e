"""Load weights from a user's file into a model, without running code in the file."""

from __future__ import annotations

import errno
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from collateral.contract.messages import listed, quoted
from collateral.models._classifier import BODY, Classifier, Names
from collateral.results.provenance import content_hash
from collateral.results.record import NAMES_IN_FILE

LOG = logging.getLogger(__name__)
HEAD = "head."
# Keys under which a checkpoint may store its state dict.
WITHIN = ("state_dict", "model_state_dict", "model")
# Names under which public code (OPTML-Group) stores the normalisation of images in the model.
NORMALISATION = {"normalize.mean": "mean", "normalize.std": "std"}
MOST_NAMED = 3  # maximum number of wrong names of each kind in an error message
COUNTER = "num_batches_tracked"  # counters of batch norm, which old files lack and no code uses
UNREADABLE = (
    "'{path}': cannot be read as tensors alone: it is damaged, or has code in it, which is never "
    "run; save model.state_dict(), at best as .safetensors"
)

Weights = dict[str, Tensor]


@contextmanager
def name_in_errors(key: str) -> Iterator[None]:
    """Put the config key of a file before the text of every error about the file."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from None


def describe_file(file: Path, rename: Mapping[str, str]) -> dict[str, Any]:
    """Return the record's entry for a user's weight file: name, hash, and renaming of weights."""
    return {"name": file.name, "hash": content_hash(file), "rename": dict(rename)}


def names_in_file(path: Path, rename: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return a record entry: a dict from each renamed weight's new name to its name in the file."""
    new = rename_all(read_weights(path), rename) if rename else {}
    changed = {name: old for old, name in new.items() if old != name}
    return {NAMES_IN_FILE: changed} if changed else {}


def read_weights(path: Path) -> Weights:
    """Read a .safetensors file or a state dict of torch.save; refuse files with code."""
    if path.suffix == ".safetensors":
        try:
            return load_file(path)
        except SafetensorError as error:
            raise ValueError(
                f"'{path}': no sound .safetensors file ({error}); download or save it again"
            ) from None
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # Damaged files, and files with code, raise errors of many types.
        if isinstance(error, OSError) and error.errno != errno.EINVAL:  # EINVAL: a truncated zip
            raise
        raise ValueError(UNREADABLE.format(path=path)) from None
    return _state_dict(content, path)


def _state_dict(content: Any, path: Path) -> Weights:
    """Find the state dict in the object that torch.load returned."""
    by_key = content if isinstance(content, dict) else {}
    found = [one for one in (content, *map(by_key.get, WITHIN)) if _is_state_dict(one)]
    if len(found) == 1:
        return {str(name): value for name, value in found[0].items()}
    raise ValueError(
        f"'{path}': should have one state dict, from names to tensors, but has {len(found)} "
        f"({listed('keys of the file', [*map(str, by_key)])}); save model.state_dict()"
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
    """Return the weights with names translated to the model's; unknown names stay unchanged."""
    renamed = rename_all(weights, rename)
    _leave_normalisation_out(model, weights, renamed)
    if model.adapt and not _fits(model, weights, renamed):
        weights, renamed = _adapt(model, {new: weights[name] for name, new in renamed.items()})
    layout, names = _translate(model, renamed)
    if layout:
        LOG.info("the names of the weights are those of %s", layout)
    for common, count in Counter(names.values()).most_common(1):
        if count > 1:
            same = [quoted(name) for name, new in names.items() if new == common]
            raise ValueError(f"rename: {' and '.join(same[:2])} would both become {quoted(common)}")
    return {new: weights[name] for name, new in names.items()}


def _leave_normalisation_out(model: Classifier, weights: Weights, renamed: dict[str, str]) -> None:
    """Remove a normalisation of images from the names, because the model has its own."""
    for name, new in [*renamed.items()]:
        if own := NORMALISATION.get(new):
            del renamed[name]
            given = weights[name].flatten().tolist()
            LOG.info("'%s' of the file (%s) is left out; data.%s counts", name, given, own)


def _fits(model: Classifier, weights: Weights, renamed: Mapping[str, str]) -> bool:
    """Tell whether the weights have the model's names and shapes, except those of the head."""
    own = model.state_dict()
    given = {new: weights[name].shape for name, new in _translate(model, renamed)[1].items()}
    wanted = {name: value.shape for name, value in own.items()}
    parts = ({n: s for n, s in d.items() if not n.startswith(HEAD)} for d in (given, wanted))
    found, expected = parts
    return found == expected


def _adapt(model: Classifier, given: Weights) -> tuple[Weights, dict[str, str]]:
    """Let the model's library convert weights, such as position embeddings of another size."""
    assert model.adapt is not None
    try:
        found = model.adapt(given)
    except Exception:  # A file of another model can fail in many ways; `_load` names what differs.
        LOG.info("the weights cannot be converted", exc_info=True)
        found = given
    for name, value in found.items():
        if name in given and given[name].shape != value.shape:
            LOG.info("%s: resampled from %s to %s", name, _shape(given[name]), _shape(value))
    return found, {name: name for name in found}


def _translate(model: Classifier, names: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the public naming scheme (layout) that fits best, and the new name of each weight.

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
    other = [name for name in given if name in own and given[name].shape != own[name].shape]
    shapes = {name: f"{_shape(given[name])} for {_shape(own[name])}" for name in other}
    parts = {
        "missing": [name.removeprefix(BODY) for name in missing],
        "not in the model": [name for name in given if name not in own],
        "of another shape": [f"{n.removeprefix(BODY)} {text}" for n, text in shapes.items()],
    }
    wrong = [_first_names(what, names) for what, names in parts.items() if names]
    if wrong:
        raise ValueError(
            f"'{path}' does not fit the model; {'; '.join(wrong)}{_hint(model, given, missing)}"
        )
    model.load_state_dict({**own, **given})


def _first_names(what: str, names: Sequence[str]) -> str:
    """Return a list such as "missing: a, b, c and 44 more"."""
    more = len(names) - MOST_NAMED
    return listed(what, names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


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


def _shape(value: Tensor) -> str:
    return "x".join(map(str, value.shape)) or "1"


def rename_all(names: Iterable[str], rename: Mapping[str, str]) -> dict[str, str]:
    """Return the new name of each weight; raise if an entry of `rename` matches no name."""
    names = list(names)
    for before in rename:
        if not any(name.startswith(before) for name in names):
            first = f"; the first is {quoted(names[0])}" if names else ""
            raise ValueError(f"rename: {quoted(before)}: no name in the file begins so{first}")
    new = dict(zip(names, names, strict=True))
    # Longer prefixes come last and replace shorter ones, because they are more specific.
    for before in sorted(rename, key=len):
        new |= {n: rename[before] + n.removeprefix(before) for n in names if n.startswith(before)}
    return new
