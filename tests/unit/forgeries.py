"""Thirty ways to forge a submission, and a few more: each changes a copy of an honest one.

A forgery has the sentence by which it is refused or named. IGNORED ones change no number.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from made_submissions import CELL, RUN, SEEDS, World, change, place, read, sign, write

from collateral.results.submission import STATEMENT, Submission

REFUSED, NAMED, IGNORED, UNKNOWN = "refused", "named", "ignored", "unknown"
FIRST, SECOND, *_ = SEEDS


class Forgery(NamedTuple):
    number: str
    forge: Callable[[World, Path], None]
    outcome: str
    sentence: str


FORGERIES: list[Forgery] = []


def forgery(number: int | str, outcome: str, sentence: str = "") -> Callable[[Any], Any]:
    def add(forge: Callable[[World, Path], None]) -> Callable[[World, Path], None]:
        FORGERIES.append(Forgery(str(number), forge, outcome, sentence))
        return forge

    return add


def state(folder: Path, **changes: Any) -> None:
    """Change what submission.json states of the cell."""
    one = Submission.load(folder)
    cell = one.stated.cells[CELL].model_copy(update=changes)
    Submission(folder, one.stated.model_copy(update={"cells": {CELL: cell}})).save()


def outputs_of(world: World, folder: Path, make: Callable[[int], Any]) -> None:
    """Replace the outputs of all seeds."""
    for seed in SEEDS:
        write(folder, seed, world.outputs(make(seed)))
    sign(folder)


def rows(world: World, seed: int, part: str) -> np.ndarray:
    """Return the train indices of a part of the retained examples, or of the forget set."""
    if part == "forget":
        return world.split.forget
    return world.split.retain[getattr(world.cell, part)["retain"]]


@forgery(1, IGNORED, "not read: ox-50/metrics.csv")
def a_number_in_a_table(world: World, folder: Path) -> None:
    (folder / CELL / "metrics.csv").write_text("run,metric,value\nmine,avg_gap,0\n")
    sign(folder)


@forgery(2, REFUSED, "seed-2/outputs.npz: was changed after submission.json was written")
def predictions(world: World, folder: Path) -> None:
    change(folder, FIRST, test_prediction=world.labels.test)


@forgery(3, IGNORED, "not read: labels.npz")
def labels(world: World, folder: Path) -> None:
    world.labels.save(folder / "labels.npz")
    sign(folder)


@forgery(4, REFUSED, "test: 1 predictions are not the class of the largest logit")
def one_prediction_signed(world: World, folder: Path) -> None:
    prediction = read(folder, SECOND)["test_prediction"]
    prediction[7] = (prediction[7] + 1) % 4
    change(folder, SECOND, test_prediction=prediction)
    sign(folder)


@forgery(5, REFUSED, "train: 40 confidences are not the softmax of the logits")
def confidences_signed(world: World, folder: Path) -> None:
    confidence = read(folder, FIRST)["train_confidence"]
    confidence[world.split.forget] += 0.1
    change(folder, FIRST, train_confidence=confidence)
    sign(folder)


@forgery(6, REFUSED, "seed 5: train_logits: shape (279, 4), not (280, 4)")
def a_row_missing(world: World, folder: Path) -> None:
    change(folder, SECOND, train_logits=read(folder, SECOND)["train_logits"][1:])
    sign(folder)


@forgery("6, twice", REFUSED, "seed 5: test_logits: shape (141, 4), not (140, 4)")
def a_row_twice(world: World, folder: Path) -> None:
    logits = read(folder, SECOND)["test_logits"]
    change(folder, SECOND, test_logits=np.concatenate([logits[:1], logits]))
    sign(folder)


@forgery(7, REFUSED, "seed 2, train: logits are not finite")
def not_a_number(world: World, folder: Path) -> None:
    logits = read(folder, FIRST)["train_logits"]
    logits[3, 1] = np.nan
    change(folder, FIRST, train_logits=logits)
    sign(folder)


@forgery("7, type", REFUSED, "test_logits: type float64, not float16 or float32")
def another_type(world: World, folder: Path) -> None:
    change(folder, FIRST, test_logits=read(folder, FIRST)["test_logits"].astype(np.float64))
    sign(folder)


@forgery(8, REFUSED, "a link, or outside of the submission's folder")
def a_file_outside(world: World, folder: Path) -> None:
    own = place(folder, FIRST)
    elsewhere = own.rename(folder.parent / "elsewhere.npz")
    own.symlink_to(elsewhere)
    sign(folder)


@forgery("8, path", REFUSED, "outside of the submission's folder")
def a_path_outside(world: World, folder: Path) -> None:
    content = json.loads((folder / STATEMENT).read_text())
    content["files"]["../../secret"] = "0"
    (folder / STATEMENT).write_text(json.dumps(content))


@forgery(9, NAMED, "kinship: it is not like the bases")
def rows_permuted(world: World, folder: Path) -> None:
    def permuted(seed: int) -> Any:
        logits = world.method(seed)
        rng = np.random.default_rng(seed)
        return {part: of[rng.permutation(len(of))] for part, of in logits.items()}

    outputs_of(world, folder, permuted)


@forgery(10, REFUSED, "made with another forget set than the published")
def another_split(world: World, folder: Path) -> None:
    state(folder, forget_set="0" * 64)


@forgery(11, REFUSED, "made with another forget set than the published")
def an_easier_forget_set(world: World, folder: Path) -> None:
    easier = type(world.split)(world.split.forget[::2], world.split.num_train, (1,), {})
    state(folder, forget_set=easier.hash)


@forgery(12, REFUSED, "seed 11: test_logits: shape (70, 4), not (140, 4)")
def a_shorter_test_set(world: World, folder: Path) -> None:
    for seed in SEEDS:
        arrays = read(folder, seed)
        half = {name: arrays[name][::2] for name in arrays if name.startswith("test")}
        change(folder, seed, **half)
    sign(folder)


@forgery("12, order", REFUSED, "made with other examples or another order")
def other_examples(world: World, folder: Path) -> None:
    state(folder, examples="1" * 64)


@forgery(13, REFUSED, "made with another base model than the published, seed 5")
def an_own_base(world: World, folder: Path) -> None:
    state(folder, base={FIRST: "", SECOND: "2" * 64})


@forgery(14, REFUSED, "made with another Retrain than the published, seed 2, 5")
def an_own_retrain(world: World, folder: Path) -> None:
    state(folder, retrain={FIRST: "3" * 64, SECOND: "4" * 64})


@forgery(15, IGNORED, "not read: ox-50/neighbours.npz")
def own_similarities(world: World, folder: Path) -> None:
    (folder / CELL / "neighbours.npz").write_bytes(b"similar")
    sign(folder)


@forgery(16, REFUSED, "margins: unknown key")
def own_margins(world: World, folder: Path) -> None:
    content = json.loads((folder / STATEMENT).read_text())
    (folder / STATEMENT).write_text(json.dumps({**content, "margins": {"near": 50}}))


@forgery(17, REFUSED, "100% of the test set have exactly the logits of Retrain, seed 2")
def retrain_as_a_method(world: World, folder: Path) -> None:
    outputs_of(world, folder, world.retrain)


@forgery(18, REFUSED, "exactly the logits of Retrain, seed")
def retrain_of_another_seed(world: World, folder: Path) -> None:
    outputs_of(world, folder, lambda seed: world.retrain(next_seed(seed)))


def next_seed(seed: int) -> int:
    return SEEDS[(SEEDS.index(seed) + 1) % len(SEEDS)]


@forgery(19, NAMED, "kinship: on the test set it is like Retrain")
def retrain_and_noise(world: World, folder: Path) -> None:
    def noisy(seed: int) -> Any:
        rng = np.random.default_rng(seed)
        return {k: of + rng.normal(0, 0.2, of.shape) for k, of in world.retrain(seed).items()}

    outputs_of(world, folder, noisy)


@forgery(20, NAMED, "mix: on the test set, seed 2 is 0.70 of the base plus 0.30 of Retrain")
def a_mix_of_base_and_retrain(world: World, folder: Path) -> None:
    def mixed(seed: int) -> Any:
        base, retrain = world.base(seed), world.retrain(seed)
        return {part: 0.7 * base[part] + 0.3 * retrain[part] for part in base}

    outputs_of(world, folder, mixed)


def with_retrain_on(world: World, folder: Path, part: str) -> None:
    def patched(seed: int) -> Any:
        logits = world.method(seed)
        chosen = rows(world, seed, part)
        logits["train"][chosen] = world.retrain(seed)["train"][chosen]
        return logits

    outputs_of(world, folder, patched)


@forgery(21, REFUSED, "100% of the forget set have exactly the logits of Retrain, seed 2")
def retrain_on_the_forget_set(world: World, folder: Path) -> None:
    with_retrain_on(world, folder, "forget")


@forgery(22, REFUSED, "100% of the nearest retained examples have exactly the logits of Retrain")
def retrain_on_near_examples(world: World, folder: Path) -> None:
    with_retrain_on(world, folder, "near")


@forgery(23, REFUSED, "seeds 2 and 5 have the same outputs (100%)")
def one_seed_copied(world: World, folder: Path) -> None:
    outputs_of(world, folder, lambda _: world.method(FIRST))


@forgery(24, NAMED, "kinship: seeds are like other seeds' bases (2 like 5, 5 like 11")
def seeds_exchanged(world: World, folder: Path) -> None:
    outputs_of(world, folder, lambda seed: world.method(next_seed(seed)))


@forgery(25, NAMED, "copy: seed 2 has the logits of the entry rival of An author")
def another_entry(world: World, folder: Path) -> None:
    outputs_of(world, folder, lambda seed: world.method(seed, "rival"))


@forgery(26, NAMED, "copy: seed 2 has the logits of the entry rival of An author")
def another_entry_and_last_bits(world: World, folder: Path) -> None:
    def nearly(seed: int) -> Any:
        rng = np.random.default_rng(seed)
        copied = world.method(seed, "rival")
        return {k: of * (1 + rng.normal(0, 5e-4, of.shape)) for k, of in copied.items()}

    outputs_of(world, folder, nearly)


@forgery("26, ours", NAMED, "copy: seed 2 has the logits of the run ours in animals")
def a_run_of_the_maintainers(world: World, folder: Path) -> None:
    outputs_of(world, folder, lambda seed: world.method(seed, "ours", 0.8))


@forgery(27, REFUSED, "ox-50: seed-5 missing: all 4 seeds are required")
def a_bad_seed_left_out(world: World, folder: Path) -> None:
    place(folder, SECOND).unlink()
    sign(folder)


@forgery(28, REFUSED, "seed-17: not a seed of the benchmark")
def seeds_of_its_own(world: World, folder: Path) -> None:
    place(folder, SECOND).parent.rename(folder / CELL / "seed-17")
    sign(folder)


@forgery("28, rerolled", UNKNOWN)
def best_of_many_trials_under_the_fixed_seeds(world: World, folder: Path) -> None:
    outputs_of(world, folder, lambda seed: world.method(seed, f"best of 20, {RUN}"))


@forgery(29, NAMED, "points above both base and Retrain")
def test_labels_used(world: World, folder: Path) -> None:
    def cheated(seed: int) -> Any:
        logits, label = world.method(seed), world.labels.test
        logits["test"][np.arange(len(label)), label] += 2.0
        return logits

    outputs_of(world, folder, cheated)


@forgery(30, NAMED, "outputs only: in seed 2 they are exactly the base model's on the test set")
def temperature_on_the_forget_set(world: World, folder: Path) -> None:
    def warmed(seed: int) -> Any:
        logits = world.base(seed)
        logits["train"][world.split.forget] /= 3
        return logits

    outputs_of(world, folder, warmed)


@forgery("30, nothing", NAMED, "they are the base model's: nothing was unlearned")
def nothing_unlearned(world: World, folder: Path) -> None:
    outputs_of(world, folder, world.base)
