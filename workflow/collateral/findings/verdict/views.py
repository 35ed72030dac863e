"""The verdict on every method, with its numbers: a table and a sentence."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.captions import join_sentences
from collateral.findings.checks import red_gates
from collateral.findings.columns import number_source
from collateral.findings.verdict import LIKE, VERDICTS
from collateral.findings.verdict.picture import points
from collateral.findings.verdict.sentences import (
    DIFFERENCE,
    EQUIVALENCE,
    MethodVerdict,
    find_verdicts,
)
from collateral.results.table import CellTable

TESTED = ("ua", "damage")
CAPTION = "Verdicts: {title}; n = {n} seeds."
CONVENTIONS = (
    "The first that holds. Collapsed: a seed diverged or collapsed, or TA is below half of "
    "Retrain's. Did not forget: UA is above the midpoint of the base model's and Retrain's "
    "(one-sided t over seeds, Holm over methods), where these are further apart than the margin. "
    "Hurt the neighbours: the interval of damage (loss near the forget set minus loss far from it, "
    "against Retrain, on retained examples) lies above zero, and loss near the forget set is above "
    "zero as well (one-sided t of both, the larger p, Holm over methods). Like Retrain: UA and "
    "damage are equivalent to Retrain's (two one-sided tests). Unlike Retrain: one of them "
    "differs. Not distinguishable: neither; the seeds cannot tell. In brackets: 95 % intervals "
    "over seeds, at levels by Holm over all methods and both measures, so that at most 5 % of "
    "cells without any difference have a finding; of what is like Retrain the 90 % intervals that "
    "its tests decide by. Seeds that are all equal count as if one were one example off. Margin: "
    "1.96 times the root mean square difference between two retrainings, and no less than one "
    "forgotten example (UA) or one near example (damage); what is on it is not within."
)
NO_BASE = (
    "Whether a method forgot is not asked: without the control `original`, or a tracked run, the "
    "base model's UA is not known."
)
FORBIDDEN = (
    "No verdict and no picture: {title}. A red check says that the comparison with Retrain means "
    "nothing here. Mend what it names, and run again."
)
TOO_FEW = "Verdicts of one seed: only a collapse can be told."


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table of verdicts, or of the red checks, if there are any."""
    if red := [Line(gate.name, [Field(gate.text)]) for gate in red_gates(cell)]:
        grid = Grid("Check", ["Red, as"], [red], is_prose=True)
        caption = FORBIDDEN.format(title=cell.title)
        yield Table("verdict", "Verdicts", [grid], caption, records=_make_records(cell))
    elif verdicts := list(find_verdicts(cell)):
        lines = [Line(verdict.label, _make_fields(verdict)) for verdict in verdicts]
        grid = Grid("Method", ["Verdict", "In numbers"], [lines], is_prose=True)
        caption = _make_caption(cell)
        yield Table("verdict", "Verdicts", [grid], caption, CONVENTIONS, _make_records(cell))


def _make_fields(method: MethodVerdict) -> list[Field]:
    test = EQUIVALENCE if method.verdict == LIKE else DIFFERENCE
    names = (DIFFERENCE, f"{test}_low", f"{test}_high")
    first, *others = (number_source(method.run, name, at=at) for at in TESTED for name in names)
    return [
        Field(method.verdict, source=number_source(method.run, "verdict")),
        Field(method.sentence, source=first, also=tuple(others)),
    ]


def _make_caption(cell: CellTable) -> str:
    if len(cell.seeds) == 1:
        return TOO_FEW
    is_known = not np.isnan(cell.values(cell.reference, "base_ua")).all()
    caption = CAPTION.format(title=cell.title, n=len(cell.seeds))
    return join_sentences(caption, "" if is_known else NO_BASE)


def _make_records(cell: CellTable) -> list[dict[str, Any]]:
    return [
        {str(key): value for key, value in row.items()} for row in points(cell).to_dict("records")
    ]


def words(cell: CellTable) -> str:
    """Name the methods of each verdict, the worst first; with a red check, only the check."""
    if red := red_gates(cell):
        return f"No verdict: {'; '.join(f'{gate.name}: {gate.text}' for gate in red)}."
    found = list(find_verdicts(cell))
    groups = {v: [one.label for one in found if one.verdict == v] for v in VERDICTS}
    parts = [f"{v}: {', '.join(labels)}" for v, labels in groups.items() if labels]
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if text else ""
