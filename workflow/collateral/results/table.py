"""Read and write the long tables metrics.csv and costs.csv, which have one row per value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from collateral.contract.metrics import format_exact_percent, format_percent
from collateral.contract.rows import At, Row
from collateral.results import layout
from collateral.results.cell import CellResults
from collateral.results.files import (
    InvalidResultError,
    atomic,
    csv_text,
    report_broken_file,
    write_rows,
)
from collateral.results.gates import Gate, read_gates
from collateral.results.plan import BenchmarkPlan, CellPlan

COST_COLUMNS = ("cell", "class", "fraction", "seed", "run", "kind", "metric", "set", "at", "value")
COLUMNS = (*COST_COLUMNS, "status")
ROW = ["cell", "run", "seed", "metric", "set", "at"]  # columns that together identify a row
NAMES = {layout.RETRAIN: "Retrain", layout.ORIGINAL: "Original"}  # display names of references
MOST_NAMED = 4  # largest number of classes that a title lists

Key = tuple[str, str, str, str]  # run, metric, set, at


@dataclass(frozen=True)
class CellTable:
    """All metrics of one cell, and the cell's entry in plan.json."""

    name: str
    title: str  # description of the forget set
    # Display names of the runs: first the reference, then other runs in the order of the config.
    labels: dict[str, str]
    kinds: dict[str, str]  # kind of each run (reference, method or control), including sweeps
    troubles: dict[
        str, dict[str, int]
    ]  # for each run: number of seeds by status, without status ok
    seeds: tuple[int, ...]
    # For each class in the forget set: numbers of its forgotten and of all its train examples.
    forgotten: dict[str, tuple[int, int]]
    benchmark: BenchmarkPlan
    plan: CellPlan
    _by_seed: dict[Key, NDArray[np.float64]] = field(repr=False)
    _overall: dict[Key, float] = field(repr=False)
    # Outcomes of the cell's sanity checks; None if gates.json was not read.
    _gates: tuple[Gate, ...] | None = field(default=None, repr=False)

    @property
    def reference(self) -> str:
        """The run that others are compared with: Retrain, or Original if Retrain was not run."""
        return self.benchmark.reference

    @property
    def has_retrain(self) -> bool:
        """Whether the reference is Retrain."""
        return self.reference == layout.RETRAIN

    @property
    def reference_label(self) -> str:
        """Name of the reference in texts: Retrain or Original."""
        return NAMES[self.reference]

    @property
    def gates(self) -> tuple[Gate, ...]:
        """Outcomes of the cell's sanity checks, as gates.json has them."""
        if self._gates is None:  # else a cell whose checks nobody read would count as sound
            raise ValueError(f"{self.name}: the sanity checks ({layout.GATES}) were not read")
        return self._gates

    @property
    def red_gates(self) -> list[Gate]:
        """The failed (red) checks; a cell with a failed check gets no verdict."""
        return [gate for gate in self.gates if gate.colour == "red"]

    def values(self, run: str, metric: str, subset: str = "", at: At = None) -> NDArray[np.float64]:
        """Return the values of a metric, one per seed; NaN where the metric is undefined."""
        found = self._by_seed.get(_key(run, metric, subset, at))
        return np.full(len(self.seeds), np.nan) if found is None else found

    def number(self, run: str, metric: str, subset: str = "", at: At = None) -> float:
        """Return a metric that has one value for all seeds together; NaN if it is undefined."""
        return self._overall.get(_key(run, metric, subset, at), math.nan)

    def metrics(self, run: str) -> list[str]:
        """Return the names of all metrics of a run, both per seed and over all seeds."""
        return sorted({key[1] for key in (*self._by_seed, *self._overall) if key[0] == run})

    def indices(self, run: str, metric: str, subset: str = "") -> list[str]:
        """Return the values of column `at` for a metric of a run: sorted numbers, then texts."""
        keys = [*self._by_seed, *self._overall]
        return sorted({key[3] for key in keys if key[:3] == (run, metric, subset)}, key=at_order)

    def runs(self, kind: str) -> list[str]:
        """Return the names of the runs of one kind, in the order of the config."""
        return [run for run in self.labels if self.kinds[run] == kind]

    def with_labels(self, labels: Mapping[str, str]) -> CellTable:
        """Return the table of the cell with only the reference and the runs in `labels`."""
        known = {run: label for run, label in labels.items() if run in self.kinds}
        return replace(self, labels={self.reference: NAMES[self.reference], **known})

    def with_sweeps(self) -> CellTable:
        """Return the table of the cell with all runs, including those of sweeps."""
        return self.with_labels(self.benchmark.labels)

    def failure_summary(self, run: str) -> str:
        """Return as text how many seeds of a run diverged, collapsed or were skipped; or ""."""
        counts = self.troubles[run].items()
        return ", ".join(f"{status} ({n} of {len(self.seeds)} seeds)" for status, n in counts)

    def has_failed(self, run: str) -> bool:
        """Tell whether no seed of a run has the status ok."""
        return sum(self.troubles[run].values()) == len(self.seeds)


@dataclass(frozen=True)
class BenchmarkTable:
    """All metrics of a benchmark: per cell, and over all cells."""

    plan: BenchmarkPlan
    cells: tuple[CellTable, ...]
    _over_cells: dict[Key, float] = field(default_factory=dict, repr=False)

    @property
    def reference(self) -> str:
        """The run that others are compared with: Retrain, or Original if Retrain was not run."""
        return self.plan.reference

    @property
    def reference_label(self) -> str:
        """Name of the reference in texts: Retrain or Original."""
        return NAMES[self.reference]

    def number(self, run: str, metric: str, subset: str = "", at: At = None) -> float:
        """Return the value of a metric over all cells; NaN if it is undefined."""
        return self._over_cells.get(_key(run, metric, subset, at), math.nan)

    @property
    def gates(self) -> list[Gate]:
        """Outcomes of the sanity checks of all cells."""
        return [gate for cell in self.cells for gate in cell.gates]

    def with_gates(self, gates: Iterable[Gate]) -> BenchmarkTable:
        """Return the table with the outcomes of sanity checks, each in its cell."""
        found = list(gates)
        own = ((cell, tuple(g for g in found if g.cell == cell.name)) for cell in self.cells)
        return replace(self, cells=tuple(replace(cell, _gates=gates) for cell, gates in own))


def at_order(at: str) -> tuple[bool, int, str]:
    """Return the sort key of a value of column `at`: numbers, ascending, come before texts."""
    is_number = at.isdecimal()
    return not is_number, int(at) if is_number else 0, at


def write_cell(path: Path, cell: CellResults, rows: Iterable[Row], columns: Sequence[str]) -> None:
    """Write the metrics or costs of a cell as CSV, sorted by run, seed, metric, set and `at`."""
    chosen = cell.split.chosen
    # In later rounds the fraction in the config is not exact:
    # examples of earlier requests are left out of the forget set.
    stated = {} if len(cell.split.earlier) else chosen
    place = {"cell": cell.name, **{key: stated.get(key, "") for key in ("class", "fraction")}}
    written = (
        {
            **place,
            **_fields(row),
            "kind": cell.result(row.run, cell.seeds[0]).kind,
            "status": cell.worst_status(row.run, row.seed),
        }
        for row in sorted(rows, key=_order)
    )
    write_rows(path, columns, ({key: row[key] for key in columns} for row in written))


def write_benchmark(path: Path, cells: Sequence[Path], over_cells: Iterable[Row] = ()) -> None:
    """Write a CSV file with the rows of all cells, sorted by cell, and then the rows `over_cells`.

    Column `cell` of the rows over all cells is empty. Their column `run` names a method, or Retrain
    for the rows about all methods together.
    """
    header, bodies = "", []
    for cell in cells:
        first, _, body = cell.read_text(encoding="utf-8").partition("\n")
        if header and first != header:
            raise ValueError(f"{cell}: columns '{first}' differ from '{header}' of {cells[0]}")
        header = first
        bodies.append(body)
    bodies.sort(key=lambda body: body.partition(",")[0])
    kinds = {layout.RETRAIN: "reference"}
    rows = [
        {**_fields(row), "kind": kinds.get(row.run, "method"), "status": "ok"}
        for row in sorted(over_cells, key=_order)
    ]
    _, _, last = csv_text(header.split(","), rows).partition("\n")
    with atomic(path) as temporary:
        temporary.write_text(f"{header}\n{''.join(bodies)}{last}", encoding="utf-8")


def read_benchmark(folder: Path, gates: Path | None = None) -> BenchmarkTable:
    """Read a benchmark's plan, metrics, costs and sanity checks (its gates.json, or `gates`)."""
    paths = (folder / name for name in (layout.METRICS, layout.COSTS))
    table = read_tables(BenchmarkPlan.load(folder / layout.PLAN), *paths)
    return table.with_gates(read_gates(gates or folder / layout.GATES))


def read_tables(plan: BenchmarkPlan, *paths: Path) -> BenchmarkTable:
    """Read a benchmark's metrics.csv, or both metrics.csv and costs.csv."""
    frame = pd.concat([_frame(path) for path in paths], ignore_index=True)
    frame = frame[frame["run"].isin([plan.reference, *plan.labels])]
    cells = tuple(
        _cell(name, rows, plan) for name, rows in frame.groupby("cell", sort=False) if name
    )
    over_cells = frame[frame["cell"] == ""]
    return BenchmarkTable(
        plan, cells, dict(zip(_keys(over_cells), over_cells["value"], strict=True))
    )


def _frame(path: Path) -> pd.DataFrame:
    """Read metrics.csv or costs.csv; floats are exact, and an empty value becomes NaN."""
    with report_broken_file(path, ValueError):  # ValueError: the file is not CSV, or not text.
        frame = pd.read_csv(
            path,
            dtype={name: str for name in COLUMNS if name != "value"},
            # Python parses floats exactly; pandas may differ in the last bit.
            converters={"value": lambda text: float(text) if text else np.nan},
            keep_default_na=False,
        )
    if missing := [name for name in COST_COLUMNS if name not in frame]:
        raise InvalidResultError(path, f"broken: it has no column {', '.join(missing)}")
    if (twice := frame.duplicated(ROW)).any():
        row = " ".join(frame.loc[twice.idxmax(), ROW])
        raise InvalidResultError(path, f"broken: {row} stands there twice")
    return frame


def _cell(name: str, rows: pd.DataFrame, plan: BenchmarkPlan) -> CellTable:
    kinds = dict(rows[["run", "kind"]].drop_duplicates("run").itertuples(index=False))
    per_seed, over_seeds = rows[rows["seed"] != ""], rows[rows["seed"] == ""]
    seeds = tuple(sorted(int(seed) for seed in per_seed["seed"].unique()))
    overall = dict(zip(_keys(over_seeds), over_seeds["value"].tolist(), strict=True))
    wide = per_seed.pivot(index=["run", "metric", "set", "at"], columns="seed", values="value")
    wide = wide[[str(seed) for seed in seeds]]
    forgotten = _forgotten(overall, plan.reference)
    labels = {plan.reference: NAMES[plan.reference], **plan.labels}
    return CellTable(
        name=name,
        title=_title(name, rows.iloc[0], forgotten),
        labels={
            run: text for run, text in labels.items() if run in kinds and not layout.is_sweep(run)
        },
        kinds=kinds,
        troubles={run: {} for run in kinds} | _troubles(per_seed),
        seeds=seeds,
        forgotten=forgotten,
        benchmark=plan,
        plan=plan.cells.get(name, CellPlan()),
        _by_seed=dict(zip(wide.index, wide.to_numpy(dtype=float), strict=True)),
        _overall=overall,
    )


def _fields(row: Row) -> dict[str, Any]:
    return {
        "seed": "" if row.seed is None else row.seed,
        "run": row.run,
        "metric": row.metric,
        "set": row.set,
        "at": "" if row.at is None else row.at,
        # Use a Python float, because the text of a numpy float contains the name of its type.
        "value": float(row.value) if math.isfinite(row.value) else "",
    }


def _order(row: Row) -> tuple[Any, ...]:
    at = "" if row.at is None else str(row.at)
    return row.run, -1 if row.seed is None else row.seed, row.metric, row.set, at_order(at)


def _key(run: str, metric: str, subset: str, at: At) -> Key:
    return run, metric, subset, "" if at is None else str(at)


def _keys(frame: pd.DataFrame) -> Iterable[Key]:
    return zip(frame["run"], frame["metric"], frame["set"], frame["at"], strict=True)


def _forgotten(overall: Mapping[Key, float], reference: str) -> dict[str, tuple[int, int]]:
    """Return the numbers of forgotten and all train examples of each class in the forget set."""
    return {
        at: (int(count), int(overall[reference, "train_count", "", at]))
        for (run, metric, _, at), count in overall.items()
        if metric == "forget_count" and run == reference
    }


def _title(name: str, row: pd.Series, forgotten: Mapping[str, tuple[int, int]]) -> str:
    if row["class"] and row["fraction"]:
        return f"{row['class']}, {format_exact_percent(float(row['fraction']))} forgotten"
    if not forgotten:  # the table contains only costs
        return name
    if len(forgotten) <= MOST_NAMED:
        parts = [f"{format_percent(n / of)} of {label}" for label, (n, of) in forgotten.items()]
        return f"{name}: {', '.join(parts)} forgotten"
    total = sum(n for n, _ in forgotten.values())
    return f"{name}: {total} examples of {len(forgotten)} classes forgotten"


def _troubles(rows: pd.DataFrame) -> dict[str, dict[str, int]]:
    """Count, for each run, the seeds with each status other than ok."""
    if "status" not in rows:  # the table contains only costs
        return {}
    ended = rows[["run", "seed", "status"]].drop_duplicates()
    bad = ended[ended["status"].notna() & (ended["status"] != "ok")]  # costs.csv has no status
    by_run = bad.groupby("run", sort=False)["status"]
    return {run: found.value_counts().sort_index().to_dict() for run, found in by_run}
