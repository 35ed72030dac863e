"""Tables of docs/statistics.md, from the files that benchmarks/calibrate_verdicts.py writes."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from collateral.findings.verdict import OPEN
from collateral.plugins.find import METHOD, params_class
from generators.tables import table

DATA = Path(__file__).parents[1] / "data" / "calibration"
DEFAULT = DATA / "untypical"  # the population of the default's first benchmark
LOOKS = {"weighted": "1, 1 and 3 %"}
SEEDS = (3, 5, 10)  # of the table of decisions; decisions.csv has more
# Columns of decisions.csv with their headings.
DECISIONS = {
    "praised": "named",
    "praised_wrongly": "wrongly",
    "false_share": "blamed without loss",
    "any_false": "any",
    "small_share": "inside the margin",
    "harms_found": "harms found",
    "nearest_right": "nearest",
    "nearest_shown_wrongly": "wrongly nearest",
    "all_open": "all open",
}


def calibration_tables() -> dict[str, str]:
    """Return the tables of the page by mark."""
    return {
        "equivalence": _equivalence(),
        "looks": _looks(),
        "decisions": _decisions(),
        "verdicts": _verdicts(_read("verdicts")),
        "verdicts of the default": _verdicts(_read("verdicts", DEFAULT)),
    }


def _percent(values: Iterable[float], digits: int = 1) -> list[str]:
    return ["–" if pd.isna(value) else f"{100 * value:.{digits}f}" for value in values]


def _read(name: str, folder: Path = DATA) -> pd.DataFrame:
    return pd.read_csv(folder / f"{name}.csv")


def _equivalence() -> str:
    columns = {
        "level_naive": ("level naive", "max"),
        "level": ("level", "max"),
        "like_away": ("*like Retrain*, one margin away", "max"),
        "pages_away": ("any of eight", "max"),
        "power": ("power on UA", "mean"),
        "like_retrain": ("*like Retrain*, another Retrain", "mean"),
    }
    found = (
        _read("equivalence").groupby("seeds").agg({name: how for name, (_, how) in columns.items()})
    )
    head = ["seeds", *(title for title, _ in columns.values())]
    return table(head, ([str(n), *_percent(row)] for n, row in found.iterrows()))


def _looks() -> str:
    found = _read("looks").pivot_table(index="levels", columns="cell", values="error", sort=False)
    rows = ([LOOKS.get(str(name), str(name)), *_percent(row)] for name, row in found.iterrows())
    return table(["levels", *found.columns], rows)


def _decisions() -> str:
    """Return the errors of pages over all cells, by case and number of seeds."""
    found = _read("decisions").query("cell == 'both' and rule == 'new' and seeds in @SEEDS")
    rows = (
        [row["case"], str(row["seeds"]), *_percent(row[[*DECISIONS]])]
        for _, row in found.sort_values(["case", "seeds"]).iterrows()
    )
    return table(["case", "seeds", *DECISIONS.values()], rows)


def _verdicts(verdicts: pd.DataFrame) -> str:
    """Return the share of draws that decide, and the most frequent verdict with most seeds."""
    found = verdicts.set_index(["method", "cell", "seeds"]).sort_index()
    cells, counts = verdicts["cell"].unique(), verdicts["seeds"].unique()
    head = ["method"]
    for cell in cells:
        head += [f"{cell}, n = {counts[0]}", *map(str, counts[1:]), "verdict"]
    rows = []
    for method in verdicts["method"].unique():
        row = [params_class(method).label if method in METHOD.names() else method]
        for cell in cells:
            shares = found.loc[method, cell]
            last = shares.loc[counts[-1]]
            row += _percent(1 - shares[OPEN], 0)
            row.append(f"{last.idxmax()} ({100 * last.max():.0f})")
        rows.append(row)
    return table(head, rows)
