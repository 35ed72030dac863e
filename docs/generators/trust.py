"""Tables of docs/which-number.md and the verdicts on pages, from docs/data/trust.

evidence.csv is the file tables/trust.csv of a run of configs/trust.yaml. Without it, the page says
that nothing was measured, and pages show all numbers alike.
"""

import csv
import io
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from collateral.findings.trust.rule import FAILURES, NOT, TRUST
from generators.tables import table

FILE = Path(__file__).parents[1] / "data" / "trust" / "evidence.csv"
SUBJECTS = {
    "outputs": "forgot, by outputs",
    "inside": "forgot, inside",
    "distance": "far from Retrain",
    "harm": "harm elsewhere",
    "locality": "harm is local",
}
NOTHING = (
    "**Nothing is measured yet.** No batch of [configs/trust.yaml](../configs/trust.yaml) that is "
    "large enough for a verdict is finished. So no number has a verdict here, and pages show all "
    "numbers alike.\n"
)
FEW = "At most {count} models per group were compared; the plan has {planned}.\n"
PLANNED = 100  # judged seeds of configs/trust.yaml
FOOLED, CHANCE = 0.8, 0.5


def which_number_tables(file: Path = FILE) -> dict[str, str]:
    """Return the contents of the page by mark."""
    if not file.exists():
        return {"state": NOTHING, "verdicts": "", "counts": ""}
    rows = _read(file)
    count = int(rows["seeds"].max())
    state = "" if count >= PLANNED else FEW.format(count=count, planned=PLANNED)
    return {"state": state, "verdicts": _verdicts(rows), "counts": _counts(rows)}


def doubts(file: Path = FILE) -> str:
    """Return report/doubts.csv: why a number is not simply trusted, by metric and set."""
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    rows.writerow(["metric", "set", "code", "text"])
    if file.exists():
        for (metric, subset), own in _read(file).groupby(["metric", "set"], sort=True):
            first = own.iloc[0]
            if int(first["code"]) != TRUST:
                rows.writerow([metric.partition(" ")[0], subset, first["code"], _text(first)])
    return written.getvalue()


def _read(file: Path) -> pd.DataFrame:
    return pd.read_csv(file, keep_default_na=False, na_values={"code": [""]}).apply(_to_number)


def _to_number(column: pd.Series) -> pd.Series:
    texts = {"metric", "set", "label", "about", "cell", "verdict", "failures"}
    return column if column.name in texts else pd.to_numeric(column, errors="coerce")


def _text(row: Mapping[str, str]) -> str:
    """Return the sentence of a number's dialog."""
    reasons = "; ".join(FAILURES[name] for name in str(row["failures"]).split())
    reasons = reasons or "no known model tests the claim alone"
    purpose = {
        "harm": "as a sign of harm",
        "locality": "as a sign that harm is local",
    }.get(row["about"], "as a sign of forgetting")
    start = "Do not trust this number" if int(row["code"]) == NOT else f"Trust {row['verdict']}"
    start = start.replace("Trust only with", "Use this number only with")
    end = " As a distance from Retrain it may be used." if row["about"] == "distance" else ""
    return f"{start} {purpose}: on digits, {reasons}.{end}"


def _verdicts(rows: pd.DataFrame) -> str:
    cells = list(dict.fromkeys(rows["cell"]))
    head = ["number", "claim", *cells, "dose", "fooled by", "accuses", "change", "verdict"]
    lines = []
    for about, title in SUBJECTS.items():
        part = rows[rows["about"] == about]
        for _, own in part.groupby(["metric", "set"], sort=False):
            by_cell = own.set_index("cell")
            areas = [_area(by_cell, cell) for cell in cells]
            first = own.iloc[0]
            lines.append(
                [
                    *(first["label"], title, *areas, _number(own["dose"].min())),
                    *(_fooled(own), _accused(own), _number(own["change"].max())),
                    f"**{first['verdict']}**" if first["code"] == TRUST else first["verdict"],
                ]
            )
    return table(head, lines)


def _area(by_cell: pd.DataFrame, cell: str) -> str:
    if cell not in by_cell.index:
        return "–"
    row = by_cell.loc[cell]
    return f"{row['auc']:.2f} [{row['auc_low']:.2f}, {row['auc_high']:.2f}]"


def _number(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:.2f}"


def _fooled(own: pd.DataFrame) -> str:
    names = [name for name in ("silent", "damaged") if (own[f"{name}_high"] < FOOLED).any()]
    return ", ".join(names) or "–"


def _accused(own: pd.DataFrame) -> str:
    known = {"hurt": "damaged Retrain", "recipe": "other recipe"}
    names = [text for name, text in known.items() if (own[f"{name}_low"] > CHANCE).any()]
    return ", ".join(names) or "–"


def _counts(rows: pd.DataFrame) -> str:
    verdicts = rows.drop_duplicates(["metric", "set"])["verdict"].str.partition(" with")[0]
    counts = verdicts.value_counts()
    shares = (f"{name}: {counts.get(name, 0)}" for name in ("trust", "only", "do not trust"))
    return f"Of {len(verdicts)} numbers: {'; '.join(shares)}.\n"
