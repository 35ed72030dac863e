"""The part of a cell's shared files that concerns the cell and given runs.

The plan of a benchmark and the long table of a cell change when the config gets another cell,
another run, or another round. An evidence record stays valid then, because it is about one run.
"""

import csv
import io
import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from collateral.findings import rounds
from collateral.results import layout
from collateral.results.provenance import FILES, INPUTS, SEAL

# Options of a cell's metrics that are lists of runs; `rounds` depends on the requests that follow.
RUN_LISTS = ("methods", "controls", "tuned", "tracked", "support_sized", "exposed")


def same_parts(
    folder: Path, now: Mapping[str, bytes], cell: str, columns: Iterable[str]
) -> list[str]:
    """Return the shared files whose part about the cell is the same in `folder` and in `now`.

    Compared are all runs that are in both long tables, and in any case the runs in `columns`.
    """
    table = f"{cell}/{layout.METRICS}"
    try:
        pairs = {
            place: ((folder / place).read_text(encoding="utf-8"), now[place].decode())
            for place in (layout.PLAN, table, f"{cell}/{layout.METRICS_RECORD}")
        }
        old_runs, new_runs = map(_list_runs, pairs[table])
        runs = {*columns, *(old_runs & new_runs)}
        parts = {
            place: [_own_part(place, text, cell, runs) for text in pair]
            for place, pair in pairs.items()
        }
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return []  # a copy that was damaged is no version of a file of results
    return [place for place, (old, new) in parts.items() if old == new]


def _list_runs(long_table: str) -> set[str]:
    return {row["run"] for row in csv.DictReader(io.StringIO(long_table))}


def _own_part(place: str, text: str, cell: str, runs: Collection[str]) -> Any:
    """Return what a shared file says about the runs of a cell."""
    name = Path(place).name
    if name == layout.METRICS:
        rows = csv.DictReader(io.StringIO(text))
        return [r for r in rows if r["run"] in runs and r["metric"] not in rounds.METRICS]
    content = {key: value for key, value in json.loads(text).items() if key != SEAL}
    return (_plan if name == layout.PLAN else _metrics)(content, cell, runs)


def _plan(content: dict[str, Any], cell: str, runs: Collection[str]) -> dict[str, Any]:
    own = content.pop("cells").get(cell, {})
    del content["figure_width"]
    content |= {key: _only(content[key], runs) for key in ("labels", "about")}
    methods = {key: _only(own[key], runs) for key in ("trials", "candidates")}
    sweeps = [sweep for sweep in own["sweeps"] if set(sweep["values"]) <= set(runs)]
    return {**content, **methods, "sweeps": sweeps, "paced": _only(own["paced"], runs)}


def _metrics(content: dict[str, Any], cell: str, runs: Collection[str]) -> dict[str, Any]:
    del content[FILES]
    options = {key: value for key, value in content["options"].items() if key != "rounds"}
    options |= {key: _only(options[key], runs) for key in RUN_LISTS}
    # Of the inputs, those in the folder of a run: inputs of all kinds have a copy or no numbers.
    inputs = {
        place: digest
        for place, digest in content[INPUTS].items()
        if Path(place).parts[0] == cell and Path(place).parent.name in runs
    }
    return {**content, "options": options, INPUTS: inputs}


def _only(entries: Any, runs: Collection[str]) -> Any:
    """Return the entries of a mapping or a list that belong to the runs."""
    if isinstance(entries, Mapping):
        return {run: value for run, value in entries.items() if run in runs}
    return [run for run in entries if run in runs]
