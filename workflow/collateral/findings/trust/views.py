"""Table of the evidence about every number with its verdict, and a figure of the AUCs."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from collateral.contract.claims import FORGETTING, Claim
from collateral.contract.metrics import EMPTY
from collateral.contract.tables import Field, Grid, Line, Source, Table
from collateral.findings.trust.judged import claim_label, list_claims
from collateral.findings.trust.rule import (
    CHANCE,
    KEYS,
    NOT,
    UNKNOWN,
    Evidence,
    Verdict,
    judge_benchmark,
    read_all_evidence,
    read_evidence,
)
from collateral.plots.plot import Axis, Level, Panel, Plot, Series
from collateral.plots.style import Look
from collateral.results.layout import RETRAIN
from collateral.results.table import BenchmarkTable

CAPTION = (
    "AUC of each number: would it tell models that saw the forget set from models that did not? "
    "0.5 is chance. In brackets: 95 % intervals over models, if they have a width: a number that "
    "is the same for all models has none. A number of harm or locality should stay at 0.5 there; "
    "Damaged Retrain is the worst AUC of damaged Retrains against Retrains: high is good for harm, "
    "0.5 for locality. {seeds} Verdicts follow from thresholds that the config states; "
    "docs/which-number.md explains the tests. A number without a verdict has too few models, or "
    "not all kinds of known models."
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
# Columns behind the AUCs of the cells: of numbers of forgetting, and of harm and locality.
FORGETTING_COLUMNS = ("Dose", "Next dose", "Change", "Fooled by", "Accuses", "Also fails")
HARM_COLUMNS = ("Damaged Retrain", "Fails")
COLOUR = "#4477aa"
ROW_INCHES = 0.22  # height of a number's row in the figure


def tables_across(table: BenchmarkTable) -> Iterator[Table]:
    """Yield the table of verdicts, one grid per claim; nothing without the key `trust`."""
    verdicts = {one.claim: one for one in judge_benchmark(table)}
    measured = read_all_evidence(table.cells)
    cells = [cell.name for cell in table.cells]
    grids = [
        Grid(title, headings(cells, about), [[_line(cells, *one, verdicts) for one in own]])
        for about, title in SUBJECTS.items()
        if (own := [one for one in measured.items() if one[0].about == about])
    ]
    if not grids:
        return
    counts = [one.seeds for by_cell in measured.values() for one in by_cell.values()]
    seeds = f"At most {max(counts):.0f} models per group."
    records = [
        record
        for claim, by_cell in measured.items()
        for record in _records(claim, by_cell, verdicts.get(claim))
    ]
    yield Table(
        "trust", "Which number can be trusted?", grids, CAPTION.format(seeds=seeds), records=records
    )


def headings(cells: Sequence[str], about: str) -> list[str]:
    """Return the headings of the evidence about numbers with one claim."""
    own = FORGETTING_COLUMNS if about in FORGETTING else HARM_COLUMNS
    return [*cells, *own, "Verdict"]


def columns(claim: Claim, by_cell: Mapping[str, Evidence], verdict: Verdict | None) -> list[Field]:
    """Return what was found about a number over all cells: the columns behind the cells' AUCs."""
    found = [*by_cell.values()]
    words = (verdict.other_failures, verdict.words) if verdict else ("", "")
    if claim.about not in FORGETTING:
        area = _worst_of_damaged(claim, found)
        return [Field(area_text(area), area[0]), *map(_words, words)]
    worst = [_worst([one.dose for one in found], min), _worst([one.adjacent for one in found], min)]
    worst.append(_worst([change for one in found for change in one.changes], max))
    fooled = (verdict.fooled_by, verdict.accuses) if verdict else ("", "")
    return [*(Field(_text(value), value) for value in worst), *map(_words, (*fooled, *words))]


def _worst_of_damaged(claim: Claim, found: Sequence[Evidence]) -> tuple[float, float, float]:
    """Return the worst AUC of damaged Retrains: the lowest (harm), the farthest from 0.5 (else)."""
    areas = [one.hurt for one in found if not math.isnan(one.hurt[0])]
    if claim.about == "harm":
        return min(areas, default=UNKNOWN)
    return max(areas, key=lambda area: abs(area[0] - CHANCE), default=UNKNOWN)


def area_text(area: tuple[float, float, float]) -> str:
    """Return an AUC with its limits; without them if they have no width."""
    middle, low, high = area
    if math.isnan(middle):
        return EMPTY
    return f"{middle:.2f}" if low == high else f"{middle:.2f} [{low:.2f}, {high:.2f}]"


def _line(
    cells: Sequence[str],
    claim: Claim,
    by_cell: Mapping[str, Evidence],
    verdicts: Mapping[Claim, Verdict],
) -> Line:
    verdict = verdicts.get(claim)
    areas = [_area_field(claim, cell, by_cell.get(cell, Evidence())) for cell in cells]
    is_aside = verdict is not None and verdict.code == NOT
    fields = [*areas, *columns(claim, by_cell, verdict)]
    return Line(claim_label(claim), fields, is_aside=is_aside)


def _area_field(claim: Claim, cell: str, one: Evidence) -> Field:
    if math.isnan(one.auc[0]):
        return Field(EMPTY)
    source = Source(RETRAIN, "trust_auc", claim.set, claim.name, cell)
    return Field(area_text(one.auc), one.auc[0], source=source)


def _worst(values: Sequence[float], choose: Callable[[Sequence[float]], float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return choose(known) if known else math.nan


def _words(text: str) -> Field:
    return Field(text or EMPTY)


def _text(value: float) -> str:
    return EMPTY if math.isnan(value) else f"{value:.2f}"


def _records(
    claim: Claim, by_cell: Mapping[str, Evidence], verdict: Verdict | None
) -> Iterator[dict[str, object]]:
    """Yield the evidence of each cell, without rounding, with the verdict over all cells."""
    words, code = (verdict.words, verdict.code) if verdict else ("", "")
    for cell, one in by_cell.items():
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
            **{"reference": one.reference, "edited": one.edited},
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
