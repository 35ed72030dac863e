"""Collect what published values did where they were tuned: workflow/collateral/commands/tuning.csv.

    python docs/make_tuning.py configs/field.yaml=results/field configs/cifar-small.yaml=...

Every tuned run gives two rows: the trial of the defaults, and the trial nearest to Retrain.
"""

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from collateral.commands.list import COLUMNS, FILE, SHOWN
from collateral.config.yaml import read_file

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Write the file from the results that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="+", help="CONFIG=FOLDER of a benchmark")
    with FILE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for pair in parser.parse_args().results:
            config, folder = pair.split("=")
            writer.writerows(collected(config, Path(folder)))


def collected(config: str, folder: Path) -> Iterator[dict[str, str]]:
    """Yield two rows per tuned run: the trial of its defaults, if any, and the nearest trial."""
    methods = read_file(ROOT / config)["benchmarks"][folder.name]["methods"]
    metrics = pd.read_csv(folder / "metrics.csv", low_memory=False)
    numbers = metrics.drop_duplicates(["cell", "run", "metric"]).set_index(["cell", "run"])
    for cell, run in numbers.index[numbers["metric"] == "trial_nearest"]:
        found = numbers.loc[(cell, run)].set_index("metric")["value"]
        trials = pd.read_csv(folder / cell / "tune" / run / "trials.csv")
        retrained = metrics.query("cell == @cell and run == 'retrain' and metric == 'ua'")["value"]
        about = {
            "config": config,
            "cell": cell,
            "retrain_ua": f"{retrained.iloc[0]:.3f}",
            "method": methods[run].get("uses", run),
            "run": run,
        }
        for _, trial in trials[trials["is_default"]].iterrows():
            yield {**about, "which": "default", **_of(trial, found["gap_default"])}
        nearest = trials.loc[int(found["trial_nearest"])]
        yield {**about, "which": "nearest", **_of(nearest, found["gap_nearest"])}


def _of(trial: pd.Series, gap: float) -> dict[str, str]:
    names = list(trial.index)[1 : list(trial.index).index("is_candidate")]
    numbers = {name: f"{trial[name]:.3f}" for name in SHOWN}
    values = ", ".join(f"{name} {trial[name]:g}" for name in names)
    return {"values": values, **numbers, "gap": f"{gap:.3f}"}


if __name__ == "__main__":
    main()
