"""The long tables metrics.csv and costs.csv, as tables, figures and the report read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from collateral.core.files import atomic

REFERENCE = "retrain"
MOST_NAMED = 4  # classes of a forget set, in a title or a caption
Runs = Mapping[str, str]  # run -> label, in the order of the config


@dataclass(frozen=True)
class Cell:
    """All numbers of one forget set, by run and metric."""

    name: str
    title: str  # the forget set in words
    labels: dict[str, str]  # run -> label: Retrain first, then in the order of the config
    kinds: dict[str, str]  # run -> reference, method or control
    troubles: dict[str, dict[str, int]]  # run -> status other than ok -> number of seeds
    seeds: tuple[int, ...]
    by_seed: pd.DataFrame  # (run, metric) x seed
    overall: pd.Series  # (run, metric): numbers over all seeds
    forgotten: dict[str, tuple[int, int]]  # affected class -> examples forgotten, and of how many

    def values(self, run: str, metric: str) -> NDArray[np.float64]:
        """Return one value per seed; NaN where the metric is undefined."""
        if (run, metric) not in self.by_seed.index:
            return np.full(len(self.seeds), np.nan)
        return np.asarray(self.by_seed.loc[(run, metric)], dtype=float)

    def number(self, run: str, metric: str) -> float:
        """Return a number over all seeds; NaN where it is undefined."""
        return float(self.overall.get((run, metric), np.nan))

    def runs(self, kind: str) -> list[str]:
        """Return the runs of one kind, in order."""
        return [run for run in self.labels if self.kinds[run] == kind]

    def trouble(self, run: str) -> str:
        """Say how many seeds diverged or collapsed; empty where none did."""
        counts = self.troubles[run].items()
        return ", ".join(f"{status} ({n} of {len(self.seeds)} seeds)" for status, n in counts)

    def failed(self, run: str) -> bool:
        """Tell whether no seed ended well."""
        return sum(self.troubles[run].values()) == len(self.seeds)


def mean(values: NDArray[np.float64]) -> float:
    """Return the mean of what is defined; NaN where nothing is."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else np.nan


def std(values: NDArray[np.float64]) -> float:
    """Return the sample standard deviation (ddof=1) of what is defined; NaN for fewer than two."""
    defined = values[~np.isnan(values)]
    return float(defined.std(ddof=1)) if defined.size > 1 else np.nan


def standard_error(values: NDArray[np.float64]) -> float:
    """Return the standard error of `mean(values)`; NaN for fewer than two defined values."""
    return std(values) / float(np.sqrt(np.count_nonzero(~np.isnan(values)) or np.nan))


def concatenate(paths: Sequence[Path], out: Path) -> None:
    """Write the cells' CSV files one below another, sorted by cell, byte for byte."""
    header, bodies = "", []
    for path in paths:
        first, _, body = path.read_text().partition("\n")
        if header and first != header:
            raise ValueError(f"{path}: columns '{first}' differ from '{header}' of {paths[0]}")
        header = first
        bodies.append(body)
    bodies.sort(key=lambda body: body.partition(",")[0])
    with atomic(out) as temporary:
        temporary.write_text(f"{header}\n{''.join(bodies)}")


def read(*paths: Path) -> pd.DataFrame:
    """Read metrics.csv, costs.csv or both at full precision; only an empty field is missing."""
    types = {"cell": str, "class": str, "seed": "Int64", "run": str}
    frames = [
        pd.read_csv(
            path,
            dtype=types,
            # Python's own parser: pandas' may differ in the last bit.
            converters={"value": lambda text: float(text) if text else np.nan},
            keep_default_na=False,
            na_values=[""],
        )
        for path in paths
    ]
    return pd.concat(frames, ignore_index=True)


def cells(frame: pd.DataFrame, runs: Runs) -> list[Cell]:
    """Return the cells in order of appearance, with the runs named in `runs` but for sweeps."""
    return cells_and_sweeps(frame, {run: text for run, text in runs.items() if "@" not in run})


def cells_and_sweeps(frame: pd.DataFrame, runs: Runs) -> list[Cell]:
    """Return the cells in order of appearance, with all runs named in `runs`."""
    labels = {REFERENCE: "Retrain", **runs}
    frame = frame[frame["run"].isin(list(labels))]
    return [_cell(str(name), rows, labels) for name, rows in frame.groupby("cell", sort=False)]


def _cell(name: str, rows: pd.DataFrame, labels: dict[str, str]) -> Cell:
    kinds = dict(rows[["run", "kind"]].drop_duplicates("run").itertuples(index=False))
    per_seed = rows[rows["seed"].notna()]
    overall = rows[rows["seed"].isna()].set_index(["run", "metric"])["value"]
    forgotten = _forgotten(overall)
    return Cell(
        name=name,
        title=_title(name, rows.iloc[0], forgotten),
        labels={run: label for run, label in labels.items() if run in kinds},
        kinds=kinds,
        troubles={run: _troubles(per_seed[per_seed["run"] == run]) for run in kinds},
        seeds=tuple(sorted(per_seed["seed"].unique().tolist())),
        by_seed=per_seed.pivot(index=["run", "metric"], columns="seed", values="value"),
        overall=overall,
        forgotten=forgotten,
    )


def _forgotten(overall: pd.Series) -> dict[str, tuple[int, int]]:
    start = "forget_count:"
    metrics = [metric for run, metric in overall.index if run == REFERENCE]
    names = [metric.removeprefix(start) for metric in metrics if metric.startswith(start)]
    return {
        name: (
            int(overall[REFERENCE, f"{start}{name}"]),
            int(overall[REFERENCE, f"train_count:{name}"]),
        )
        for name in names
    }


def _title(name: str, row: pd.Series, forgotten: Mapping[str, tuple[int, int]]) -> str:
    if not (pd.isna(row["class"]) or pd.isna(row["fraction"])):
        return f"{row['class']}, {100 * row['fraction']:g} % forgotten"
    if not forgotten:  # costs alone
        return name
    if len(forgotten) <= MOST_NAMED:
        parts = [f"{_percent(n / of)} of {label}" for label, (n, of) in forgotten.items()]
        return f"{name}: {', '.join(parts)} forgotten"
    total = sum(n for n, _ in forgotten.values())
    return f"{name}: {total} examples of {len(forgotten)} classes forgotten"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.01 else f"{100 * share:.1g} %"


def _troubles(rows: pd.DataFrame) -> dict[str, int]:
    if "status" not in rows:  # costs alone
        return {}
    statuses = rows.dropna(subset="status").drop_duplicates("seed")["status"]
    return dict(sorted(Counter(status for status in statuses if status != "ok").items()))
