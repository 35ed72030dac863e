"""Ways to forge a submission: each changes a copy of an honest one. 31 and 32 mean the reader harm.

A forgery has the sentence by which it is refused or named, with words of the world that it forges
in braces. IGNORED ones change no number.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from made_submissions import RUN, World, change, place, read, sign, write

from collateral.commands._judging import Judge
from collateral.results.dataset import Labels
from collateral.results.provenance import content_hash
from collateral.results.split import Split
from collateral.results.submission import STATEMENT, Submission, hash_labels

REFUSED, NAMED, IGNORED, UNKNOWN = "refused", "named", "ignored", "unknown"


class Forgery(NamedTuple):
    number: str
    forge: Callable[[World, Path], None]
    outcome: str
    sentence: str

    @property
    def what(self) -> str:
        """What the forger did."""
        return self.forge.__name__.replace("_", " ")


FORGERIES: list[Forgery] = []


def forgery(number: int | str, outcome: str, sentence: str = "") -> Callable[[Any], Any]:
    def add(forge: Callable[[World, Path], None]) -> Callable[[World, Path], None]:
        FORGERIES.append(Forgery(str(number), forge, outcome, sentence))
        return forge

    return add


def words(world: World) -> dict[str, Any]:
    """Return what sentences say of a world, by the name in braces."""
    train, test = len(world.labels.train), len(world.labels.test)
    return {
        **{"cell": world.cell_name, "name": world.name, "ours": world.ours},
        **{"first": world.seeds[0], "second": world.seeds[1], "last": world.seeds[-1]},
        **{"seeds": len(world.seeds), "classes": len(world.labels.class_names)},
        **{"train": train, "fewer": train - 1, "test": test, "more": test + 1},
        **{"half": -(-test // 2), "forgotten": len(world.split.forget)},
    }


def judge_forgery(
    one: Forgery, world: World, judge: Judge, rival: Submission, folder: Path
) -> tuple[str, list[str]]:
    """Forge a copy of an honest submission; return what happened to it, and what was said."""
    world.submit(folder)
    one.forge(world, folder)
    try:
        submission = Submission.load(folder)
    except ValueError as error:
        return REFUSED, [str(error)]
    found = judge.judge(submission, [rival])
    if found.faults:
        return REFUSED, found.faults
    return NAMED if found.names else UNKNOWN, found.names


HEAD = ("#", "what was done", "outcome", "what was said")


def describe_forgery(one: Forgery, found: tuple[str, list[str]], folder: Path) -> list[str]:
    """Return a row of the table in docs/board.md."""
    outcome, said = found
    if one.outcome == IGNORED:
        outcome = IGNORED
    text = said[0].replace(f"{folder}/forged/", "").partition("; known: ")[0] if said else "nothing"
    return [one.number, one.what, outcome, text]


def check_forgery(one: Forgery, outcome: str, found: tuple[str, list[str]], world: World) -> None:
    """Fail if a forgery has not the outcome that it must have, or not by its sentence."""
    happened, said = found
    assert happened == (NAMED if outcome == IGNORED else outcome), said
    if outcome != UNKNOWN:
        sentence = one.sentence.format(**words(world))
        assert any(sentence in text for text in said), said
    if outcome == NAMED:
        # A mix, as an ensemble, may also be more accurate; nothing else is named twice.
        assert len(said) <= (2 if one.number == "20" else 1), said


def state(folder: Path, **changes: Any) -> None:
    """Change what submission.json states of the only cell."""
    one = Submission.load(folder)
    [(name, cell)] = one.stated.cells.items()
    cells = {name: cell.model_copy(update=changes)}
    Submission(folder, one.stated.model_copy(update={"cells": cells})).save()


def outputs_of(world: World, folder: Path, make: Callable[[int], Any]) -> None:
    """Replace the outputs of all seeds."""
    for seed in world.seeds:
        write(folder, seed, world.outputs(make(seed)), world.cell_name)
    sign(folder)


def rows(world: World, seed: int, part: str) -> np.ndarray:
    """Return the train indices of a part of the retained examples, or of the forget set."""
    if part == "forget":
        return world.split.forget
    return world.split.retain[getattr(world.cell, part)["retain"]]


@forgery(1, IGNORED, "not read: {cell}/metrics.csv")
def a_number_in_a_table(world: World, folder: Path) -> None:
    (folder / world.cell_name / "metrics.csv").write_text("run,metric,value\nmine,avg_gap,0\n")
    sign(folder)


@forgery(2, REFUSED, "seed-{first}/outputs.npz: was changed after submission.json was written")
def predictions(world: World, folder: Path) -> None:
    change(folder, world.seeds[0], world.cell_name, test_prediction=world.labels.test)


@forgery(3, IGNORED, "not read: labels.npz")
def labels(world: World, folder: Path) -> None:
    world.labels.save(folder / "labels.npz")
    sign(folder)


@forgery(4, REFUSED, "test: 1 predictions are not the class of the largest logit")
def one_prediction_signed(world: World, folder: Path) -> None:
    prediction = read(folder, world.seeds[1], world.cell_name)["test_prediction"]
    prediction[7] = (prediction[7] + 1) % len(world.labels.class_names)
    change(folder, world.seeds[1], world.cell_name, test_prediction=prediction)
    sign(folder)


@forgery(5, REFUSED, "train: {forgotten} confidences are not the softmax of the logits")
def confidences_signed(world: World, folder: Path) -> None:
    confidence = read(folder, world.seeds[0], world.cell_name)["train_confidence"]
    confidence[world.split.forget] += 0.1
    change(folder, world.seeds[0], world.cell_name, train_confidence=confidence)
    sign(folder)


@forgery(
    6, REFUSED, "seed {second}: train_logits: shape ({fewer}, {classes}), not ({train}, {classes})"
)
def a_row_missing(world: World, folder: Path) -> None:
    change(
        folder,
        world.seeds[1],
        world.cell_name,
        train_logits=read(folder, world.seeds[1], world.cell_name)["train_logits"][1:],
    )
    sign(folder)


@forgery(
    "6, twice",
    REFUSED,
    "seed {second}: test_logits: shape ({more}, {classes}), not ({test}, {classes})",
)
def a_row_twice(world: World, folder: Path) -> None:
    logits = read(folder, world.seeds[1], world.cell_name)["test_logits"]
    change(
        folder, world.seeds[1], world.cell_name, test_logits=np.concatenate([logits[:1], logits])
    )
    sign(folder)


@forgery(7, REFUSED, "seed {first}, train: logits are not finite")
def not_a_number(world: World, folder: Path) -> None:
    logits = read(folder, world.seeds[0], world.cell_name)["train_logits"]
    logits[3, 1] = np.nan
    change(folder, world.seeds[0], world.cell_name, train_logits=logits)
    sign(folder)


@forgery("7, type", REFUSED, "test_logits: type float64, not float16 or float32")
def another_type(world: World, folder: Path) -> None:
    change(
        folder,
        world.seeds[0],
        world.cell_name,
        test_logits=read(folder, world.seeds[0], world.cell_name)["test_logits"].astype(np.float64),
    )
    sign(folder)


@forgery(8, REFUSED, "a link, or outside of the submission's folder")
def a_file_outside(world: World, folder: Path) -> None:
    own = place(folder, world.seeds[0], world.cell_name)
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
    other = world.split.retain[: len(world.split.forget)]
    forget_others(world, folder, Split(other, world.split.num_train, (1,), {}))


@forgery(11, REFUSED, "made with another forget set than the published")
def an_easier_forget_set(world: World, folder: Path) -> None:
    label = world.labels.train[world.split.forget]
    sure = [world.base(seed)["train"][world.split.forget, label] for seed in world.seeds]
    easier = world.split.forget[np.argsort(np.mean(sure, axis=0))[: len(label) // 2]]
    forget_others(world, folder, Split(np.sort(easier), world.split.num_train, (1,), {}))


def forget_others(world: World, folder: Path, split: Split) -> None:
    """Send models that have forgotten other examples, and state which."""

    def forgot(seed: int) -> Any:
        logits = {part: of + noise(seed, of, 0.5) for part, of in world.base(seed).items()}
        logits["train"][split.forget, world.labels.train[split.forget]] -= 3.0
        return logits

    outputs_of(world, folder, forgot)
    state(folder, forget_set=split.hash)


@forgery(
    12, REFUSED, "seed {last}: test_logits: shape ({half}, {classes}), not ({test}, {classes})"
)
def a_shorter_test_set(world: World, folder: Path) -> None:
    for seed in world.seeds:
        arrays = read(folder, seed, world.cell_name)
        half = {name: arrays[name][::2] for name in arrays if name.startswith("test")}
        change(folder, seed, world.cell_name, **half)
    sign(folder)


@forgery("12, order", REFUSED, "made with other examples or another order")
def other_examples(world: World, folder: Path) -> None:
    order = np.random.default_rng(0).permutation(len(world.labels.train))

    def reordered(seed: int) -> Any:
        logits = world.method(seed)
        return {**logits, "train": logits["train"][order]}

    outputs_of(world, folder, reordered)
    labels = Labels(world.labels.train[order], world.labels.test, world.labels.class_names)
    state(folder, examples=hash_labels(labels))


@forgery(13, REFUSED, "made with another base model than the published, seed {first}, {second}")
def an_own_base(world: World, folder: Path) -> None:
    outputs_of(world, folder, lambda seed: from_own_base(world, seed))
    hashes = {seed: hash_of(world, folder, own_base(world, seed)) for seed in world.seeds[:2]}
    state(folder, base=hashes)


@forgery("13, not stated", NAMED, "kinship: it is not like the bases")
def an_own_base_that_is_not_stated(world: World, folder: Path) -> None:
    outputs_of(world, folder, lambda seed: from_own_base(world, seed))


def own_base(world: World, seed: int) -> Any:
    """Return a model of the accuracy of the bases that was trained by somebody else."""
    bases = [world.base(one) for one in world.seeds]
    means = {part: np.mean([base[part] for base in bases], axis=0) for part in bases[0]}
    return {part: of + noise(seed + 100, of, 1.0) for part, of in means.items()}


def from_own_base(world: World, seed: int) -> Any:
    logits = {part: of + noise(seed, of, 0.5) for part, of in own_base(world, seed).items()}
    forget = world.split.forget
    logits["train"][forget, world.labels.train[forget]] -= 3.0
    return logits


def noise(seed: int, like: np.ndarray, scale: float) -> np.ndarray:
    return np.random.default_rng([seed, len(like)]).normal(0, scale, like.shape)


def hash_of(world: World, folder: Path, logits: Any) -> str:
    """Return the hash of a file with the outputs of a model."""
    path = folder.parent / "own-outputs.npz"
    world.outputs(logits).save(path)
    return content_hash(path)


@forgery(14, REFUSED, "made with another Retrain than the published, seed {first}, {second}")
def an_own_retrain(world: World, folder: Path) -> None:
    bad = {
        seed: {part: of + noise(seed, of, 2.0) for part, of in world.retrain(seed).items()}
        for seed in world.seeds[:2]
    }
    state(folder, retrain={seed: hash_of(world, folder, of) for seed, of in bad.items()})


@forgery(15, IGNORED, "not read: {cell}/neighbours.npz")
def own_similarities(world: World, folder: Path) -> None:
    (folder / world.cell_name / "neighbours.npz").write_bytes(b"similar")
    sign(folder)


@forgery(16, REFUSED, "margins: unknown key")
def own_margins(world: World, folder: Path) -> None:
    content = json.loads((folder / STATEMENT).read_text())
    (folder / STATEMENT).write_text(json.dumps({**content, "margins": {"near": 50}}))


@forgery(17, REFUSED, "100% of the test set have exactly the logits of Retrain, seed {first}")
def retrain_as_a_method(world: World, folder: Path) -> None:
    outputs_of(world, folder, world.retrain)


@forgery(18, REFUSED, "exactly the logits of Retrain, seed")
def retrain_of_another_seed(world: World, folder: Path) -> None:
    outputs_of(world, folder, lambda seed: world.retrain(next_seed(world, seed)))


def next_seed(world: World, seed: int) -> int:
    return world.seeds[(world.seeds.index(seed) + 1) % len(world.seeds)]


@forgery(19, NAMED, "kinship: on the test set it is like Retrain")
def retrain_and_noise(world: World, folder: Path) -> None:
    def noisy(seed: int) -> Any:
        rng = np.random.default_rng(seed)
        return {k: of + rng.normal(0, 0.2, of.shape) for k, of in world.retrain(seed).items()}

    outputs_of(world, folder, noisy)


@forgery(20, NAMED, "mix: on the test set, seed {first} is 0.70 of the base plus 0.30 of Retrain")
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


@forgery(21, REFUSED, "100% of the forget set have exactly the logits of Retrain, seed {first}")
def retrain_on_the_forget_set(world: World, folder: Path) -> None:
    with_retrain_on(world, folder, "forget")


@forgery(22, REFUSED, "100% of the nearest retained examples have exactly the logits of Retrain")
def retrain_on_near_examples(world: World, folder: Path) -> None:
    with_retrain_on(world, folder, "near")


@forgery(23, REFUSED, "seeds {first} and {second} have the same outputs (100%)")
def one_seed_copied(world: World, folder: Path) -> None:
    outputs_of(world, folder, lambda _: world.method(world.seeds[0]))


@forgery(
    24, NAMED, "kinship: seeds are like other seeds' bases ({first} like {second}, {second} like "
)
def seeds_exchanged(world: World, folder: Path) -> None:
    outputs_of(world, folder, lambda seed: world.method(next_seed(world, seed)))


@forgery(25, NAMED, "copy: seed {first} has the logits of the entry rival of An author")
def another_entry(world: World, folder: Path) -> None:
    outputs_of(world, folder, lambda seed: world.method(seed, "rival"))


@forgery(26, NAMED, "copy: seed {first} has the logits of the entry rival of An author")
def another_entry_and_last_bits(world: World, folder: Path) -> None:
    def nearly(seed: int) -> Any:
        rng = np.random.default_rng(seed)
        copied = world.method(seed, "rival")
        return {k: of * (1 + rng.normal(0, 5e-4, of.shape)) for k, of in copied.items()}

    outputs_of(world, folder, nearly)


@forgery("26, ours", NAMED, "copy: seed {first} has the logits of the run {ours} in {name}")
def a_run_of_the_maintainers(world: World, folder: Path) -> None:
    outputs_of(world, folder, lambda seed: world.method(seed, "ours", 0.8))


@forgery(27, REFUSED, "{cell}: seed-{second} missing: all {seeds} seeds are required")
def a_bad_seed_left_out(world: World, folder: Path) -> None:
    place(folder, world.seeds[1], world.cell_name).unlink()
    sign(folder)


@forgery(28, REFUSED, "seed-17: not a seed of the benchmark")
def seeds_of_its_own(world: World, folder: Path) -> None:
    place(folder, world.seeds[1], world.cell_name).parent.rename(
        folder / world.cell_name / "seed-17"
    )
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


@forgery(
    30, NAMED, "outputs only: in seed {first} they are exactly the base model's on the test set"
)
def temperature_on_the_forget_set(world: World, folder: Path) -> None:
    def warmed(seed: int) -> Any:
        logits = world.base(seed)
        logits["train"][world.split.forget] /= 3
        return logits

    outputs_of(world, folder, warmed)


@forgery("30, nothing", NAMED, "they are the base model's: nothing was unlearned")
def nothing_unlearned(world: World, folder: Path) -> None:
    outputs_of(world, folder, world.base)


@forgery(31, REFUSED, "run: no name of a folder")
def a_run_that_is_a_folder_above(world: World, folder: Path) -> None:
    content = json.loads((folder / STATEMENT).read_text())
    (folder / STATEMENT).write_text(json.dumps({**content, "run": ".."}))


@forgery(32, REFUSED, "benchmark: no name of a folder")
def a_benchmark_of_its_own(world: World, folder: Path) -> None:
    content = json.loads((folder / STATEMENT).read_text())
    (folder / STATEMENT).write_text(json.dumps({**content, "benchmark": "../sent/evil/fake"}))


@forgery(33, REFUSED, "seed {first}: stated as diverged, and every train example has a confidence")
def retrain_stated_as_diverged(world: World, folder: Path) -> None:
    outputs_of(world, folder, world.retrain)
    state(folder, diverged=world.seeds)


@forgery("33, on test", REFUSED, "seed {last}, test: logits are not finite")
def retrain_and_infinity_on_test(world: World, folder: Path) -> None:
    retrain_stated_as_diverged(world, folder)
    with_a_number(world, folder, "test", np.inf)


@forgery("33, minus", REFUSED, "seed {last}, train: logits are not finite")
def retrain_and_minus_infinity(world: World, folder: Path) -> None:
    """One of the smallest logits: all confidences are those of Retrain."""
    retrain_stated_as_diverged(world, folder)
    with_a_number(world, folder, "train", -np.inf)


def with_a_number(world: World, folder: Path, part: str, number: float) -> None:
    """Replace the smallest logit of an example in all seeds."""
    for seed in world.seeds:
        logits = read(folder, seed, world.cell_name)[f"{part}_logits"]
        logits[3, logits[3].argmin()] = number
        change(folder, seed, world.cell_name, **{f"{part}_logits": logits})
    sign(folder)
