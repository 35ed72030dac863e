"""Tables of docs/config.md, made from the schema of a config and of the forget sets."""

import re
from collections.abc import Iterator
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from collateral.config.schema import Config
from collateral.contract.data import DataOptions
from collateral.plugins.find import FORGET
from generators.tables import Key, list_of, rows_of


def inner(annotation: Any) -> tuple[type[BaseModel], bool] | None:
    """Return the model of a nested block, if any, and whether there are several by name."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, False
    for part in get_args(annotation):
        if found := inner(part):
            return found[0], found[1] or get_origin(annotation) is dict
    return None


def blocks_in(model: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
    """Yield the nested blocks of a model at every depth, each under its key."""
    for key, info in model.model_fields.items():
        if found := inner(info.annotation):
            yield key, found[0]
            yield from blocks_in(found[0])


# Models by their mark in the page; DataOptions is not in the schema, as plug-ins add to it.
MODELS = {
    "config": Config,
    **dict(blocks_in(Config)),
    "data": DataOptions,
    **dict(blocks_in(DataOptions)),
}
# Blocks whose keys are named with their defaults; editors and other pages explain them.
NAMED = ("relearn", "residual", "zrf", "linear", "cka", "resurface", "patch", "trust", "data")
# Where the keys of a benchmark are explained further; here they have one sentence.
ELSEWHERE = {
    **dict.fromkeys(("init", "retrain", "atlas", "cells", "sweeps"), ""),
    **dict.fromkeys(("support_size", "probe", "shadows", "trust"), ""),
    "controls": "methods.md#controls",
    "looks": "statistics.md#adding-seeds",
    "margin": "statistics.md#equivalence-and-margins",
    "pictures": "trust.md#what-leaves-the-machine",
    "select": "findings.md#selection-of-tuned-values",
}


def config_tables() -> dict[str, str]:
    """Return the table of every block and of the forget sets by mark."""
    return dict(_tables()) | {"kinds": _kinds()}


def _tables() -> Iterator[tuple[str, str]]:
    """Yield the table of each block; a key that an earlier table has is only a link to it."""
    first: dict[Key, str] = {}
    for mark, model in MODELS.items():
        rows = list(rows_of(model))
        rows = [_shortened(row) for row in rows] if mark == "benchmarks" else rows
        if mark in NAMED:
            named = ", ".join(map(_named, rows))
            yield mark, f"- `{mark}`: " + (f"`{named}`\n" if rows else "no keys\n")
            continue
        new = [row for row in rows if first.setdefault(row, mark) == mark]
        parts = [list_of(new)] if new else [] if rows else ["No keys.\n"]
        parts += [
            f"{row.key}: as in [{first[row]}](#{first[row]}).\n" for row in rows if row not in new
        ]
        yield mark, "\n".join(parts)


def _shortened(row: Key) -> Key:
    """Return a row with the first sentence and a link, if the key is explained elsewhere."""
    key = row.key.strip("`")
    if key not in ELSEWHERE:
        return row
    sentence = re.split(r"\. (?=[A-Z`])", row.what)[0].rstrip(".")
    return row._replace(what=f"{sentence} ([more]({ELSEWHERE[key] or f'#{key}'})).")


def _named(row: Key) -> str:
    """Return a key with its default."""
    return f"{row.key.strip('`')}: {row.default.strip('`')}"


def _kinds() -> str:
    """Return one line per kind of forget set."""
    modules = {name: FORGET.load(name) for name in FORGET.names()}
    return "".join(f"- `{name}`: {_first(module)}\n" for name, module in modules.items())


def _first(module: Any) -> str:
    return " ".join(str(module.__doc__).split("\n\n")[0].split())
