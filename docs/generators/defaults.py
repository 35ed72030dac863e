"""Tables of docs/defaults.md: published values, and our own defaults."""

from collections.abc import Iterator
from typing import Any

from collateral.commands.list import format_values
from collateral.plugins.find import METHOD, params_class
from generators.tables import table

# Defaults that differ from every published value on purpose; docs/defaults.md has the reasons.
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
