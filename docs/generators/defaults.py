"""Tables of docs/defaults.md: published values, our own defaults, and tuning results."""

import re
from collections.abc import Iterator
from typing import Any

from collateral.commands.list import find_tuned, format_values
from collateral.plugins.find import METHOD, params_class
from generators.tables import table

TRIED = ["method", "cell", "defaults", "nearest of the config's"]
# Defaults that differ from every published value on purpose; docs/deviations.md has the reasons.
OURS: dict[str, dict[str, Any]] = {
    "amun": {"lr_decay_epochs": None, "median_after": None, "give_up": True},
    "iu": {"augment": False},
    "ltd": {"targets": "clean"},
    "munba": {"bargain": "exact"},
    "neighbor": {"within": "retain", "candidates": None},
    "rum": {"low": None},
}


def default_tables() -> dict[str, str]:
    """Return the tables of the page by mark."""
    return {
        "published": table(["method", "source", "values"], _published()),
        "ours": table(["method", "default"], _ours()),
        "tried": f"Retrain's UA: {_retrain_ua()}.\n\n{table(TRIED, _tuning_results())}",
    }


def _published() -> Iterator[list[str]]:
    """Yield one row per source and set of values, with all methods that share them."""
    of: dict[tuple[str, str], list[str]] = {}
    for name in METHOD.names():
        for source, values in params_class(name).published.items():
            of.setdefault((source, format_values(values)), []).append(f"`{name}`")
    for (source, values), names in of.items():
        yield [", ".join(names), source, values]


def _ours() -> Iterator[list[str]]:
    for name, fields in OURS.items():
        shown = {field: "null" if value is None else value for field, value in fields.items()}
        yield [f"`{name}`", format_values(shown)]


def _tuning_results() -> Iterator[list[str]]:
    """Yield one row per tuned run: the trial of the defaults and the trial nearest to Retrain."""
    for name in METHOD.names():
        for one in find_tuned(name):
            run = f"`{name}`" if one.run == name else f"`{name}` ({one.run})"
            nearest = "the same" if one.nearest == one.default else _numbers(one.nearest)
            yield [run, one.cell, _numbers(one.default), nearest]


def _numbers(trial: str) -> str:
    """Return a trial without the names of its numbers, which the page gives once."""
    return re.sub(r"(?:UA|affected RA|RA|gap) ", "", trial)


def _retrain_ua() -> str:
    """Return the UA of Retrain in every cell, in one line."""
    cells = {one.cell: one.retrain_ua for name in METHOD.names() for one in find_tuned(name)}
    return "; ".join(f"{cell} {ua} %" for cell, ua in cells.items())
