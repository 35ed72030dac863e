"""Kinship of finished runs with their bases and Retrains, as `collateral judge` measures it.

    python benchmarks/kinship.py results/cifar_small > kinship.txt

One line per cell and run: the mean cosine with the bases of its own seeds, the order in which bases
fit best, and the mean cosine with the Retrains of its seeds (docs/board.md).
"""

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from collateral.metrics.kinship import centre, match, seed_parts

OUTPUTS = "outputs.npz"


def read(folder: Path) -> NDArray[np.float32]:
    """Return the centred test logits of a model."""
    with np.load(folder / OUTPUTS) as file:
        return centre(file["test_logits"])


def main(root: Path) -> None:
    """Print a line for every run that has all seeds."""
    for cell in sorted(path.parent for path in root.glob("*/split.json")):
        finished = cell.glob(f"seed-*/retrain/{OUTPUTS}")
        seeds = sorted(int(path.parts[-3].split("-")[1]) for path in finished)
        bases = seed_parts([read(root / f"base/seed-{seed}") for seed in seeds])
        retrains = seed_parts([read(cell / f"seed-{seed}/retrain") for seed in seeds])
        for run in sorted({path.parent.name for path in cell.glob(f"seed-*/*/{OUTPUTS}")}):
            folders = [cell / f"seed-{seed}" / run for seed in seeds]
            if all((folder / OUTPUTS).is_file() for folder in folders):
                own = seed_parts([read(folder) for folder in folders])
                kin, _, order = match(own, bases)
                like = match(own, retrains)[0]
                print(f"{cell.name} {run}: base {kin:.3f} {order}, Retrain {like:.3f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
