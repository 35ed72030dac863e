"""The verdict on every method, with its numbers."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.captions import joined
from collateral.findings._shared.tables import source_of
from collateral.findings.checks import red_gates
from collateral.findings.verdict import LIKE
from collateral.findings.verdict.picture import points
from collateral.findings.verdict.sentences import DIFFERENCE, EQUIVALENCE, Said, said_of
from collateral.results.table import REFERENCE, CellTable

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
    """Yield the table of verdicts, or of the red checks; nothing where there are neither."""
    if red := [Line(gate.name, [Field(gate.text)]) for gate in red_gates(cell)]:
        grid = Grid("Check", ["Red, as"], [red], is_prose=True)
        caption = FORBIDDEN.format(title=cell.title)
        yield Table("verdict", "Verdicts", [grid], caption, records=_records(cell))
    elif said := list(said_of(cell)):
        lines = [Line(one.label, _fields(one)) for one in said]
        grid = Grid("Method", ["Verdict", "In numbers"], [lines], is_prose=True)
        caption = _caption(cell)
        yield Table("verdict", "Verdicts", [grid], caption, CONVENTIONS, _records(cell))


def _fields(said: Said) -> list[Field]:
    test = EQUIVALENCE if said.verdict == LIKE else DIFFERENCE
    names = (DIFFERENCE, f"{test}_low", f"{test}_high")
    first, *others = (source_of(said.run, name, at=at) for at in TESTED for name in names)
    return [
        Field(said.verdict, source=source_of(said.run, "verdict")),
        Field(said.sentence, source=first, also=tuple(others)),
    ]


def _caption(cell: CellTable) -> str:
    if len(cell.seeds) == 1:
        return TOO_FEW
    is_known = not np.isnan(cell.values(REFERENCE, "base_ua")).all()
    told = CAPTION.format(title=cell.title, n=len(cell.seeds))
    return joined(told, "" if is_known else NO_BASE)


def _records(cell: CellTable) -> list[dict[str, Any]]:
    return [
        {str(key): value for key, value in row.items()} for row in points(cell).to_dict("records")
    ]
