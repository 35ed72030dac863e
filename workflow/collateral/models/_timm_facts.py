"""What timm has, and what it is like, read from a file: importing timm takes seconds. No torch.

`pytest tests/contract/test_timm.py --fix` writes the file anew.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from collateral.contract.spelling import closest, shown

PREFIX = "timm/"
FILE = Path(__file__).with_name("_timm.csv")
COLUMNS = ("name", "numbers", "features", "multiply_adds", "pixels", "is_sized")


@dataclass(frozen=True)
class TimmFacts:
    """A model without its head, on images of its own size."""

    numbers: int  # of its file
    features: int
    multiply_adds: int  # of an image
    pixels: int  # of that image
    is_sized: bool  # whether it is told the size of images


@cache
def known() -> dict[str, TimmFacts | None]:
    """Return all models by name; None for what has no single linear head."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return {row["name"]: _facts(row) for row in csv.DictReader(file)}


def names() -> list[str]:
    """Return what may stand in a config."""
    return [PREFIX + name for name, facts in known().items() if facts]


def timm_facts(model: str) -> TimmFacts:
    """Return the facts of a model by its name in a config."""
    facts = known().get(model.removeprefix(PREFIX))
    if facts is None:
        raise ValueError(no_such(model))
    return facts


def no_such(model: str) -> str:
    """Say that timm has no such classifier, and what comes near."""
    if model.removeprefix(PREFIX) in known():
        return f"{shown(model)}: its head is not one linear layer; choose another"
    near = closest(model, names())
    return f"no model {shown(model)} among the {len(names())} of timm" + (
        f"; nearest: {', '.join(near)}" if near else ""
    )


def _facts(row: dict[str, str]) -> TimmFacts | None:
    if not row["numbers"]:
        return None
    numbers, features, multiply_adds, pixels, is_sized = (int(row[name]) for name in COLUMNS[1:])
    return TimmFacts(numbers, features, multiply_adds, pixels, bool(is_sized))
