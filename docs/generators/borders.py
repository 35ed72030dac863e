"""How far each verdict of the default run is from changing, for docs/reading.md.

    PYTHONPATH=docs python -m generators.borders results/digits AVX-512

writes the rows of one kind of CPU into docs/data/default/borders.csv, in place of older rows of the
same name. Run the default once with no setting, and once with
`ONEDNN_MAX_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2`, which computes as a CPU without AVX-512 does.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from collateral.contract.verdicts import LOSSES, MEASURES
from collateral.findings.verdict import DIFFERENT, HARM, LIKE
from collateral.findings.verdict.sentences import NAMES
from collateral.report.board import read_kept
from collateral.results.table import CellTable
from generators.tables import table

FILE = Path(__file__).parents[1] / "data" / "default" / "borders.csv"
POINTS = 100
ENDS = {"low": "difference_low", "high": "difference_high", "mean": "difference"}


class Border(NamedTuple):
    """The measure that is nearest to changing a verdict, and by how many points."""

    measure: str
    points: float


def find_border(cell: CellTable, run: str, verdict: str) -> Border:
    """Return how many points, and of which measure, a verdict is away from another one.

    *Like Retrain* ends if one measure leaves its margin; harm and difference end if the last
    measure that shows them does not any more, and a difference also if a loss is shown.
    """
    of = {at: _read(cell, run, at) for at in MEASURES}
    if verdict == LIKE:
        return min((Border(at, _within(one)) for at, one in of.items()), key=_points)
    names = [at for at in MEASURES if verdict == DIFFERENT or at in LOSSES]
    if verdict not in (HARM, DIFFERENT):
        names = []
    kept = max(
        (Border(at, _shown(of[at], verdict == HARM)) for at in names),
        key=_points,
        default=Border("", float("nan")),
    )
    gained = [Border(at, -_shown(of[at], True)) for at in LOSSES if verdict == DIFFERENT]
    return min([kept, *gained], key=_points)


def _points(border: Border) -> float:
    return border.points


def _read(cell: CellTable, run: str, at: str) -> dict[str, float]:
    names = {**ENDS, "margin": "margin"}
    names |= {f"like_{end}": f"equivalence_{end}" for end in ("low", "high")}
    return {key: POINTS * cell.number(run, name, at=at) for key, name in names.items()}


def _within(one: dict[str, float]) -> float:
    """Return how far the equivalence test's interval is inside the margin."""
    return one["margin"] - max(-one["like_low"], one["like_high"])


def _shown(one: dict[str, float], is_loss: bool) -> float:
    """Return how far a difference is from being not shown; negative if it is not shown."""
    above = min(one["low"], one["mean"] - one["margin"])
    below = min(-one["high"], -one["mean"] - one["margin"])
    return above if is_loss else max(above, below)


def list_borders(folder: Path, cpu: str) -> Iterator[dict[str, Any]]:
    """Yield the border of the verdict on each method, of the first cell of a benchmark."""
    cell = read_kept(folder).cells[0]
    for run in cell.runs("method"):
        [verdict] = cell.indices(run, "verdict")
        border = find_border(cell, run, verdict)
        yield {"cpu": cpu, "method": cell.labels[run], "verdict": verdict, **border._asdict()}


def borders_table() -> str:
    """Return the table of docs/reading.md: one row per method, one column per kind of CPU."""
    found = pd.read_csv(FILE)
    cpus, rows = list(found["cpu"].unique()), []
    for method, of in found.groupby("method", sort=False):
        by_cpu = of.set_index("cpu")
        verdicts = ", ".join(dict.fromkeys(of["verdict"]))
        measures = ", ".join(NAMES[at] for at in dict.fromkeys(of["measure"]))
        points = [f"{by_cpu.loc[cpu, 'points']:.1f}" for cpu in cpus]
        rows.append([str(method), verdicts, measures, *points])
    return table(["method", "verdict", "nearest measure", *cpus], rows)


def main() -> None:
    """Keep the borders of one run."""
    folder, cpu = Path(sys.argv[1]), sys.argv[2]
    rows = pd.DataFrame(list_borders(folder, cpu))
    old = pd.read_csv(FILE) if FILE.exists() else rows[:0]
    both = pd.concat([old[old["cpu"] != cpu], rows]).sort_values("cpu", kind="stable")
    both.to_csv(FILE, index=False, float_format="%.4f", lineterminator="\n")
    print(rows.to_string(index=False))


if __name__ == "__main__":
    main()
