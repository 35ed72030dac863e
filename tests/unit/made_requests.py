"""A second made benchmark: three requests in rounds, groups of examples, given weights, two looks.

It is unlike the first one in all that code could confuse: four seeds, one base for all of them,
four classes, 1,600 train and 1,480 test examples, six shadow models, another device, runs that cost
more, a run that diverges in the last round alone. It has what the first one lacks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from made_benchmark import PROBES, RUNS, Behaviour, Made, compute, rng_of

from collateral.metrics.copies import EXACT
from collateral.results import layout
from collateral.results.cell import CellResults
from collateral.results.dataset import Labels, Neighbours
from collateral.results.outputs import Exposure
from collateral.results.split import Split
from collateral.stages.metrics import write_numbers

CLASSES = ("hen", "goat", "pig", "cow")
SIZES = {"train": (500, 420, 380, 300), "test": (1100, 160, 120, 100)}
ROUNDS = ("herd-01", "herd-02", "herd-03")
# Classes and numbers of the examples of each request; by the owners who ask for it.
REQUESTS = ({"hen": 70}, {"goat": 60, "pig": 50}, {"hen": 20, "cow": 25})
OWNERS = (["ann"], ["bo", "cy"], ["di"])
# Places and their shares; an empty text is a missing value, and the last is a small group.
PLACES = {"north": 0.6, "south": 0.3, "east": 0.08, "": 0.015, "isle": 0.005}
POSITIVE = "goat"
LOOKS = (2, 4)


@dataclass(frozen=True)
class Requests(Made):
    """Three requests, one after the other; the last cell has the numbers over all rounds."""

    cells: tuple[str, ...] = ROUNDS
    runs: Mapping[str, Behaviour] = field(
        default_factory=lambda: {
            **{run: behaviour for run, behaviour in RUNS.items() if "@" not in run},
            "ltd": replace(RUNS["ltd"], seconds=16.0),
            "rl": replace(RUNS["rl"], statuses={}),
        }
    )
    seeds: tuple[int, ...] = (4, 7, 9, 30)
    name: str = "farm"
    num_shadows: int = 6

    @cached_property
    def labels(self) -> Labels:
        """Classes in mixed order; the farm and the owner of every example."""
        found, columns = {}, {}
        for name, sizes in SIZES.items():
            rng = rng_of("farm", name)
            found[name] = rng.permutation(np.repeat(range(len(CLASSES)), sizes))
            owners = [owner for owners in OWNERS for owner in owners]
            columns[name] = {
                "farm": rng.choice([*PLACES], len(found[name]), p=[*PLACES.values()]),
                "owner": rng.choice([*owners, "eve"], len(found[name]), p=[0.01] * 4 + [0.96]),
            }
        return Labels(found["train"], found["test"], CLASSES, columns["train"], columns["test"])

    def split(self, cell: str) -> Split:
        """Some examples of the classes of a request; those of earlier ones are gone."""
        label, earlier = self.labels.train, np.array([], dtype=np.int64)
        for name, request in zip(ROUNDS, REQUESTS, strict=True):
            left = np.setdiff1d(np.arange(len(label)), earlier)
            forget = [left[label[left] == CLASSES.index(c)][:count] for c, count in request.items()]
            if name == cell:
                break
            earlier = np.sort(np.concatenate([earlier, *forget]))
        affected = tuple(CLASSES.index(c) for c in request)
        owners = OWNERS[ROUNDS.index(cell)]
        chosen: dict[str, Any] = {"kind": "where", "column": "owner", "is": owners}
        return Split(np.sort(np.concatenate(forget)), len(label), affected, chosen, earlier)

    def neighbours(self, cell: str) -> Neighbours:
        """Larger images: one has two exact copies, five, four or three have a near copy."""
        found, split, place = super().neighbours(cell), self.split(cell), ROUNDS.index(cell)
        bits = np.array([EXACT, EXACT, 3, 1, 4, 2, 4])[: 7 - place]
        first = split.forget[[2, 2, 5, 8, 9, 11, 12][: 7 - place]]
        copies = np.column_stack([first, split.retain[: len(bits)], bits])
        rng = rng_of("classes", cell)
        shape = len(self.seeds), len(CLASSES)
        return replace(
            found,
            copies=copies,
            image_size=np.array([40, 34]),
            class_similarity=rng.normal(0.5, 0.1, shape).astype("f4"),
        )

    def base_seed(self, seed: int) -> int:
        """All seeds start from the weights that were given for the first one."""
        return self.seeds[0]

    def status(self, run: str, seed: int, cell: str = "") -> str:
        """RL diverges in the last round, in one seed."""
        return "diverged" if (run, seed, cell) == ("rl", self.seeds[2], ROUNDS[-1]) else "ok"

    def record(self, root: Path, cell: str, run: str, seed: int) -> dict[str, Any]:
        """Batches of Retrain by seed; one seed of it says that it was trained on other examples."""
        found = super().record(root, cell, run, seed)
        place = self.seeds.index(seed)
        if run == layout.ORIGINAL:
            return {**found, "weights": "base.safetensors"}
        if run == "ltd":
            target = float(rng_of("target", cell, seed).random())
            return {**found, "extra": {**found["extra"], "target_ua": target}}
        if run == layout.RETRAIN:
            checkpoint = "best_validation" if place == 1 else "last"
            params = {"batch_size": 100 + 13 * place, "checkpoint": checkpoint}
            found["params"] = {**params, "validation_share": 0.1}
            found |= {"trained_on": "of another split"} if place == 2 else {}
        return found

    def cost(self, cell: str, run: str, seed: int) -> dict[str, Any]:
        """On a GPU, but for FT from the second round on."""
        memory = rng_of("memory", cell, run, seed).uniform(100, 200)
        is_elsewhere = run == "ft" and cell != ROUNDS[0]
        where = {"device": "cpu", "threads": 2} if is_elsewhere else {"device": "cuda"}
        found = super().cost(cell, run, seed)
        del found["threads"]
        return {**found, **where, "peak_device_mb": None if is_elsewhere else memory}

    def exposure(self, cell: str, run: str) -> Exposure:
        """Shadow models that are less sure; one of them diverges when GA unlearns in one round."""
        found = super().exposure(cell, run)
        before, after = found.before - 1.5, found.after - 1.5
        if (cell, run) == (ROUNDS[0], "ga"):
            after[4] = np.nan
        return Exposure(found.is_in, before, after)

    def options(self, cell: str) -> dict[str, Any]:
        """The config asks for groups, a positive class and looks."""
        asked = {"groups": ["farm"], "positive": [POSITIVE], "looks": LOOKS}
        over = {"rounds": ROUNDS} if cell == ROUNDS[-1] else {}
        return {**super().options(cell), "attacks": ["confidence"], **asked, **over}


def compute_requests(made: Requests, project: Path) -> Path:
    """Compute all numbers, and those that there are without Retrain below `without`."""
    root = compute(made, made.write(project), probes=PROBES[:1])
    options = made.options(ROUNDS[0])
    for name in ("looks", "groups", "positive", "exposed", "support_sized"):
        del options[name]
    options |= {"controls": [], "reference": layout.ORIGINAL}
    write_numbers(CellResults(folder=root, cell=ROUNDS[0], **options), root / "without")
    return root
