"""Another program: it knows a published folder, and nothing of Collateral.

    python other_program.py PUBLISHED BENCHMARK CELL OUT

The method refits the base model's logits: softmax regression on the logits themselves, so that
retained examples keep their labels and forgotten ones become as uncertain as can be.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

STEPS, RATE = 150, 0.02
KEYS = ["cell", "set", "example"]


def refit(logits, label, forget):
    """Return the matrix that is applied to the logits; `forget` tells which rows are forgotten."""
    matrix = np.eye(logits.shape[1])
    target = np.eye(logits.shape[1])[label]
    target[forget] = 1 / logits.shape[1]
    # The forgotten examples count as much as the retained ones.
    weight = np.where(forget, 1 / forget.sum(), 1 / (~forget).sum())[:, None]
    for _ in range(STEPS):
        power = np.exp(logits @ matrix - (logits @ matrix).max(axis=1, keepdims=True))
        matrix -= RATE * logits.T @ (weight * (power / power.sum(axis=1, keepdims=True) - target))
    return matrix


def main(published, benchmark, cell, out):
    """Write the outputs of every seed of the cell."""
    examples = pd.read_parquet(published / "examples.parquet")
    rows = pd.read_parquet(published / "logits" / benchmark / f"{cell}.parquet")
    base = rows[rows["run"] == "original"].merge(examples, on=["benchmark", *KEYS])
    for seed, own in base.groupby("seed"):
        own = own.sort_values("example")
        is_test = (own["set"] == "test").to_numpy()
        train, test = (np.stack([*own.loc[part, "logits"]]) for part in (~is_test, is_test))
        train, test = train.astype(float), test.astype(float)
        trained = own[~is_test]
        forget = (trained["set"] == "forget").to_numpy()
        matrix = refit(train, trained["label"].to_numpy(), forget)
        folder = out / cell / f"seed-{seed}"
        folder.mkdir(parents=True)
        arrays = {"train_logits": train @ matrix, "test_logits": test @ matrix}
        np.savez(folder / "outputs.npz", **{k: v.astype(np.float32) for k, v in arrays.items()})


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], Path(sys.argv[4]))
