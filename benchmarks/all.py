"""Run all benchmarks, and write their ratios in one table.

    python benchmarks/all.py [--out benchmarks/results] [--quick] [--only mia amun]

Every benchmark runs in a process of its own, one after the other. The table is printed at the end
and written as Markdown and CSV.
"""

import csv
import json
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path

from measure import HEADER, Load, Row, table

HERE = Path(__file__).parent
NAMES = (
    *("input", "training", "evaluation", "metrics", "mia", "iu", "amun"),
    *("cell", "memory", "schedule", "chain", "run"),
)


def rows_of(name: str, quick: bool, folder: Path) -> list[Row]:
    """Run one benchmark in a new process; return its rows of the table."""
    print(f"== {name}", flush=True)
    file = folder / f"{name}.json"
    command = [sys.executable, str(HERE / f"bench_{name}.py"), "--json", str(file)]
    subprocess.run([*command, *(["--quick"] if quick else [])], check=True)
    return [Row(**values) for values in json.loads(file.read_text())]


def main() -> None:
    """Run the selected benchmarks; print and write the table."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=HERE / "results", help="folder of the table")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: do they run at all?")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES)
    args = parser.parse_args()
    load = Load()
    with tempfile.TemporaryDirectory() as folder:
        rows = [row for name in args.only for row in rows_of(name, args.quick, Path(folder))]
    text = f"{table(rows)}\n\n{load}\n"
    print(f"\n{text}")
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "bench.md").write_text(text)
    with (args.out / "bench.csv").open("w", newline="") as file:
        csv.writer(file).writerows([HEADER, *(row.fields() for row in rows)])


if __name__ == "__main__":
    main()
