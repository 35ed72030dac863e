"""Tables of docs/which-number.md and the verdicts on pages, from docs/data/trust.

evidence.csv is the file tables/trust.csv of a run of configs/trust.yaml. Without it, the page says
that nothing was measured, and pages show all numbers alike.
"""

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from collateral.contract.claims import FORGETTING
from collateral.findings.trust.rule import FAILURES, NOT, TESTS, TRUST, WITH
from generators.agreement import agreement_table
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
PLANNED = 40  # judged seeds of configs/trust.yaml
FOOLED, CHANCE = 0.8, 0.5
RELIED = ("ua", "mia")  # numbers of forgetting that tables of papers print first
MOST = 3  # numbers that a sentence names


def which_number_tables(file: Path = FILE) -> dict[str, str]:
    """Return the contents of the page by mark."""
    found = {"agreement": agreement_table()}
    if not file.exists():
        empty = dict.fromkeys(("verdicts", "counts", "remember", "surprises"), "")
        return found | {"state": NOTHING} | empty
    rows = _read(file)
    count = int(rows["seeds"].max())
    state = "" if count >= PLANNED else FEW.format(count=count, planned=PLANNED)
    found |= {"state": state, "verdicts": _verdicts(rows), "counts": _counts(rows)}
    return found | {"remember": _remember(rows), "surprises": _surprises(rows)}


def doubts(file: Path = FILE) -> str:
    """Return report/doubts.csv: why a number is not simply trusted, by metric and set."""
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    rows.writerow(["metric", "set", "code", "text"])
    if file.exists():
        for (metric, subset), own in _read(file).groupby(["metric", "set"], sort=True):
            first = own.iloc[0]
            if first["code"] in (NOT, WITH):
                rows.writerow([metric.partition(" ")[0], subset, int(first["code"]), _text(first)])
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
            change = own[["change", "reference"]].max(axis=None)
            verdict = first["verdict"] or "–"
            lines.append(
                [
                    *(first["label"], title, *areas, _number(own["dose"].min())),
                    *(_fooled(own), _accused(own), _number(change)),
                    f"**{verdict}**" if first["code"] == TRUST else verdict,
                ]
            )
    return table(head, lines)


def _remember(rows: pd.DataFrame) -> str:
    """Return three sentences for reviewers, and the number that is relied on and should not be."""
    first = _judged(rows)
    forgot = first[first["about"].isin(FORGETTING)]
    outputs, distances = (first[first["about"] == about] for about in ("outputs", "distance"))
    silent, hurt = _failing(outputs, {"silent"}), _failing(distances, {"hurt", "recipe"})
    good = forgot[forgot["code"] == TRUST]
    sentences = [
        f"Of {len(forgot)} numbers that claim something of forgetting, {len(good)} can be trusted "
        f"alone{_names(good, ': ')}.",
        f"Of {len(outputs)} numbers of the outputs, {len(silent)} do not expose a model that hides "
        f"what it still knows{_names(silent, ': ')}.",
        f"Of {len(distances)} distances from Retrain, {len(hurt)} accuse a Retrain that is damaged "
        f"or has another recipe, and so never saw the forget set{_names(hurt, ': ')}.",
    ]
    listed = "".join(f"{place}. {text}\n" for place, text in enumerate(sentences, start=1))
    known = first[first["metric"].isin(RELIED)].set_index("metric")
    relied = known.reindex(RELIED).dropna(subset=["label"])
    doubted = relied[relied["code"] != TRUST]
    if doubted.empty:
        return listed
    name = doubted.iloc[0]
    return f"{listed}\n**Relied on most, and should not be: {name['label']}.** {_text(name)}\n"


def _surprises(rows: pd.DataFrame) -> str:
    """Return what a reader would not expect: numbers of the inside and of harm that fail."""
    first = _judged(rows)
    texts = []
    for about, words in (("inside", "looks inside the model"), ("harm", "claims harm")):
        own = first[first["about"] == about]
        for _, row in own[own["code"] == NOT].iterrows():
            tests = ", ".join(TESTS[name] for name in row["failures"].split())
            texts.append(f"- {row['label']} {words}, but fails: {tests}.\n")
    fooled = rows[(rows["about"].isin(FORGETTING)) & (rows["auc_high"] < CHANCE)]
    for _, row in fooled.iterrows():
        area = f"AUC {row['auc']:.2f}, at most {row['auc_high']:.2f}"
        texts.append(f"- {row['label']} is the wrong way round in {row['cell']} ({area}).\n")
    return "".join(texts[:MOST])


def _judged(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the first row of each number that has a verdict."""
    return rows[rows["code"].notna()].drop_duplicates(["metric", "set"])


def _failing(rows: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    return rows[[bool({*failures.split()} & {*names}) for failures in rows["failures"]]]


def _names(rows: pd.DataFrame, start: str) -> str:
    """Return the first labels, or nothing if there are none."""
    labels = [*rows["label"]]
    more = f" and {len(labels) - MOST} more" if len(labels) > MOST else ""
    return start + ", ".join(labels[:MOST]) + more if labels else ""


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
    verdicts = _judged(rows)["verdict"].str.partition(" with")[0]
    counts = verdicts.value_counts()
    shares = (f"{name}: {counts.get(name, 0)}" for name in ("trust", "only", "do not trust"))
    return f"Of {len(verdicts)} numbers: {'; '.join(shares)}.\n"
