"""Conventions that results depend on: seeds, batch sizes, class indices, selection rules."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal, get_args

from collateral.contract.messages import quoted, unknown_name

Columns = Mapping[str, Sequence[Any]]  # dict from name to column, with a value per train example
FILE = "file"  # name of the column that contains the file paths of examples

# Smallest batch: a training step on two examples has poor batch statistics and can ruin a model.
LEAST_BATCH = 8

# Rules by which tuning selects a trial without using Retrain.
Rule = Literal["paper", "interval", "teacher"]
RULES: tuple[Rule, ...] = get_args(Rule)
PAPER: Rule = "paper"
OF_MODEL = "model"  # value of `data.mean`: the normalisation of the model's own weights
TEACHER = "ltd"  # method whose teacher the selection rule `teacher` uses

# Images that the results of a benchmark may contain: none, those of retained examples, or all.
Showing = Literal["none", "retained", "all"]
SHOWINGS: tuple[Showing, ...] = get_args(Showing)
NO_PICTURES, RETAINED, ALL_PICTURES = SHOWINGS
# Kinds of forget sets that are deletion requests: by default, forgotten images are not shown.
WITHDRAWN = ("files", "where")

FIGURE_WIDTH = 5.5  # default width of printed figures, in inches: the text width of a paper

SKIPPED = "skipped"  # status of a run whose method cannot work on this data; its row has no numbers


class Skipped(Exception):
    """Raised by `unlearn` before its first epoch if the method cannot work, with the reason."""


def derive_seed(*names: str | int) -> int:
    """Return a 63-bit seed, the hash of `names` in their order; all seeds are derived here."""
    text = "\0".join(str(name) for name in names)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def batch_sizes(examples: int, size: int) -> list[int]:
    """Return the sizes of the batches of an epoch, in order.

    A last batch of fewer than LEAST_BATCH examples joins the batch before it, if there is one.
    """
    full, rest = divmod(examples, size)
    if full and 0 < rest < LEAST_BATCH:
        return [size] * (full - 1) + [size + rest]
    return [size] * full + [rest] * (rest > 0)


def num_batches(examples: int, size: int) -> int:
    """Return the number of batches per epoch."""
    return len(batch_sizes(examples, size))


def class_index(wanted: str | int, names: Sequence[str]) -> int:
    """Return the index of the class `wanted`, which is a name or an index.

    Raise if a number is an index but also the name of another class.
    """
    if isinstance(wanted, str):
        if wanted not in names:
            raise ValueError(unknown_name("class", wanted, names))
        return names.index(wanted)
    there_is = 0 <= wanted < len(names)
    if (name := str(wanted)) in names and names.index(name) != wanted:
        by_index = f"class {quoted(names[wanted])}" if there_is else "no class"
        raise ValueError(
            f"{wanted}: by name class {quoted(name)}, by index (from 0) {by_index}; put the name "
            "of the class that you mean in quotes"
        )
    if not there_is:
        raise ValueError(f"no class {wanted}; there are {len(names)}, 0 to {len(names) - 1}")
    return wanted


def class_indices(wanted: Sequence[str | int], names: Sequence[str]) -> list[int]:
    """Return the indices of the classes `wanted` in this order; raise if one is listed twice."""
    indices = [class_index(item, names) for item in wanted]
    for place, index in enumerate(indices):
        if index in indices[:place]:
            raise ValueError(f"class '{names[index]}' is listed twice")
    return indices


def count_share(count: int, fraction: float) -> int:
    """Return floor(count * fraction), computed in decimal arithmetic.

    In binary arithmetic, 0.29 * 100 is just below 29 and would lose an example.
    """
    return int(count * Decimal(str(fraction)))


def default_showing(kind: str) -> Showing:
    """Return which images may be shown for a kind of forget set if the config does not say it."""
    return RETAINED if kind in WITHDRAWN else ALL_PICTURES
