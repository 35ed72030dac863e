"""Cells' metrics and costs in; the benchmark's metrics.csv, costs.csv and tables out."""

import argparse
import json
from pathlib import Path

from collateral.findings.classes.table import kept_names, write_classes
from collateral.findings._shared.compare import tables
from collateral.findings.reported.table import write_reported
from collateral.results.table import cells, cells_and_sweeps, concatenate, read
from collateral.findings.summary.table import write_summary
from collateral.findings.sweeps.table import sweep_cell, sweep_table, sweeps_of
from collateral.findings.tuning.table import write_tuning
from collateral.findings._shared.write import write


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the stage's inputs, values and outputs."""
    parser.add_argument("--metrics", type=Path, nargs="+", required=True, help="cells' metrics.csv")
    parser.add_argument("--costs", type=Path, nargs="+", required=True, help="cells' costs.csv")
    parser.add_argument("--tuning", type=Path, nargs="+", required=True, help="cells' tuning.csv")
    parser.add_argument("--runs", type=json.loads, required=True, help="JSON: label of each run")
    parser.add_argument(
        "--sweeps", type=json.loads, default={}, help="JSON: the sweeps of each cell, by name"
    )
    parser.add_argument("--protocol", choices=("matched", "shared"), help="for the captions")
    parser.add_argument("--out-metrics", type=Path, required=True)
    parser.add_argument("--out-costs", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder of the tables")


def run(args: argparse.Namespace) -> None:
    """Concatenate the cells' files; write the tables of each cell and those over all of them."""
    concatenate(args.metrics, args.out_metrics)
    concatenate(args.costs, args.out_costs)
    frame = read(args.out_metrics, args.out_costs)
    found = cells(frame, args.runs)
    for cell in found:
        for table in tables(cell, args.protocol):
            write(table, args.out / cell.name)
        write_reported(cell, args.out / cell.name)
        for sweep in sweeps_of(args.sweeps.get(cell.name, {})):
            swept = sweep_cell(frame, cell.name, sweep)
            write(sweep_table(swept, sweep, args.protocol), args.out / cell.name)
    for cell in cells_and_sweeps(frame, args.runs):
        if kept_names(cell):
            write_classes(cell, args.out / cell.name)
    write_summary(found, args.out)
    write_tuning(args.tuning, args.runs, args.out)
