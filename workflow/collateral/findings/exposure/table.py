"""How exposed forgotten examples are after unlearning, and retained ones near them and far."""

import math
from collections.abc import Iterator
from typing import Any

from collateral.contract.metrics import EMPTY
from collateral.contract.rows import At
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.captions import joined
from collateral.findings._shared.tables import line_of, source_of
from collateral.findings.catalogue import metric_of
from collateral.findings.near import FAR, NEAR
from collateral.results.table import CellTable

Part = tuple[str, At]  # a set, and which of its examples
Column = tuple[str, Part]
PARTS: dict[Part, str] = {
    ("forget", None): "Forgotten",
    ("retain", NEAR): "Near",
    ("retain", FAR): "Far",
}
BEFORE = "Before unlearning"
BEFORE_OF = {"ulira_auc": "lira_auc", "ulira_tpr": "lira_tpr"}
HEADINGS = {"exposure_change": "change", "ulira_tpr": "TPR (%)"}
RATE = "TPR: of seen examples, told as such where 1 % of those not seen are, over all models."
COVERAGE = (
    "Models share their laws: made for 95 %, intervals over 16 cover 83 to 91 % in a simulation."
)
CAPTION = (
    "U-LiRA on shadow models: {title}. AUC by which examples of a model are told into seen and not "
    "seen, before unlearning in the last row; and of retained examples how it changed. In "
    "brackets: intervals over {models} shadow models, those of methods by Holm. {coverage}"
)
CONVENTIONS = (
    "0.5: nobody can tell. Forgotten examples should come down to it. Above zero, a change "
    "means that retained examples are more exposed than before; below, less. †: zero is in the "
    "interval. Near and far are by similarity in the mean over seeds."
)


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table; nothing where there is no pool."""
    runs = exposed(cell)
    if not runs:
        return
    columns = _columns(cell)
    lines = [line_of(cell, run, [_field(cell, run, *column) for column in columns]) for run in runs]
    before = Line(BEFORE, [_before(cell, *column) for column in columns], is_aside=True)
    headings = [_heading(cell, *column) for column in columns]
    yield Table(
        "exposure",
        "Exposure to membership attacks",
        [Grid("Method", headings, [lines, [before]])],
        CAPTION.format(title=cell.title, models=models(cell), coverage=COVERAGE),
        joined(CONVENTIONS, RATE if _has_rate(cell) else ""),
        list(_records(cell, runs)),
    )


def exposed(cell: CellTable) -> list[str]:
    """Return the methods that unlearned from shadow models."""
    return [r for r in cell.runs("method") if not math.isnan(cell.number(r, "exposure_models"))]


def attacked(cell: CellTable) -> list[str]:
    """Return those of them that have an AUC: models to attack, and examples of either kind."""
    return [
        run
        for run in exposed(cell)
        if cell.number(run, "exposure_models")
        and any(math.isfinite(cell.number(run, "ulira_auc", *part)) for part in PARTS)
    ]


def models(cell: CellTable) -> str:
    """Return how many shadow models there are, the most of any method."""
    most = max(cell.number(run, "exposure_models") for run in exposed(cell))
    return metric_of("exposure_models").text(most)


def _columns(cell: CellTable) -> list[Column]:
    """Return what is shown of the methods, and of which part."""
    found: list[Column] = []
    for part in PARTS:
        found.append(("ulira_auc", part))
        if part[0] == "retain":
            found.append(("exposure_change", part))
        elif _has_rate(cell):
            found.append(("ulira_tpr", part))
    return found


def _heading(cell: CellTable, name: str, part: Part) -> str:
    if name in HEADINGS:
        return f"{PARTS[part]}, {HEADINGS[name]}"
    count = cell.number(cell.reference, "exposure_count", *part)
    return f"{PARTS[part]} ({metric_of('exposure_count').text(count)})"


def _before(cell: CellTable, name: str, part: Part) -> Field:
    is_change = name not in BEFORE_OF
    return Field("") if is_change else _field(cell, cell.reference, BEFORE_OF[name], part)


def _has_rate(cell: CellTable) -> bool:
    """Tell whether there are enough forgotten examples for a TPR at an FPR of 1 %."""
    return math.isfinite(cell.number(cell.reference, "lira_tpr", "forget"))


def _field(cell: CellTable, run: str, name: str, part: Part) -> Field:
    """Return a number and its interval."""
    metric, is_change = metric_of(name), name == "exposure_change"
    value, *ends = (cell.number(run, f"{name}{end}", *part) for end in ("", "_low", "_high"))
    low, high = (metric.text(end, sign=is_change) for end in ends)
    text = metric.text(value, sign=is_change)
    return Field(
        text if EMPTY in (low, high) else f"{text} [{low}, {high}]",
        value,
        is_chance=is_change and ends[0] <= 0 <= ends[1],
        source=source_of(run, name, *part),
    )


def _records(cell: CellTable, runs: list[str]) -> Iterator[dict[str, Any]]:
    """Yield all numbers, those of bins too."""
    names = {run: (*BEFORE_OF, "exposure_change") for run in runs}
    for run, metrics in {cell.reference: tuple(BEFORE_OF.values()), **names}.items():
        for name in metrics:
            for set_name in ("forget", "retain"):
                for at in cell.indices(run, name, set_name):
                    ends = {"mean": "", "low": "_low", "high": "_high"}
                    yield {
                        "run": run,
                        "label": BEFORE if run == cell.reference else cell.labels[run],
                        "metric": name,
                        "set": set_name,
                        "at": at,
                        **{
                            k: cell.number(run, f"{name}{e}", set_name, at) for k, e in ends.items()
                        },
                    }
