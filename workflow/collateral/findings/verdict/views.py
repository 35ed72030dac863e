"""The verdict on every method, with its numbers: a table and a sentence."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from collateral.contract.metrics import format_exact_percent
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.contract.verdicts import ALPHA
from collateral.findings._shared.captions import join_sentences
from collateral.findings.checks import red_gates
from collateral.findings.columns import number_source
from collateral.findings.verdict import LIKE, VERDICTS
from collateral.findings.verdict.picture import points
from collateral.findings.verdict.sentences import (
    DIFFERENCE,
    EQUIVALENCE,
    MethodVerdict,
    find_measures,
    find_verdicts,
)
from collateral.results.table import CellTable

CAPTION = "Verdicts: {title}; n = {n} seeds."
CONVENTIONS = (
    "The first that holds. Collapsed: a seed diverged or collapsed, or TA is below half of "
    "Retrain's. Did not forget: UA is above the midpoint of the base model's and Retrain's; where "
    "these two are within the margin, MIA is below Retrain's. Hurt the neighbours: near loss "
    "(accuracy lost against Retrain on the nearest retained examples) and damage (near minus far "
    "loss) are above zero. Hurt everyone: far loss, on retained or on test examples, is above zero "
    "and above the margin. Like Retrain: equivalent on UA, MIA, near loss, far loss and damage. "
    "Differs from Retrain: one of them differs. Cannot tell: neither is found. In brackets: 95 % "
    "intervals over seeds at levels by Holm over all methods and measures, so that at most 5 % of "
    "cells without any difference have a finding (like Retrain: 90 % intervals). Tests, "
    "calibration and margins: docs/statistics.md."
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
MORE_SEEDS = (
    "Probably {count} seeds would decide {labels}: `seeds: [{seeds}]` in the config; finished runs "
    "stay."
)
NO_LOOKS = (
    "Deciding again after adding seeds raises the error above 5 %, unless the config declares "
    "`looks` beforehand."
)
MOST_LISTED = 20  # seeds that are written out in the line for the config
LOOKS = "Looks declared in the config: {looks}."


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table of verdicts, or of the red checks, if there are any."""
    if red := [Line(gate.name, [Field(gate.text)]) for gate in red_gates(cell)]:
        grid = Grid("Check", ["Red, as"], [red], is_prose=True)
        caption = FORBIDDEN.format(title=cell.title)
        yield Table("verdict", "Verdicts", [grid], caption, records=_make_records(cell))
    elif verdicts := list(find_verdicts(cell)):
        lines = [Line(verdict.label, _make_fields(cell, verdict)) for verdict in verdicts]
        grid = Grid("Method", ["Verdict", "In numbers"], [lines], is_prose=True)
        caption = _make_caption(cell, verdicts)
        yield Table("verdict", "Verdicts", [grid], caption, CONVENTIONS, _make_records(cell))


def _make_fields(cell: CellTable, method: MethodVerdict) -> list[Field]:
    test = EQUIVALENCE if method.verdict == LIKE else DIFFERENCE
    names = (DIFFERENCE, f"{test}_low", f"{test}_high", f"{test}_p")
    measures = find_measures(cell, method.run, method.verdict)
    first, *others = (number_source(method.run, name, at=at) for at in measures for name in names)
    return [
        Field(method.title, source=number_source(method.run, "verdict", at=method.verdict)),
        Field(method.sentence, source=first, also=tuple(others)),
    ]


def _make_caption(cell: CellTable, verdicts: list[MethodVerdict]) -> str:
    if len(cell.seeds) == 1:
        return TOO_FEW
    is_known = not np.isnan(cell.values(cell.reference, "base_ua")).all()
    caption = CAPTION.format(title=cell.title, n=len(cell.seeds))
    return join_sentences(
        caption, "" if is_known else NO_BASE, propose_seeds(cell, verdicts), _name_looks(cell)
    )


def propose_seeds(cell: CellTable, verdicts: list[MethodVerdict]) -> str:
    """Return the config line with the seeds that would probably decide what is undecided."""
    needed = {v.label: cell.number(v.run, "seeds_needed") for v in verdicts}
    known = {label: int(count) for label, count in needed.items() if not np.isnan(count)}
    if not known or (count := _choose_count(cell, max(known.values()))) is None:
        return ""
    new = (seed for seed in range(count + len(cell.seeds)) if seed not in cell.seeds)
    seeds = [*cell.seeds, *islice(new, count - len(cell.seeds))]
    listed = ", ".join(map(str, seeds if count <= MOST_LISTED else [*seeds[:3], "...", seeds[-1]]))
    return MORE_SEEDS.format(count=count, labels=", ".join(known), seeds=listed)


def _choose_count(cell: CellTable, needed: int) -> int | None:
    """Return the number of seeds to propose: the next declared look, or what is needed."""
    looks = [int(at) for at in cell.indices(cell.reference, "look_level")]
    if len(looks) < 2:
        return needed
    return next((look for look in looks if look > len(cell.seeds)), None)


def _name_looks(cell: CellTable) -> str:
    """Return the declared looks with their levels; without any, a warning about adding seeds."""
    looks = cell.indices(cell.reference, "look_level")
    levels = {at: cell.number(cell.reference, "look_level", at=at) for at in looks}
    if all(level == ALPHA for level in levels.values()):
        return NO_LOOKS
    parts = [f"{at} seeds at {format_exact_percent(level)}" for at, level in levels.items()]
    return LOOKS.format(looks=", ".join(parts))


def _make_records(cell: CellTable) -> list[dict[str, Any]]:
    return [
        {str(key): value for key, value in row.items()} for row in points(cell).to_dict("records")
    ]


def words(cell: CellTable) -> str:
    """Name the methods of each verdict, the worst first; with a red check, only the check."""
    if red := red_gates(cell):
        return f"No verdict: {'; '.join(f'{gate.name}: {gate.text}' for gate in red)}."
    found = list(find_verdicts(cell))
    titles = {one.verdict: one.title for one in found}
    groups = {v: [one.label for one in found if one.verdict == v] for v in VERDICTS if v in titles}
    parts = [f"{titles[v]}: {', '.join(labels)}" for v, labels in groups.items()]
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if text else ""
