"""Tables of docs/statistics.md, from the files that benchmarks/calibrate_verdicts.py writes."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd

from collateral.plugins.find import METHOD, params_class
from generators.tables import table

DATA = Path(__file__).parents[1] / "data" / "calibration"
CASES = ["posing", "shifted", "midpoint"]
TEST = ["scale", "pairing", "variance"]
USED = ["angle", "unpaired", "typical"]  # the test that verdicts use
# Largest error of a test that keeps 5 %, with two Monte-Carlo errors of 10,000 draws.
MOST_ERROR = 0.05 + 2 * (0.05 * 0.95 / 10_000) ** 0.5
LOOKS = {"weighted": "1, 1 and 3 %"}


def calibration_tables() -> dict[str, str]:
    """Return the tables of the page by mark."""
    errors = pd.read_csv(DATA / "errors.csv")
    is_half = errors["cell"].str.contains(",")
    verdicts, cifar = (pd.read_csv(DATA / f"{name}.csv") for name in ("verdicts", "cifar"))
    return {
        "equivalence": _equivalence(),
        "looks": _looks(),
        "candidates": _candidates(errors[~is_half]),
        "halves": _halves(errors),
        "cifar": _cifar(cifar),
        "verdicts": _verdicts(verdicts),
    }


def _percent(values: Iterable[float], digits: int = 1) -> list[str]:
    return [f"{100 * value:.{digits}f}" for value in values]


def _equivalence() -> str:
    head = ["seeds", "level naive", "level", "power naive", "power", "like Retrain on all six"]
    how = {"level_naive": "max", "level": "max"}
    how |= dict.fromkeys(["power_naive", "power", "like_retrain"], "mean")
    found = pd.read_csv(DATA / "equivalence.csv").groupby("seeds").agg(how)
    return table(head, ([str(n), *_percent(row)] for n, row in found.iterrows()))


def _looks() -> str:
    looks = pd.read_csv(DATA / "looks.csv")
    found = looks.pivot_table(index="levels", columns="cell", values="error", sort=False)
    rows = ([LOOKS.get(str(name), str(name)), *_percent(row)] for name, row in found.iterrows())
    return table(["levels", *found.columns], rows)


def _candidates(errors: pd.DataFrame) -> str:
    """Return the largest error and the mean power of every candidate, by number of seeds."""
    worst = errors.assign(error=errors[CASES].max(axis=1))
    found = worst.groupby([*TEST, "seeds"], sort=False).agg({"error": "max", "power": "mean"})
    error, power = (found[name].unstack(sort=False) for name in ("error", "power"))
    first, *others = error.columns
    counts = [*map(str, others)]
    head = ["scale", "seeds", "variance", f"error n = {first}", *counts]
    rows = (
        [*test, *_percent(row), *_percent(power.loc[test], 0), _yes(row.max() <= MOST_ERROR)]
        for test, row in error.iterrows()
    )
    return table([*head, f"power n = {first}", *counts, "keeps 5 %"], rows)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _used(errors: pd.DataFrame) -> pd.DataFrame:
    """Return the errors of the test in use: one column per number of seeds."""
    is_used = (errors[TEST] == USED).all(axis=1)
    by_case = errors[is_used].melt(["cell", "seeds"], CASES, "case")
    return by_case.pivot_table(index=["case", "cell"], columns="seeds", values="value")


def _halves(errors: pd.DataFrame) -> str:
    """Return the errors of the test in use on all seeds and on each half, the larger of cells."""
    count = pd.read_csv(DATA / "rates.csv").groupby("cell")["seed"].nunique().min()
    names = {"": f"all {count}", "first half": f"1 to {count // 2}"}
    names["last half"] = f"{count // 2 + 1} to {count}"
    part = errors["cell"].str.partition(", ")[2]
    used = {name: _used(errors[part == name]).groupby("case").max() for name in names}
    rows = ([names[n], case, *_percent(used[n].loc[case])] for n in names for case in CASES)
    return table(["seeds of the population", "null case", *_counts(used[""])], rows)


def _counts(used: pd.DataFrame) -> Iterator[str]:
    first, *others = used.columns
    yield from (f"n = {first}", *map(str, others))


def _cifar(errors: pd.DataFrame) -> str:
    used = _used(errors)
    cells = errors["cell"].unique()
    rows = (
        [cell.removeprefix("cifar "), case, *_percent(used.loc[case, cell])]
        for case in CASES
        for cell in cells
    )
    return table(["cell", "null case", *_counts(used)], rows)


def _verdicts(verdicts: pd.DataFrame) -> str:
    """Return the share of draws that decide, and the most frequent verdict with most seeds."""
    found = verdicts.set_index(["method", "cell", "seeds"]).sort_index()
    cells, counts = verdicts["cell"].unique(), verdicts["seeds"].unique()
    head = ["method"]
    for cell in cells:
        head += [f"{cell}, n = {counts[0]}", *map(str, counts[1:]), "verdict"]
    rows = []
    for method in verdicts["method"].unique():
        label = params_class(method).label if method in METHOD.names() else method
        row = [label]
        for cell in cells:
            shares = found.loc[method, cell]
            last = shares.loc[counts[-1]]
            row += _percent(1 - shares["cannot tell"], 0)
            row.append(f"{last.idxmax()} ({100 * last.max():.0f})")
        rows.append(row)
    return table(head, rows)
