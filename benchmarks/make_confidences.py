"""Store confidences of real overfitted models for bench_mia.py, from a run of cifar-small.yaml.

    python benchmarks/make_confidences.py results/cifar_small --runs retrain rl

The membership attack draws 2,000 members, 2,000 test examples and 125 or 225 forget examples per
model. The first five models of a run, of two forget sets and three seeds, together have the size of
the attack on CIFAR-100: 10,000 members and 10,000 non-members.
"""

from argparse import ArgumentParser
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from collateral.metrics.membership import draw
from collateral.results.outputs import StoredOutputs
from collateral.results.split import Split

CELLS, SEEDS, NUM_MODELS = ("couch-50", "couch-90"), (0, 1, 2), 5
GROUPS = ("members", "non_members", "targets")


def outputs_file(benchmark: Path, cell: str, seed: int, run: str) -> Path:
    """Return the path of a run's outputs."""
    return benchmark / cell / f"seed-{seed}" / run / "outputs.npz"


def confidences(benchmark: Path, cell: str, seed: int, run: str) -> list[NDArray[np.float32]]:
    """Return the true-class confidences of one model in the groups of the attack."""
    split = Split.load(benchmark / cell / "split.json", benchmark)
    path = outputs_file(benchmark, cell, seed, run)
    train, test = (StoredOutputs(path, part).confidence for part in ("train", "test"))
    drawn = draw(split.retain, len(test), split.attack_seed(seed))
    return [train[drawn.members], test[drawn.non_members], train[split.forget]]


def main() -> None:
    """Pool the models of each run and write one file."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("benchmark", type=Path, help="folder of the finished benchmark")
    parser.add_argument("--runs", nargs="+", default=["retrain", "rl"])
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("confidences.npz"))
    args = parser.parse_args()
    arrays = {}
    for run in args.runs:
        places = [(cell, seed) for seed, cell in product(SEEDS, CELLS)]
        there = [place for place in places if outputs_file(args.benchmark, *place, run).exists()]
        models = [confidences(args.benchmark, *place, run) for place in there[:NUM_MODELS]]
        for name, parts in zip(GROUPS, zip(*models, strict=True), strict=True):
            arrays[f"{run}_{name}"] = np.concatenate(parts)
    np.savez_compressed(args.out, **arrays)
    print({name: len(values) for name, values in arrays.items()})


if __name__ == "__main__":
    main()
