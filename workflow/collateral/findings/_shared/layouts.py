"""What a table of runs against Retrain shows: its columns, and what is said of them below."""

from __future__ import annotations

from dataclasses import dataclass

from collateral.findings._shared.captions import CHANCE, described, joined, over_seeds
from collateral.findings.catalogue import metric_of
from collateral.findings.gap import TERMS
from collateral.results.table import MOST_NAMED, CellTable

DEVIATION = "Deviations from Retrain (in parentheses) and gaps are in points."
PROTOCOLS = {
    "matched": "Each seed has its own base model and its own Retrain (matched).",
    "shared": "All seeds share one base model, and each has its own Retrain (shared).",
    None: "",
}
DIVERGED = "A diverged seed gives no number: its row shows the mean of the other seeds."
UA = "UA is accuracy on the forget set (some literature prints 100 − UA)."
RANKING = (
    "Bold: the {ranked} nearest to Retrain; controls, and runs that diverged or collapsed, "
    "are not ranked."
)
FLOOR_NOTE = (
    "“Retrain, other seeds” is the noise floor: the absolute deviation to expect between two "
    f"groups of n retrained models. {CHANCE}"
)
UNDEFINED = "–: undefined, or no seed gave a number; it is left out of the gap."


@dataclass(frozen=True)
class Part:
    """Columns that fit the width of a page: metrics, their gap, and what else there is."""

    metrics: tuple[str, ...]
    gap: str
    others: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns from left to right."""
        return (*self.metrics, self.gap, *self.others)


MAIN = Part(TERMS["avg_gap"], "avg_gap", ("rte",))
AFFECTED = Part(TERMS["avg_gap_affected"], "avg_gap_affected")


@dataclass(frozen=True)
class Layout:
    """A row for each run, in one part or in several below each other."""

    name: str  # of the table's files
    subject: str
    parts: tuple[Part, ...]
    corner: str = "Method"  # heading of the first column
    ranked: str = "method"  # what its rows are
    note: str = ""  # what else the caption says

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of all parts."""
        return tuple(column for part in self.parts for column in part.columns)

    @property
    def gaps(self) -> tuple[str, ...]:
        """The gaps of all parts."""
        return tuple(part.gap for part in self.parts)

    @property
    def compared(self) -> tuple[str, ...]:
        """The columns that are held against Retrain."""
        return tuple(c for c in self.columns if metric_of(c).ideal == "retrain")

    def caption(self, cell: CellTable) -> str:
        """Say what the table of a cell shows."""
        has_diverged = any("diverged" in cell.troubles[run] for run in cell.labels)
        return joined(
            f"{self.subject}: {cell.title}.",
            _affected(cell) if AFFECTED.gap in self.gaps else "",
            over_seeds(cell),
            DEVIATION,
            PROTOCOLS[cell.benchmark.sharing],
            DIVERGED if has_diverged else "",
            self.note,
        )

    def conventions(self, num_seeds: int) -> str:
        """Say what holds for every table with these columns."""
        return joined(
            UA,
            described(name for part in self.parts for name in (part.gap, *part.others)),
            RANKING.format(ranked=self.ranked),
            FLOOR_NOTE if num_seeds > 1 else "",
            UNDEFINED,
        )


def _affected(cell: CellTable) -> str:
    """Say which classes are affected, where the title does not."""
    if len(cell.forgotten) < 2:
        return ""
    named = f" ({', '.join(cell.forgotten)})" if len(cell.forgotten) <= MOST_NAMED else ""
    return f"Affected are the {len(cell.forgotten)} classes that have a forgotten example{named}."
