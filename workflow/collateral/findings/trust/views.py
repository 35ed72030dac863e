"""Table of the evidence about every number with its verdict, and a figure of the AUCs."""

import math
from collections.abc import Callable, Iterator, Sequence

from collateral.contract.claims import FORGETTING, Claim
from collateral.contract.metrics import EMPTY
from collateral.contract.tables import Field, Grid, Line, Source, Table
from collateral.findings.trust.judged import claim_label, list_claims
from collateral.findings.trust.rule import (
    KEYS,
    NOT,
    Evidence,
    Verdict,
    judge_benchmark,
    read_evidence,
)
from collateral.plots.plot import Axis, Level, Panel, Plot, Series
from collateral.plots.style import Look
from collateral.results.layout import RETRAIN
from collateral.results.table import BenchmarkTable

CAPTION = (
    "AUC of each number: would it tell models that saw the forget set from models that did not? "
    "0.5 is chance. In brackets: 95 % intervals over models. {seeds} Verdicts follow from "
    "thresholds that the config states; docs/which-number.md explains the tests. A number without "
    "a verdict has too few models, or not all kinds of known models."
)
SUBJECTS = {
    "outputs": "The model forgot (outputs)",
    "inside": "The model forgot (inside)",
    "distance": "Far from Retrain",
    "harm": "Harm elsewhere",
    "locality": "Harm is local",
}
TITLE = "Which numbers tell who saw the forget set?"
PLOT_CAPTION = (
    "AUC of every number that claims something of forgetting, with 95 % intervals over models: 1 "
    "means that every model that saw the forget set has a larger number, in the direction of its "
    "claim, than every model that did not."
)
COLOUR = "#4477aa"
ROW_INCHES = 0.22  # height of a number's row in the figure


def tables_across(table: BenchmarkTable) -> Iterator[Table]:
    """Yield the table of verdicts, one grid per claim; nothing without the key `trust`."""
    verdicts = {one.claim: one for one in judge_benchmark(table)}
    measured = [claim for claim in list_claims() if read_evidence(table.cells, claim)]
    grids = [
        Grid(title, _headings(table), [[_line(table, one, verdicts.get(one)) for one in own]])
        for about, title in SUBJECTS.items()
        if (own := [claim for claim in measured if claim.about == about])
    ]
    if not grids:
        return
    counts = [found.seeds for one in measured for found in read_evidence(table.cells, one).values()]
    seeds = f"At most {max(counts):.0f} models per group."
    records = [record for one in measured for record in _records(table, one, verdicts.get(one))]
    yield Table(
        "trust", "Which number can be trusted?", grids, CAPTION.format(seeds=seeds), records=records
    )


def _headings(table: BenchmarkTable) -> list[str]:
    return [*(cell.name for cell in table.cells), "Dose", "Change", "Verdict", "Failed tests"]


def _line(table: BenchmarkTable, claim: Claim, verdict: Verdict | None) -> Line:
    by_cell = read_evidence(table.cells, claim)
    areas = [
        _area_field(claim, cell.name, by_cell.get(cell.name, Evidence())) for cell in table.cells
    ]
    dose = _worst([one.dose for one in by_cell.values()], min)
    changes = [value for one in by_cell.values() for value in (one.change, one.reference)]
    change = _worst(changes, max)
    others = [Field(_text(dose), dose), Field(_text(change), change)]
    texts = (verdict.words, verdict.failed_tests or EMPTY) if verdict else (EMPTY, EMPTY)
    is_aside = verdict is not None and verdict.code == NOT
    return Line(claim_label(claim), [*areas, *others, *map(Field, texts)], is_aside=is_aside)


def _area_field(claim: Claim, cell: str, one: Evidence) -> Field:
    area, low, high = one.auc
    if math.isnan(area):
        return Field(EMPTY)
    source = Source(RETRAIN, "trust_auc", claim.set, claim.name, cell)
    return Field(f"{area:.2f} [{low:.2f}, {high:.2f}]", area, source=source)


def _worst(values: Sequence[float], choose: Callable[[Sequence[float]], float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return choose(known) if known else math.nan


def _text(value: float) -> str:
    return EMPTY if math.isnan(value) else f"{value:.2f}"


def _records(
    table: BenchmarkTable, claim: Claim, verdict: Verdict | None
) -> Iterator[dict[str, object]]:
    """Yield the evidence of each cell, without rounding, with the verdict over all cells."""
    words, code = (verdict.words, verdict.code) if verdict else ("", "")
    for cell, one in read_evidence(table.cells, claim).items():
        areas = {
            f"{key}{end}": value
            for key in KEYS
            for end, value in zip(("", "_low", "_high"), getattr(one, key), strict=True)
        }
        yield {
            **{"metric": claim.name, "set": claim.set, "label": claim_label(claim)},
            **{"about": claim.about, "cell": cell, **areas},
            "seeds": one.seeds,
            **{"dose": one.dose, "adjacent": one.adjacent, "change": one.change},
            "reference": one.reference,
            **{"verdict": words, "code": code},
            "failures": " ".join(verdict.failures) if verdict else "",
        }


def plots_across(table: BenchmarkTable) -> Iterator[Plot]:
    """Yield the AUCs of all numbers that claim something of forgetting, one panel per cell."""
    claims = [
        claim
        for claim in list_claims()
        if claim.about in FORGETTING and read_evidence(table.cells, claim)
    ]
    if not claims:
        return
    panels = []
    for cell in table.cells:
        found = [read_evidence([cell], claim).get(cell.name, Evidence()).auc for claim in claims]
        areas, lows, highs = zip(*found, strict=True)
        places = [float(place) for place in range(len(claims))]
        points = Series(
            "AUC",
            Look(COLOUR, "o"),
            x=areas,
            y=places,
            mark="point",
            low=lows,
            high=highs,
            is_across=True,
        )
        ticks = dict(zip(places, map(claim_label, claims), strict=True))
        y = Axis(ticks=ticks, limits=(-0.7, len(claims) - 0.3), is_reversed=True)
        x, chance = Axis("AUC", limits=(0.0, 1.0)), Level(0.5, "x", label="chance")
        panels.append(Panel([points], cell.title, x, y, [chance], number_format=".2f"))
    height = 0.6 + ROW_INCHES * len(claims)
    yield Plot("trust", TITLE, PLOT_CAPTION, panels, row_height=height)
