"""The one benchmark that tests look at: model outputs on disk, and real stages after them.

Nothing in it is like its neighbour, so that a number taken from the wrong place is another number:
three seeds whose names are not their places, three classes of unequal size in mixed order, train
and test outputs that differ, losses near the forget set that grow with similarity, a run that
diverged in the second seed, images that each have pixels of their own. A test knows the outputs,
which are drawn from names alone (`Made.outputs`); all else follows by the real stages `metrics`,
`gather`, `tables`, `figures` and `report`.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drive import run_stage
from scipy.special import softmax
from sealing import seal, sign_folder

from collateral.contract.rows import ATTACKS
from collateral.jobs.figures import FiguresJob
from collateral.jobs.gather import GatherJob
from collateral.jobs.metrics import MetricsJob
from collateral.jobs.report import ReportJob
from collateral.jobs.tables import TablesJob
from collateral.metrics.copies import EXACT
from collateral.results import layout
from collateral.results.dataset import Labels, Neighbours, Pictures
from collateral.results.files import write_json
from collateral.results.outputs import (
    Epochs,
    Exposure,
    ModelOutputs,
    Outputs,
    Probe,
    SupportSizes,
    keep_outputs,
)
from collateral.results.plan import BenchmarkPlan, CellPlan, Sweep
from collateral.results.provenance import INPUTS, hash_files
from collateral.results.split import Split

KEPT = Path(__file__).parents[2] / "docs" / "data"
SEEDS = (2, 5, 11)  # neither their own places, nor in the order of their texts
CLASSES = ("cat", "ox", "zebra")
TRAIN_SIZES, TEST_SIZES = (90, 70, 50), (44, 32, 24)
PART, WHOLE, MIXED = "ox-50", "zebra-100", "withdrawn"
NUM_SHOWN = {"train": 14, "test": 11, "forget": 9}
EPOCHS = 3
NUM_SHADOWS = 8
SIZES = (20, 50, 80)
# What each run still knows when it is probed, about.
PROBED = {"retrain": 0.3, "original": 0.5, "ft": 0.45, "ga": 0.2, "rl": 0.25, "ltd": 0.33}
NOTHING: Mapping[str, Any] = {}
PROBES = ("relearn", "residual", "zrf", "linear", "cka", "resurface", "patch")


@dataclass(frozen=True)
class Behaviour:
    """How a run differs from a model that saw everything and forgot nothing."""

    forgets: float = 0.0  # logits that the forgotten examples lose
    hurts: float = 0.0  # logits that an example of similarity 1 loses
    blurs: float = 0.0  # logits that everything loses
    statuses: Mapping[int, str] = field(default_factory=dict)  # by seed, where not ok
    seconds: float = 1.0
    kind: str = "method"


RUNS = {
    "retrain": Behaviour(forgets=3.0, seconds=40.0, kind="reference"),
    "original": Behaviour(kind="control"),
    "ft": Behaviour(forgets=0.4, blurs=0.1, seconds=3.5),
    "ga": Behaviour(forgets=4.5, hurts=8.0, blurs=0.6, seconds=0.7),
    "rl": Behaviour(forgets=2.0, hurts=1.5, statuses={SEEDS[1]: "diverged"}, seconds=2.1),
    "ltd": Behaviour(forgets=2.9, hurts=0.3, seconds=7.0),
    "ltd@k=20": Behaviour(forgets=2.0, hurts=0.9, seconds=5.0),
    "ltd@k=80": Behaviour(forgets=2.5, hurts=0.1, seconds=9.0),
    "ltd@teacher_seed=1": Behaviour(forgets=2.2, hurts=0.4, seconds=7.5),
}
LABELS = {"ft": "FT", "ga": "GA", "rl": "RL", "ltd": "LTD", "original": "Original"}
SWEPT = {
    "ltd@k=20": "LTD, k = 20",
    "ltd@k=80": "LTD, k = 80",
    "ltd@teacher_seed=1": "LTD, teacher_seed = 1",
}
SWEEPS = (
    Sweep(
        *("size", "LTD", "k", "ltd"),
        values={"ltd@k=20": 20, "ltd": 50, "ltd@k=80": 80},
        labels={"ltd@k=20": "20", "ltd": "50", "ltd@k=80": "80"},
    ),
    Sweep(
        *("luck", "LTD", "teacher_seed", "ltd"),
        values={"ltd": 0, "ltd@teacher_seed=1": 1},
        labels={"ltd": "0", "ltd@teacher_seed=1": "1"},
    ),
)
TRIALS = {
    "ft": [{"lr": 0.01}, {"lr": 0.05}, {"lr": 0.2}, {"lr": 0.1}],
    "ga": [{"lr": 0.001, "epochs": 2}, {"lr": 0.01, "epochs": 2}, {"lr": 0.02, "epochs": 5}],
}
CANDIDATES = {"ft": 3, "ga": 3}
CHOSEN = {"ft": 1, "ga": 2}


def rng_of(*names: object) -> np.random.Generator:
    """Return the source of all that is drawn for something of this name."""
    return np.random.default_rng([*json.dumps([str(name) for name in names]).encode()])


@dataclass(frozen=True)
class Made:
    """A benchmark; with the defaults, one cell of each kind of forget set."""

    cells: tuple[str, ...] = (PART, WHOLE, MIXED)
    runs: Mapping[str, Behaviour] = field(default_factory=lambda: RUNS)
    seeds: tuple[int, ...] = SEEDS
    name: str = "animals"
    num_shadows: int = NUM_SHADOWS

    @cached_property
    def labels(self) -> Labels:
        """Classes in mixed order, and a file for every example."""
        train, test = (
            rng_of("labels", name).permutation(np.repeat(range(len(CLASSES)), sizes))
            for name, sizes in (("train", TRAIN_SIZES), ("test", TEST_SIZES))
        )
        files = [
            np.array([f"{name}/{CLASSES[c]}/{place:03}.png" for place, c in enumerate(of)])
            for name, of in (("train", train), ("test", test))
        ]
        return Labels(train, test, CLASSES, {"file": files[0]}, {"file": files[1]})

    def split(self, cell: str) -> Split:
        """Half of a class, a whole class, or a list of examples of every class."""
        label = self.labels.train
        if cell == MIXED:
            forget = np.sort(rng_of("forget").choice(len(label), 24, replace=False))
            chosen: dict[str, Any] = {"kind": "files", "files": "withdrawn.txt"}
        else:
            name, _, percent = cell.partition("-")
            members = np.flatnonzero(label == self.labels.class_names.index(name))
            forget = members[: len(members) * int(percent) // 100]
            chosen = {"kind": "class_part", "class": name, "fraction": int(percent) / 100}
        affected = tuple(int(c) for c in np.unique(label[forget]))
        return Split(forget, len(label), affected, chosen)

    def similarity(self, cell: str) -> dict[str, np.ndarray]:
        """Similarity to the forget set by seed; of every seed another one."""
        split = self.split(cell)
        shares = np.bincount(self.labels.train[split.forget], minlength=self.num_classes)
        found = {}
        for name, label in (("train", self.labels.train), ("test", self.labels.test)):
            near = shares[label] / shares.max()
            own, *drawn = (
                rng_of("similarity", cell, name, seed).random(len(label))
                for seed in ("", *self.seeds)
            )
            of_seeds = 0.15 + 0.2 * near + 0.45 * own + 0.15 * np.array(drawn)
            found[name] = of_seeds.astype(np.float32)
        found["train"][:, split.forget] += 0.04
        return found

    def neighbours(self, cell: str) -> Neighbours:
        """Similarities, images of some of each set, and two copies of forgotten ones."""
        split, similarity = self.split(cell), self.similarity(cell)
        rng = rng_of("neighbours", cell)
        shown_set = np.repeat(list(NUM_SHOWN), list(NUM_SHOWN.values()))
        nearest = {name: np.argsort(-of.mean(axis=0)) for name, of in similarity.items()}
        retained = nearest["train"][~np.isin(nearest["train"], split.forget)]
        # Not the very nearest, which are of one class.
        of_set = {"train": retained[::4], "test": nearest["test"][::3], "forget": split.forget}
        index = np.concatenate([of_set[name][:count] for name, count in NUM_SHOWN.items()])
        first = len(shown_set) - NUM_SHOWN["forget"]
        return Neighbours(
            seeds=np.array(self.seeds),
            train_similarity=similarity["train"],
            test_similarity=similarity["test"],
            class_similarity=rng.normal((0.3, 0.6, 0.8), 0.05, (len(self.seeds), 3)).astype("f4"),
            shown_set=shown_set,
            shown_index=index,
            shown_nearest=rng.integers(first, len(shown_set), len(shown_set)),
            # A red check in one cell alone.
            copies=np.array([[split.forget[3], split.retain[7], EXACT if cell == WHOLE else 3]]),
            image_size=np.array(image_of("train", 0).shape[:2]),
            test_copies=np.array(
                [[1, split.forget[2]], [4, split.retain[5]], [6, split.retain[1]]]
                if cell == WHOLE
                else [[2, split.retain[3]], [9, split.retain[4]]]
            ),
            pixels=np.array([3, 200 + len(cell), len(cell) % 5]),
        )

    def more_pictures(self, cell: str) -> list[tuple[str, int]]:
        """Of those whom `neighbours` does not list, every second one has a picture."""
        shown = self.neighbours(cell)
        listed = {*zip(shown.shown_set.tolist(), shown.shown_index.tolist(), strict=True)}
        of_set = {"test": range(len(self.labels.test)), "train": self.split(cell).retain.tolist()}
        others = [(name, k) for name, of in of_set.items() for k in of]
        return [one for one in others if one not in listed][::2]

    def outputs(self, cell: str, run: str, seed: int, part: float = 1.0) -> ModelOutputs:
        """What a run's model answers; `part` of the way from the base model to it."""
        label, similarity = self.labels, self.similarity(cell)
        place, behaviour = self.seeds.index(seed), self.runs[run]
        owner = layout.ORIGINAL if run == layout.ORIGINAL else cell
        sets = {}
        for name, of in (("train", label.train), ("test", label.test)):
            is_test = name == "test"
            rng, shared = rng_of(owner, run, seed, name), rng_of(name)
            hard = shared.gamma(1.5, 1.2 if is_test else 0.7, len(of))
            logits = rng.normal(0, 0.9 if is_test else 0.7, (len(of), self.num_classes))
            lost = behaviour.blurs + behaviour.hurts * similarity[name][place] ** 4
            if not is_test:
                lost[self.split(cell).forget] += behaviour.forgets
            logits[np.arange(len(of)), of] += 4.0 - hard - part * lost
            if self.status(run, seed, cell) == "diverged":
                logits[:] = np.nan
            sets[name] = _outputs(logits, of)
        return ModelOutputs(**sets)

    num_classes = property(lambda self: len(self.labels.class_names))

    def base_seed(self, seed: int) -> int:
        """Return the seed of the base model from which the runs of a seed start."""
        return seed

    def status(self, run: str, seed: int, cell: str = "") -> str:
        """How a run ended."""
        return self.runs[run].statuses.get(seed, "ok")

    def of_kind(self, kind: str) -> list[str]:
        """Return the runs of one kind."""
        return [run for run, behaviour in self.runs.items() if behaviour.kind == kind]

    @property
    def plan(self) -> BenchmarkPlan:
        """What the config would say of it."""
        runs = [*self.of_kind("method"), *self.of_kind("control")]
        runs = sorted(runs, key=lambda run: "@" in run)  # sweeps come last
        own = {run: (LABELS | SWEPT).get(run, run.upper()) for run in runs}
        sweeps = tuple(s for s in SWEEPS if self.runs.keys() >= s.values.keys())
        cells = {
            cell: CellPlan(sweeps if cell == PART else (), TRIALS, (), CANDIDATES)
            for cell in self.cells
        }
        return BenchmarkPlan(own, "matched", cells, {"name": "animals"}, "resnet8")

    def options(self, cell: str) -> dict[str, Any]:
        """Return what the numbers of a cell are computed from."""
        runs = self.runs_of(cell)
        return {
            "seeds": self.seeds,
            "base_seeds": [*map(self.base_seed, self.seeds)],
            "methods": [run for run in runs if self.runs[run].kind == "method"],
            "controls": [run for run in runs if self.runs[run].kind == "control"],
            "tuned": self.tuned,
            "tracked": self.tracked,
            "support_sized": self.support_sized,
            "exposed": self.exposed,
            "attacks": ATTACKS,
        }

    # Files.

    def write(self, project: Path) -> Path:
        """Write what the training jobs leave, and the plan; return the benchmark's folder."""
        root = project / self.name
        self.labels.save(root / layout.LABELS)
        for cell in self.cells:
            self._write_cell(root, cell)
        seal(root)
        for cell in self.cells:
            place = root / layout.SPLIT.format(cell=cell)
            self.split(cell).save(place, self.labels, root / layout.LABELS)
        self.plan.save(root / layout.PLAN)
        return root

    def _write_cell(self, root: Path, cell: str) -> None:
        self.split(cell).save(
            root / layout.SPLIT.format(cell=cell), self.labels, root / layout.LABELS
        )
        neighbours = self.neighbours(cell)
        neighbours.save(root / layout.NEIGHBOURS.format(cell=cell))
        shown = zip(neighbours.shown_set, neighbours.shown_index, strict=True)
        more = self.more_pictures(cell)
        images = np.stack([image_of(*one) for one in (*shown, *more)])
        place = root / layout.PICTURES.format(cell=cell)
        hurt = {
            "hurt_set": np.array([s for s, _ in more]),
            "hurt_index": np.array([k for _, k in more]),
        }
        Pictures("all", np.arange(len(images)), images, **hurt).save(place)
        for run in self.runs_of(cell):
            for seed in self.seeds:
                self._write_run(root, cell, run, seed)
        for seed in self.seeds:
            self._write_teachers(root, cell, seed)
            self._write_probe(root, cell, seed)
        for method in self.tuned:
            self._write_trials(root, cell, method)
        for run in self.exposed:
            place = root / layout.EXPOSURE.format(cell=cell, run=run)
            self.exposure(cell, run).save(place / layout.EXPOSURE_MARGINS)
            write_json(place / layout.RECORD, {"run": run})

    def runs_of(self, cell: str) -> list[str]:
        """Return all runs of a cell: sweeps are in one of them alone."""
        return [run for run in self.runs if "@" not in run or cell == PART]

    tracked = property(lambda self: [run for run in ("ft", "ga", "ltd") if run in self.runs])
    tuned = property(lambda self: [run for run in TRIALS if run in self.runs])
    exposed = property(lambda self: [run for run in ("ga", "ltd") if run in self.runs])
    support_sized = property(lambda self: [run for run in ("ltd",) if run in self.runs])

    def folder_of(self, cell: str, run: str, seed: int) -> str:
        """Return where a run is, below the benchmark's folder."""
        return layout.run_folder(run).format(cell=cell, seed=seed, run=run)

    def _write_run(self, root: Path, cell: str, run: str, seed: int) -> None:
        place = root / self.folder_of(cell, run, seed)
        self.outputs(cell, run, seed).save(place / layout.OUTPUTS)
        write_json(place / layout.RECORD, self.record(root, cell, run, seed))
        write_json(place / layout.COST, self.cost(cell, run, seed))
        if run in self.tracked:
            self._write_epochs(place, cell, run, seed)

    def record(self, root: Path, cell: str, run: str, seed: int) -> dict[str, Any]:
        """What a run is; parameters, versions and hashes are its own."""
        rng, method = rng_of("record", cell, run, seed), run.partition("@")[0]
        teacher = {"teacher_ua": rng.random(), "teacher_epochs": float(rng.integers(5, 30))}
        about = {
            **{"run": run, "seed": seed, "status": self.status(run, seed, cell), "method": method},
            "params": {"lr": round(float(rng.random()), 3), "epochs": len(run)},
            "versions": {"numpy": f"2.{len(run)}", "torch": "2.14"},
            "code": rng_of("code", run).bytes(8).hex(),
            "extra": teacher | {"support_size": 50.0} if method == "ltd" else {},
            INPUTS: hash_files([root / layout.LABELS], root),
        }
        return about | (
            {"trained_on": self.split(cell).retain_hash} if run == layout.RETRAIN else {}
        )

    def cost(self, cell: str, run: str, seed: int) -> dict[str, Any]:
        """What a run cost: phases of unequal length, of every seed others."""
        rng, seconds = rng_of("cost", cell, run, seed), self.runs[run].seconds
        phases = {"unlearn": seconds * rng.uniform(0.8, 1.2)}
        if run.startswith("ltd"):
            phases |= {"support": rng.uniform(0.2, 0.4), "teacher": rng.uniform(1, 3)}
        total = sum(phases.values())
        steps = [part * total for part in (0.1, 0.3, 0.7, 1.0)]
        return {
            **{"seconds": phases, "total_seconds": total, "device": "cpu", "threads": 1},
            **{"peak_rss_mb": rng.uniform(300, 900), "peak_device_mb": None},
            **({"epoch_seconds": steps} if run in self.tracked else {}),
        }

    def course(self, cell: str, run: str, seed: int) -> list[ModelOutputs]:
        """The base model, and the run's after every epoch."""
        return [self.outputs(cell, run, seed, epoch / EPOCHS) for epoch in range(EPOCHS + 1)]

    def _write_epochs(self, place: Path, cell: str, run: str, seed: int) -> None:
        course = self.course(cell, run, seed)
        kept = [keep_outputs(model) for model in course]
        Epochs.stack(kept).save(place / layout.EPOCHS)

    def _write_teachers(self, root: Path, cell: str, seed: int) -> None:
        place = root / layout.SUPPORT_SIZE.format(cell=cell, seed=seed)
        self.teachers(cell, seed).save(place / layout.SUPPORT_SIZES)
        write_json(place / layout.RECORD, {"seed": seed})
        write_json(place / layout.COST, {"total_seconds": 3.0 + seed, "seconds": {}})

    def teachers(self, cell: str, seed: int) -> SupportSizes:
        """Teachers on supports of three sizes; the top two bins are hurt, either of them most."""
        rng, count = rng_of("teachers", cell, seed), len(SIZES)
        counts = rng.integers(8, 30, 10)
        drop = rng.uniform(0, 0.05, 10)
        drop[8:] = rng.uniform(0.15, 0.3, 2)
        shape = (count, len(self.split(cell).forget), self.num_classes)
        return SupportSizes(
            sizes=np.array(SIZES),
            soft_labels=softmax(rng.normal(0, 2, shape), axis=2).astype(np.float32),
            top=np.array(2),
            epochs=rng.integers(3, 40, count),
            support_accuracy=rng.uniform(0.9, 1, count),
            least_similarity=np.sort(rng.uniform(0.3, 0.9, count))[::-1],
            num_classes=np.array([1, 2, 3]),
            step_rate=np.array(rng.choice([0.25, 0.5, 1.0])),
            step_edges=np.linspace(*np.sort(rng.uniform(0.1, 0.95, 2)), 11),
            step_counts=counts,
            step_drop=drop,
            auto_size=np.array(counts[8:].sum()),
        )

    def _write_probe(self, root: Path, cell: str, seed: int) -> None:
        place = root / layout.PROBE.format(cell=cell, seed=seed)
        self.probe(cell, seed).save(place / layout.PROBE_RESULT)
        write_json(place / layout.RECORD, {"seed": seed})

    def probe(self, cell: str, seed: int) -> Probe:
        """What models show when they are fine-tuned on half of the forget set, or see noise."""
        runs = [run for run in self.runs_of(cell) if "@" not in run]
        rng, count = rng_of("probe", cell, seed), len(self.split(cell).forget)
        known = np.array([[PROBED.get(run, 0.4)] for run in runs]) + rng.uniform(
            0, 0.03, (len(runs), 1)
        )
        share = rng.beta(20 * known, 20 * (1 - known), (len(runs), count))
        return Probe(
            runs=np.array(runs),
            relearn_accuracy=known + np.cumsum(rng.uniform(0, 0.1, (len(runs), 4)), axis=1),
            residual_share=share.astype(np.float32),
            zrf_logits=rng.normal(0, 1, (count, self.num_classes)).astype(np.float32),
            **self._probe_of_features(cell, seed, known),
        )

    def _probe_of_features(self, cell: str, seed: int, known: np.ndarray) -> dict[str, np.ndarray]:
        """What new heads, features and fine-tuning on retained examples show, by run."""
        rng, count = rng_of("features", cell, seed), len(known)
        curves = {
            name: known * share + np.cumsum(rng.uniform(0, 0.1, (count, 3)), axis=1)
            for name, share in (("", 1.0), ("near_", 0.9), ("test_", 0.8))
        }
        return {
            "linear_accuracy": known + rng.uniform(0, 0.05, (count, 2)),
            "cka_retrain": known + rng.uniform(0, 0.3, (count, 4)),
            "cka_base": 1 - known * rng.uniform(0.5, 1, (count, 4)),
            "cka_features": rng.normal(0, 1, (40, 3)).astype(np.float32),
            "cka_part": np.repeat(np.arange(4), 10),
            "resurface_steps": np.array([0, 10, 40]),
            **{f"resurface_{name}accuracy": curve for name, curve in curves.items()},
            "patch_rates": rng_of("patch", cell, seed).uniform(0, 1, (count, 2)),
        }

    def exposure(self, cell: str, run: str) -> Exposure:
        """Margins of shadow models before and after a method; of each example half saw it."""
        count = len(self.labels.train)
        rng = rng_of("shadows")
        is_in = rng.random((self.num_shadows, count)).argsort(axis=0) < self.num_shadows // 2
        before = rng.normal(2, 1, is_in.shape) + 1.5 * is_in
        noise = 2.0 if (cell, run) == (MIXED, "ga") else 0.1
        after = before + rng_of("exposure", cell, run).normal(-0.2, noise, before.shape)
        after += {(MIXED, "ltd"): 0.8, (WHOLE, "ga"): -1.0}.get((cell, run), 0.0) * is_in
        forget = self.split(cell).forget
        after[:, forget] -= (2.4 if cell == MIXED else 0.5) * is_in[:, forget]
        return Exposure(is_in, before.astype(np.float32), after.astype(np.float32))

    def _write_trials(self, root: Path, cell: str, method: str) -> None:
        place = root / layout.TUNE.format(cell=cell, method=method)
        place.mkdir(parents=True)
        rows = list(self.trials(cell, method))
        with (place / layout.TRIALS).open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        write_json(place / layout.SELECTED, {"params": TRIALS[method][CHOSEN[method]]})
        write_json(place / layout.RECORD, {"method": method, "select": "paper"})
        seconds = self.tuning_seconds(cell, method)
        cost = {"total_seconds": seconds, "seconds": {}, "device": "cpu", "threads": 1}
        write_json(place / layout.COST, cost)

    def tuning_seconds(self, cell: str, method: str) -> float:
        """What tuning took, of every cell and method another time."""
        return float(rng_of("tuning", cell, method).uniform(9, 20))

    def trials(self, cell: str, method: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of trials.csv; what comes after the candidates are the defaults."""
        for trial, values in enumerate(TRIALS[method]):
            rng = rng_of("trial", cell, method, trial)
            rates = {name: rng.uniform(0.4, 0.95) for name in ("ua", "ra", "ta", "mia")}
            yield {
                **{"trial": trial, **values, "is_candidate": trial < CANDIDATES[method]},
                "is_default": trial == len(TRIALS[method]) - 1,
                "is_chosen": trial == CHOSEN[method],
                **rates,
                **{"ra_affected": rng.uniform(0.5, 0.9), "num_affected": 35, "teacher_ua": ""},
            }


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _outputs(logits: np.ndarray, label: np.ndarray) -> Outputs:
    probability = softmax(logits, axis=1)
    own = probability[np.arange(len(label)), label].astype(np.float32)
    return Outputs(logits.astype(np.float16), own, logits.argmax(axis=1))


def image_of(origin: str, index: int) -> np.ndarray:
    """Return the image of an example: pixels that say whose it is."""
    place = list(NUM_SHOWN).index(origin)
    image = np.zeros((4, 3, 3), np.uint8)
    image[..., 0], image[..., 1], image[..., 2] = 40 + 80 * place, index % 250, index // 250
    return image


# The real stages.


def compute(
    made: Made,
    root: Path,
    stage: Callable[[str], Any] = lambda name: None,
    more: Mapping[str, Any] = NOTHING,
    probes: Sequence[str] = PROBES,
) -> Path:
    """Compute all numbers: of every cell, and of all of them; `stage` is told which one begins."""
    stage("metrics")
    for cell in made.cells:
        numbers = {**made.options(cell), "probed": probes, **more}
        run_stage(MetricsJob, root, cell=cell, numbers=numbers)
    stage("gather")
    run_stage(GatherJob, root, cells=made.cells)
    return root


def present(root: Path, *stages: str, stage: Callable[[str], Any] = lambda name: None) -> Path:
    """Make tables, figures and the page; what is not asked for is an empty folder."""
    for name, kind in ((layout.TABLES, TablesJob), (layout.FIGURES, FiguresJob)):
        (root / name).mkdir(exist_ok=True)
        if name in stages:
            stage(name)
            run_stage(kind, root)
        else:
            sign_folder(root / name)
    stage("report")
    run_stage(ReportJob, root, cells=[path.parent.name for path in root.glob("*/pictures.npz")])
    return root


def folder_of(request: pytest.FixtureRequest) -> Path:
    """Return the results of a fixture's parameter: a run that docs keep, or the one benchmark."""
    is_made = request.param == "made"
    return request.getfixturevalue("animals").root if is_made else KEPT / request.param
