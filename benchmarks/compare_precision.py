"""Differences between runs in bfloat16 and in float32, with 95 % intervals over seeds.

    snakemake results/digits_float32/metrics.csv results/digits_bfloat16/metrics.csv \
        --configfile configs/bfloat16.yaml
    python benchmarks/compare_precision.py [digits cifar]

Positive numbers mean that bfloat16 gives more. Seeds are paired, and intervals are Student's.
"""

import csv
import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean, stdev

from scipy.stats import t

RUNS = ("original", "retrain", "rl", "ltd")
COLUMNS = {"ua": "UA", "ra": "RA", "ta": "TA", "mia": "MIA", "near_loss": "near loss"}
Values = dict[tuple[str, str], dict[str, float]]  # value by seed, by run and metric


def read(path: Path) -> Values:
    """Return the numbers of each run by seed; near loss is that of the test set."""
    found: Values = defaultdict(dict)
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["seed"] and not row["at"] and row["set"] in ("", "test") and row["value"]:
                found[row["run"], row["metric"]][row["seed"]] = 100 * float(row["value"])
    return found


def read_margins(path: Path) -> str:
    """Return the equivalence margins of a benchmark's verdict."""
    with path.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["metric"] == "margin"]
    texts = (f"{row['at']} ±{100 * float(row['value']):.1f}" for row in rows)
    return ", ".join(dict.fromkeys(texts))  # every run of a cell has the same margins


def compare(float32: dict[str, float], bfloat16: dict[str, float]) -> str:
    """Return the mean difference in points and its interval; empty without two seeds."""
    differences = [bfloat16[seed] - float32[seed] for seed in float32.keys() & bfloat16.keys()]
    if len(differences) < 2:
        return ""
    width = t.ppf(0.975, len(differences) - 1) * stdev(differences) / len(differences) ** 0.5
    return f"{mean(differences):+.2f} ± {width:.2f}"


def main() -> None:
    """Print one table per experiment."""
    for name in sys.argv[1:] or ["digits"]:
        files = [Path(f"results/{name}_{kind}/metrics.csv") for kind in ("float32", "bfloat16")]
        float32, bfloat16 = map(read, files)
        print(f"{name}, bfloat16 minus float32, points; margins: {read_margins(files[0])}\n")
        print(f"| | {' | '.join(COLUMNS.values())} |\n|{' --- |' * (len(COLUMNS) + 1)}")
        for run in RUNS:
            keys = [(run, metric) for metric in COLUMNS]
            cells = (compare(float32[key], bfloat16[key]) for key in keys)
            print(f"| {run} | {' | '.join(cells)} |")
        print()


if __name__ == "__main__":
    main()
