"""The forget set of a cell (split.json): its indices, its kind, its parameters and its hash."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collateral.contract.conventions import derive_seed
from collateral.results.dataset import Labels
from collateral.results.provenance import (
    INPUTS,
    check_inputs,
    hash_files,
    read_signed,
    write_signed,
)


def ids_hash(ids: NDArray[np.int64]) -> str:
    """Return a hash of the ids of examples, independent of their order."""
    return hashlib.sha256(str(sorted(ids.tolist())).encode()).hexdigest()


@dataclass(frozen=True)
class Split:
    """Train indices of a forget set, ascending; all other train examples are retained.

    In a later round, the examples of earlier requests are neither forgotten nor retained. Examples
    that should be forgotten but are not known are retained, and Retrain is trained without them.
    """

    forget: NDArray[np.int64]
    num_train: int
    affected: tuple[int, ...]  # classes present in the forget set
    chosen: dict[str, Any]  # kind and parameters of the forget set, with names of classes
    # Train indices of the examples that were forgotten in earlier rounds, ascending.
    earlier: NDArray[np.int64] = field(default_factory=lambda: np.array([], dtype=np.int64))
    # Train indices of retained examples without which Retrain is trained, ascending.
    unknown: NDArray[np.int64] = field(default_factory=lambda: np.array([], dtype=np.int64))
    # Memorisation of each example of `forget`, if shadow models chose them; else empty.
    memorised: NDArray[np.float64] = field(default_factory=lambda: np.array([]))

    @property
    def retain(self) -> NDArray[np.int64]:
        """Indices of the retained examples, ascending."""
        kept = np.ones(self.num_train, dtype=bool)
        kept[self.forget] = kept[self.earlier] = False
        return np.flatnonzero(kept)

    @property
    def trained_on(self) -> NDArray[np.int64]:
        """Indices of the examples that Retrain is trained on, ascending."""
        return np.setdiff1d(self.retain, self.unknown)

    def divide(self, train: NDArray[Any], test: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Divide arrays, whose last axis is the examples, into retain, forget and test set."""
        return {"retain": train[..., self.retain], "forget": train[..., self.forget], "test": test}

    @property
    def retain_hash(self) -> str:
        """Hash of the ids of the examples that Retrain is trained on."""
        return ids_hash(self.trained_on)

    @property
    def hash(self) -> str:
        """Hash of the forget set, earlier ones, unknown examples and the size of the train set."""
        content = f"{self.num_train}:{self.forget.tolist()}"
        content += f":{self.earlier.tolist()}" if len(self.earlier) else ""
        content += f":unknown {self.unknown.tolist()}" if len(self.unknown) else ""
        return hashlib.sha256(content.encode()).hexdigest()

    def attack_seed(self, seed: int) -> int:
        """Return the random seed with which membership attacks draw their examples.

        It is derived from the hash of this split and from `seed`, the seed of the attacked run.
        """
        return derive_seed("mia", self.hash, seed)

    def content(self, labels: Labels) -> dict[str, Any]:
        """Return the content of split.json besides the job's description and its inputs."""
        more = {"earlier": self.earlier, "unknown": self.unknown, "memorised": self.memorised}
        return {
            "forget": self.forget.tolist(),
            **{name: values.tolist() for name, values in more.items() if len(values)},
            "num_train": self.num_train,
            "num_forget": len(self.forget),
            "affected": list(self.affected),
            "affected_names": [labels.class_names[c] for c in self.affected],
            "chosen": self.chosen,
            "hash": self.hash,
        }

    def save(self, path: Path, labels: Labels, source: Path) -> None:
        """Write split.json without a job; `source` is the path of labels.npz."""
        inputs = {INPUTS: hash_files([source], source.parent)}
        write_signed(path, {**self.content(labels), **inputs}, source.parent)

    @staticmethod
    def load(path: Path, root: Path) -> Split:
        """Read split.json; raise if it was changed or made from other labels."""
        content = read_signed(path, root)
        check_inputs(path, content, root)
        return Split(
            forget=np.array(content["forget"], dtype=np.int64),
            num_train=content["num_train"],
            affected=tuple(content["affected"]),
            chosen=content["chosen"],
            earlier=np.array(content.get("earlier", []), dtype=np.int64),
            unknown=np.array(content.get("unknown", []), dtype=np.int64),
            memorised=np.array(content.get("memorised", []), dtype=np.float64),
        )
