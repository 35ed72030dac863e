"""Sections of the page: sentences, tables and figures of each finding; definitions of terms."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from collateral.contract.tables import Table
from collateral.findings._shared.compare import name_extremes
from collateral.findings.registry import (
    VIEWS,
    AnyTable,
    Problem,
    cell_name,
    in_page_order,
    make_tables,
    run_safely,
    view_function,
)
from collateral.plots.page import Chart, draw
from collateral.plugins.find import FINDING
from collateral.results import layout
from collateral.results.files import read_json
from collateral.results.table import CellTable

# Titles of a cell's tabs by name; a finding's constant PLACE is the name of its tab.
TABS = {
    "summary": "Summary",
    "neighbours": "Neighbours",
    "attacks": "Attacks",
    "cost": "Cost",
    "ablations": "Ablations",
    "runs": "Runs",
}
# Definitions of terms: the glossary of the page, and what a term of a text opens.
TERMS = {
    "UA": "Unlearning accuracy: accuracy on the forget set; some literature prints 100 − UA",
    "RA": "Retain accuracy: accuracy on the retained train examples",
    "TA": "Test accuracy: accuracy on the test set",
    "MIA": "Membership inference attack: share of the forget set that it calls non-members",
    "RTE": "Run-time efficiency: seconds from the base model to the unlearned model",
    "Retrain": "A model trained from the start without the forgotten examples",
    "Original": "The model before unlearning: the result of doing nothing; a control, not a method",
    "LTD taught by Retrain": "LTD's student, trained with Retrain's own predictions on the forget "
    "set in place of a local teacher's: what LTD could reach with a perfect teacher; a control, "
    "because it needs Retrain",
    "cell": "One forget set of the benchmark, with all runs on it",
    "damage": "Near loss minus far loss: what the neighbours lose beyond all others",
    "near loss": "Accuracy lost against Retrain on the retained examples nearest to the forget set",
    "far loss": "Accuracy lost against Retrain on all other examples",
    "margin": "Largest difference from Retrain that counts as equal",
    "neighbours": "The near examples, those most similar to the forget set; kept: retained "
    "examples, new: test examples. Similarity: cosine of an example's features (the inputs of the "
    "base model's last layer) with the sum of the forgotten examples' features; of several "
    "affected classes, the largest; mean over seeds. Near are as many as the affected classes have "
    "in the set (if whole classes are forgotten: as a class has on average), but at least 10 and "
    "at most a quarter of the set, which may include dissimilar ones",
    "RMIA": "A membership attack on each example: can it tell forgotten examples from test "
    "examples of the same classes? AUC: 0.5 is guessing; compare it with Retrain's",
    "Avg. Gap": "Mean absolute deviation from Retrain over UA, RA, TA and MIA, in points",
}
# Code between backticks, or a term.
_FOUND = re.compile(
    rf"(`[^`]+`|\b(?:{'|'.join(map(re.escape, sorted(TERMS, key=len, reverse=True)))})\b)",
    re.IGNORECASE,
)
_BY_LOWER = {term.lower(): text for term, text in TERMS.items()}
_NAMES = {term.lower(): term for term in TERMS if term[0].isupper()}  # matched in this case only
T = TypeVar("T")


@dataclass(frozen=True)
class Block:
    """A table, and the figures whose names begin with the table's name."""

    table: Table
    pictures: list[Chart]


@dataclass(frozen=True)
class Section:
    """The results of one finding, which answers one question."""

    finding: str
    question: str
    title: str  # title of at most eight words
    place: str  # name of the tab of the page
    words: str = ""  # sentence that answers the finding's question
    pictures: list[Chart] = field(default_factory=list)  # figures that belong to no table
    blocks: list[Block] = field(default_factory=list)


@dataclass
class Findings:
    """Collects the sections of all findings; `problems` lists findings that raised an error."""

    root: Path  # folder of the benchmark
    reference: str = layout.RETRAIN  # name of the run that others are compared with
    problems: list[Problem] = field(default_factory=list)

    def sections(self, source: AnyTable) -> list[Section]:
        """Return the non-empty sections of a cell, or those over all cells, in the page's order."""
        captions = self.root / layout.FIGURES / cell_name(source) / layout.CAPTIONS
        known = read_json(captions) if captions.exists() else []
        drawn = {one["name"]: one["finding"] for one in known}
        names = in_page_order(VIEWS, reference=self.reference)
        found = [self._section(name, source, drawn) for name in names]
        return [one for one in found if one.words or one.pictures or one.blocks]

    def _section(self, name: str, source: AnyTable, drawn: Mapping[str, str]) -> Section:
        """Return the section of a finding; `drawn` is a dict from printed figure to its finding."""
        finding, cell = FINDING.load(name), cell_name(source)
        pictures = []
        if name in drawn.values():
            function = "plots" if cell else "plots_across"
            plots = self._ask(name, "plots", cell, lambda: _call(name, function, source))
            pictures = [
                draw(one, quote("/".join(filter(None, (layout.FIGURES, cell, one.name)))))
                for one in plots
                if drawn.get(one.name) == name
            ]
        tables = self._ask(name, "table", cell, lambda: make_tables(name, source))
        words = ""
        if isinstance(source, CellTable):
            words = "".join(self._ask(name, "words", cell, lambda: _call(name, "words", source)))
            if tables + pictures and not words and hasattr(finding, "ANSWER"):
                answer = self._ask(
                    name, "words", cell, lambda: [name_extremes(source, *finding.ANSWER)]
                )
                words = "".join(answer)
        else:
            across = self._ask(name, "words", cell, lambda: _call(name, "words_across", source))
            words = "".join(across)
        return Section(
            name,
            str(finding.__doc__).partition("\n")[0],
            getattr(finding, "TITLE", name.replace("_", " ").capitalize()),
            getattr(finding, "PLACE", "summary"),
            words,
            [one for one in pictures if _owner(one, tables) is None],
            [Block(table, [p for p in pictures if _owner(p, tables) is table]) for table in tables],
        )

    def _ask(self, name: str, part: str, cell: str, make: Callable[[], Iterable[T]]) -> list[T]:
        """Return the part of a finding that `make` computes; empty if `make` raises an error."""
        found, problem = run_safely(lambda: list(make()), name, part, cell)
        known = {(one.finding, one.cell, one.error) for one in self.problems}
        # An import error occurs again for each part of the same finding, but is listed only once.
        if problem and (name, cell, problem.error) not in known:
            self.problems.append(problem)
        return found or []


def _call(name: str, function: str, source: AnyTable) -> Iterable[Any]:
    """Call a function of a finding's module `views`; empty if there is no such function."""
    found = view_function(name, function)
    return found(source) if found else ()


def _owner(picture: Chart, tables: Sequence[Table]) -> Table | None:
    """Return the table that a figure belongs to: `sweep-k-affected` belongs to `sweep-k`."""
    owners = [table for table in tables if f"{picture.name}-".startswith(f"{table.name}-")]
    return max(owners, key=lambda table: len(table.name), default=None)


def split_terms(text: str) -> list[tuple[str, str | None]]:
    """Split a text at code and at the terms in TERMS, and pair each part with its definition.

    Only a term's first occurrence has a definition; that of code is None, any other is empty.
    The templates write the tags (macro `gloss`), so that no text is exempt from escaping.
    """
    seen: set[str] = set()
    parts: list[tuple[str, str | None]] = []
    for place, word in enumerate(_FOUND.split(text)):
        is_term = place % 2 == 1 and word not in seen
        is_other_word = word != _NAMES.get(word.lower(), word)
        if word.startswith("`") and place % 2 == 1:
            parts.append((word.strip("`"), None))
        elif is_term and not is_other_word:
            seen.add(word)
            parts.append((word, _BY_LOWER[word.lower()]))
        else:
            parts.append((word, ""))
    return parts
