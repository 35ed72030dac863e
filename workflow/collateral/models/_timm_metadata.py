"""Metadata of timm's models, read from a file without torch, because importing timm takes seconds.

`pytest tests/contract/test_timm.py --fix` rewrites the file.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from collateral.contract.messages import nearest_names, quoted

PREFIX = "timm/"
FILE = Path(__file__).with_name("_timm.csv")
COLUMNS = ("name", "numbers", "features", "multiply_adds", "pixels", "is_sized")


@dataclass(frozen=True)
class TimmMetadata:
    """Metadata of a model without its head, on images of its default size."""

    numbers: int  # number of weights and buffers
    features: int
    multiply_adds: int  # multiply-adds per image
    pixels: int  # height times width of the default image size
    is_sized: bool  # whether the image size is an argument of the model


@cache
def read_all() -> dict[str, TimmMetadata | None]:
    """Return a dict from timm model to metadata, or to None if its head is not one linear layer."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return {row["name"]: _facts(row) for row in csv.DictReader(file)}


def names() -> list[str]:
    """Return the names of timm models that a config can use."""
    return [PREFIX + name for name, facts in read_all().items() if facts]


def find_timm_metadata(model: str) -> TimmMetadata:
    """Return the metadata of a timm model by its name in the config."""
    facts = read_all().get(model.removeprefix(PREFIX))
    if facts is None:
        raise ValueError(no_such(model))
    return facts


def no_such(model: str) -> str:
    """Return the error for an unknown timm model, with the most similar names."""
    if model.removeprefix(PREFIX) in read_all():
        return f"{quoted(model)}: its head is not one linear layer; choose another"
    near = nearest_names(model, names())
    return f"no model {quoted(model)} among the {len(names())} of timm" + (
        f"; nearest: {', '.join(near)}" if near else ""
    )


def _facts(row: dict[str, str]) -> TimmMetadata | None:
    if not row["numbers"]:
        return None
    numbers, features, multiply_adds, pixels, is_sized = (int(row[name]) for name in COLUMNS[1:])
    return TimmMetadata(numbers, features, multiply_adds, pixels, bool(is_sized))
