"""The published values of docs/published.csv, and our own defaults."""

import csv
from collections.abc import Iterator
from io import StringIO
from typing import Any

from collateral.commands.list import format_values
from collateral.plugins.find import METHOD, params_class

# Defaults that differ from every published value on purpose; docs/methods.md has the reasons.
OURS: dict[str, dict[str, Any]] = {
    "amun": {"lr_decay_epochs": None, "median_after": None, "give_up": True},
    "boundary": {"batch_size": 256},
    "iu": {"augment": False},
    "ltd": {"targets": "clean"},
    "munba": {"bargain": "exact"},
    "neighbor": {"within": "retain", "candidates": None},
    "rum": {"low": None},
    "unsir": {"augment": True},
}


def published() -> str:
    """Return the published values of all methods as CSV: methods, source, values."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([["method", "source", "values"], *_published()])
    return text.getvalue()


def _published() -> Iterator[list[str]]:
    """Yield one row per source and set of values, with all methods that share them."""
    of: dict[tuple[str, str], list[str]] = {}
    for name in METHOD.names():
        for source, values in params_class(name).published.items():
            of.setdefault((source, format_values(values)), []).append(name)
    for (source, values), names in of.items():
        yield [" ".join(names), source, values]
