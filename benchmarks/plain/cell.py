"""A whole cell, one trial after the other: tuning, every method, and all metrics of each model.

    python -m plain.cell CONFIG RESULTS

CONFIG has one benchmark with one cell and one seed; RESULTS is the folder with its data set, its
split and its base model. One process runs all trials; public code starts one process per trial.
"""

import copy
import sys
from pathlib import Path

import torch
from plain.data import PlainTask
from plain.evaluation import accuracies, attack_scores, base_looks, evaluate
from plain.methods import METHODS
from safetensors.torch import load_file
from torch import nn

from collateral.config.load import read
from collateral.config.methods import MethodSpec
from collateral.contract.params import MethodParams
from collateral.metrics.selection import select
from collateral.models._build import build_model
from collateral.plan.grid import build_grid
from collateral.results.dataset import Dataset
from collateral.results.split import Split


def tuned(spec: MethodSpec, base: nn.Module, task: PlainTask) -> MethodParams:
    """Run all values of the grid and the defaults; return the parameters of the best trial."""
    candidates, default = spec.trials(), spec.default_trial()
    extra = [default] if default and default not in candidates else []
    numbers = []
    for values in [*candidates, *extra]:
        model = METHODS[spec.uses](copy.deepcopy(base), task, spec.params(values))
        numbers.append(accuracies(model, task))
        attack_scores(model, task, ("confidence",))
    return spec.params(candidates[select(numbers[: len(candidates)])])


def main() -> None:
    """Run all methods of the cell; print their metrics."""
    config, folder = Path(sys.argv[1]), Path(sys.argv[2])
    (benchmark,) = build_grid(read(config)).values()
    (cell,) = benchmark.cells.values()
    (seed,) = benchmark.seeds
    torch.manual_seed(seed)
    place = folder / benchmark.name
    data = Dataset.load(place / "dataset.npz")
    split = Split.load(place / cell.name / "split.json", place)
    base = build_model(benchmark.config.model, data.info)
    base.load_state_dict(load_file(place / "base" / f"seed-{seed}" / "model.safetensors"))
    task = PlainTask.of(data, split)
    for name, run in cell.runs.items():
        spec = run.method
        params = tuned(spec, base, task) if spec.grid else spec.params({})
        model = METHODS[spec.uses](copy.deepcopy(base), task, params)
        numbers = evaluate(model, base_looks(base, task), task)
        shown = {key: round(numbers[key], 3) for key in ("ua", "ra", "ta", "confidence")}
        print(name, shown, flush=True)


if __name__ == "__main__":
    main()
