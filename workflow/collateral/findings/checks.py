"""Sanity checks of a cell.

A check returns a colour: green (passed), amber (warning), red (failed) or grey (not made).
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from collateral.contract.metrics import LAST_BITS, format_percent
from collateral.findings._shared.captions import count_seeds, list_seeds
from collateral.findings.metric_index import find_metric
from collateral.findings.registry import Problem, run_safely
from collateral.metrics import power
from collateral.metrics.copies import LEAST_SIDE, MOST_BITS
from collateral.metrics.likelihood_attacks import NORMAL_95
from collateral.metrics.statistics import mean_of_defined, std
from collateral.results.gates import Colour, Gate
from collateral.results.layout import ORIGINAL, RETRAIN
from collateral.results.table import BenchmarkTable, CellTable

# Minimum accuracy on retained examples (RA) at which Retrain counts as trained well enough.
LEAST_RA = 0.9
SMALL_BATCH = 32  # minimum batch size; in smaller batches, the statistics of batch norm are noisy
# Maximum difference in test accuracy between models that were trained in the same way.
MOST_TA_GAP = 0.03
# Maximum regret: average gap of the chosen trial minus that of the trial nearest to Retrain.
MOST_REGRET = 0.05
LEAST_RANGE = 64  # minimum difference of the largest and the smallest pixel value, of 255
PART = "checks"  # `Problem.part` of a check that raised an error
OLD = "the results are from before this was kept, so it cannot be said"
UNDECIDED = (
    "whether Retrain was trained as well as the given base cannot be decided: there are no test "
    "examples of classes that keep all train examples, and none far from the forget set (or no "
    "control `original`), or a model diverged"
)
NOT_RECORDED = f"it is weights of your own, or {OLD}"

Outcome = tuple[Colour, str]
# Type of a check: a function that returns None if the check does not apply to the cell.
Check = Callable[[CellTable], Outcome | None]


def run_checks(table: BenchmarkTable) -> tuple[list[Gate], list[Problem]]:
    """Run all checks on all cells; return the outcomes (gates) and the errors raised."""
    excluded = NEED_RETRAIN if table.reference != RETRAIN else ()
    checks = {name: check for name, check in CHECKS.items() if name not in excluded}
    outcomes = (_run(name, check, cell) for cell in table.cells for name, check in checks.items())
    found = [one for one in outcomes if one]
    return [gate for gate, _ in found], [problem for _, problem in found if problem]


def _run(name: str, check: Check, cell: CellTable) -> tuple[Gate, Problem | None] | None:
    """Return the outcome of one check and the error it raised, if any.

    The result is None if the check does not apply to the cell.
    """
    outcome, problem = run_safely(partial(check, cell), "gates", PART, cell.name)
    if problem:
        text = " ".join(f"could not be asked: {problem.error}".split())
        return Gate(name, cell.name, "amber", text), problem
    return (Gate(name, cell.name, *outcome), None) if outcome else None


def check_disjoint(cell: CellTable) -> Outcome:
    """Check that every train example is in the forget set or the retained set, not in both."""
    faults = cell.number(cell.reference, "split_faults")
    if math.isnan(faults):
        return "amber", f"whether forget and retain set share examples: {OLD}"
    num_forgotten = sum(count for count, _ in cell.forgotten.values())
    if faults:
        return "red", f"{faults:.0f} train examples are not in exactly one of forget and retain set"
    return "green", f"none of the {num_forgotten} forgotten examples is retained as well"


def check_training_set(cell: CellTable) -> Outcome:
    """Check that Retrain's training and validation examples together are the retained set."""
    found = cell.values(cell.reference, "trained_on_split")
    if wrong := _select_seeds(cell, found == 0):
        return "red", f"by its records, Retrain saw others than the retained: {wrong}"
    if unknown := _select_seeds(cell, np.isnan(found)):
        return "amber", f"what Retrain was trained on ({unknown}): {NOT_RECORDED}"
    text = "by its records, Retrain was trained on, or validated by, exactly the retained"
    return "green", f"{text}: {count_seeds(len(cell.seeds))}"


def check_learned(cell: CellTable) -> Outcome:
    """Check that Retrain is accurate on its training set."""
    ra, metric = cell.values(cell.reference, "ra"), find_metric("ra")
    least, bar = float(ra.min()), f"the bar is {format_percent(LEAST_RA)}"
    if math.isnan(least):
        return "red", f"Retrain's RA is undefined: {_select_seeds(cell, np.isnan(ra))}"
    text = f"Retrain's lowest RA of {count_seeds(len(cell.seeds))} is {metric.text(least)} %, {bar}"
    return ("green", text) if least >= LEAST_RA else ("red", f"{text}; {_suggest_training(cell)}")


def _suggest_training(cell: CellTable) -> str:
    """Suggest changes of the config that could make Retrain more accurate."""
    advice = "train longer (`base.epochs`) or with another rate (`base.lr`)"
    smallest = mean_of_defined(cell.values(cell.reference, "smallest_batch"))
    if smallest < SMALL_BATCH:  # false if it is NaN
        advice += (
            f"; its smallest batch has {smallest:.0f} examples, which are few for batch norm: "
            "another `base.batch_size` may leave more for the last batch"
        )
    return advice


def check_base_differs(cell: CellTable) -> Outcome:
    """Check that Retrain and the base model are different models."""
    found, metric = cell.values(cell.reference, "base_distance"), find_metric("base_distance")
    if same := _select_seeds(cell, found == 0):
        return "red", f"the base's confidences are Retrain's: {same}"
    if np.isnan(found).any():
        reason = f"unknown for {_select_seeds(cell, np.isnan(found))}"
        return "amber", f"how far the base is from Retrain is {reason}: a control `original` says"
    return "green", f"confidences of base and Retrain differ by {metric.text(found.min())} points"


def is_there_anything_to_forget(cell: CellTable) -> Literal["yes", "no", "open", ""]:
    """Tell whether the base model is shown to differ from Retrain in UA or MIA, or to equal it.

    The answer is "yes" if one of the two is shown to differ; "no" if both are shown to be within
    the margins; else "open". It is empty if the base model was not tested.
    """
    shown, within = (
        [cell.number(ORIGINAL, name, at=at) for at in ("ua", "mia")] for name in ("shown", "within")
    )
    if math.isnan(shown[0]):
        return ""
    if {1, -1} & {*shown}:
        return "yes"
    return "no" if within == [1, 1] else "open"


def check_forgettable(cell: CellTable) -> Outcome:
    """Check that the base model's UA or MIA is shown to differ from Retrain's."""
    base_ua, ua = (cell.values(cell.reference, name) for name in ("base_ua", "ua"))
    above, metric = mean_of_defined(base_ua - ua), find_metric("margin")
    if math.isnan(above):
        text = "whether anything is to be forgotten is unknown"
        return "amber", f"{text}: add the control `original`"
    text = f"the base model's UA is {metric.text(above, sign=True)} points from Retrain's"
    margin = cell.number(cell.reference, "margin", at="ua")
    if not math.isnan(margin):
        text += f", the margin is {metric.text(margin)}"
    found = cell.number(ORIGINAL, "difference", at="mia")
    if cell.number(ORIGINAL, "shown", at="mia") == -1:
        text += f"; its MIA is shown to be {metric.text(-found)} points below Retrain's"
    outcomes: dict[str, Outcome] = {
        "yes": ("green", text),
        "no": ("amber", f"nothing: {text}, and UA and MIA are shown to be within the margins"),
        "open": ("amber", f"{count_seeds(len(cell.seeds))} are too few to say: {text}"),
        "": ("amber", f"{text}; tested only with the control `original` and two seeds or more"),
    }
    return outcomes[is_there_anything_to_forget(cell)]


def check_recipe(cell: CellTable) -> Outcome | None:
    """Check that Retrain is about as accurate as the base model, if the user trained the base."""
    if "base_ta_gap" not in cell.metrics(cell.reference):
        return None  # The user gave no base model: it was trained in the same way as Retrain.
    found, examples = cell.values(cell.reference, "base_ta_gap"), "of unaffected classes"
    if np.isnan(found).all():  # for example, because all classes are affected
        found, examples = cell.values(ORIGINAL, "far_loss", "test"), "far from the forget set"
    if np.isnan(found).all():
        return "amber", UNDECIDED
    gap, metric = float(np.nanmean(found)), find_metric("base_ta_gap")
    chance = _chance_of_gap(cell, found)
    text = (
        f"on test examples {examples}, Retrain's accuracy is {metric.text(gap)} points from the "
        f"given base's; the bar is {format_percent(MOST_TA_GAP)}"
    )
    if abs(gap) <= MOST_TA_GAP:
        return "green", text
    if math.isnan(chance):
        return "amber", f"{text}: their recipes may differ"
    if abs(gap) - chance > MOST_TA_GAP:
        return "amber", f"{text}, and it is beyond chance: their recipes differ"
    few = f"chance of so few test examples and seeds is ± {metric.text(chance)}"
    return "green", f"{text}, but {few}: that their recipes differ is not shown"


def _chance_of_gap(cell: CellTable, gaps: NDArray[np.float64]) -> float:
    """Return half the 95 % interval of the mean gap, by chance of the test examples and of seeds.

    All seeds have the same test examples, so that part does not fall with the number of seeds.
    """
    error = mean_of_defined(cell.values(cell.reference, "base_ta_error"))
    count = int(np.count_nonzero(~np.isnan(gaps)))
    by_seed = float(np.nanvar(gaps, ddof=1)) / count if count > 1 else 0.0
    return NORMAL_95 * math.sqrt(error**2 + by_seed)


def check_test_set(cell: CellTable) -> Outcome | None:
    """Check that the base model cannot have seen test images, and that none is to be forgotten.

    A test image is to be forgotten if, for example, it shows the same person as forgotten images.
    """
    if cell.benchmark.test_drawn:
        text = "the test set is a share of the images, on which your base may have been trained"
        return "amber", f"{text}: TA and MIA cannot be trusted; name unseen images (`test_path`)"
    if (count := cell.number(cell.reference, "forgotten_in_test")) > 0:
        text = f"{count:.0f} test images have a value that is to be forgotten"
        advice = " (the same person), and count in TA and MIA; take them out of the test set"
        if cell.indices(cell.reference, "sibling_examples"):
            advice = (
                ", and count in TA and MIA: right if it is a subclass (the table of siblings has "
                "them alone); if it is a person, take them out of the test set"
            )
        return "amber", f"{text}{advice}"
    if cell.benchmark.test_drawn is None:
        return None  # Collateral trained the base model without the test set
    return "green", "the test set is one that you named, not a share of the images drawn here"


def check_shadows(cell: CellTable) -> Outcome | None:
    """Check that each shadow model gives its training examples' true classes a high probability."""
    least, metric = cell.number(cell.reference, "shadow_sure"), find_metric("shadow_sure")
    if math.isnan(least):
        return None  # there are no shadow models
    text = (
        f"of what it saw, each shadow model gives at least {metric.text(least)} % more than half "
        f"of the probability to the true class, the bar is {format_percent(LEAST_RA)}"
    )
    return ("green" if least >= LEAST_RA else "amber"), text


def check_exact_copies(cell: CellTable) -> Outcome:
    """Check that no forgotten image has an exact copy among the retained images."""
    found = cell.number(cell.reference, "exact_copies")
    if math.isnan(found):
        return "amber", f"whether forgotten images have copies among the retained: {OLD}"
    text = f"{found:.0f} forgotten images have an exact copy among the retained"
    return ("red" if found else "green"), text


def check_near_copies(cell: CellTable) -> Outcome:
    """Check that no forgotten image has a near copy among the retained images."""
    found, side = (cell.number(cell.reference, name) for name in ("near_copies", "image_side"))
    if side < LEAST_SIDE:
        text = f"not looked for in images of {side:.0f} pixels: below {LEAST_SIDE} many look alike"
        return "grey", text
    if math.isnan(found):
        return "amber", f"whether forgotten images look like retained ones: {OLD}"
    text = f"{found:.0f} forgotten images look like a retained one (hashes within {MOST_BITS} bits)"
    return ("amber" if found else "green"), text


def check_test_copies(cell: CellTable) -> Outcome:
    """Check that no test image is a copy of a train image, above all not of a forgotten one."""
    names = ("test_copies", "test_copies_forgotten")
    found, forgotten = (cell.number(cell.reference, name) for name in names)
    if math.isnan(found):
        return "amber", f"whether test images are copies of train images: {OLD}"
    if not found:
        return "green", "no test image is an exact copy of a train image"
    text = f"{found:.0f} test images are exact copies of train images, {forgotten:.0f} of forgotten"
    advice = "TA and MIA count them as unseen; take them out of the test set"
    # Not red: the test set is the same for Retrain. CIFAR-100's has ten such images.
    return "amber", f"{text} ones: {advice}"


def check_pixels(cell: CellTable) -> Outcome:
    """Check that the pixel values use a wide range, and that no image has one value only."""
    names = ("pixel_range", "constant_images")
    values, constant = (cell.number(cell.reference, name) for name in names)
    if math.isnan(values):
        return "amber", f"which values the pixels have: {OLD}"
    text = f"pixel values differ by up to {values:.0f} of 255, {constant:.0f} images are constant"
    if not values:
        return "red", f"{text}: nothing can be learned from them; look at the files' number format"
    if values < LEAST_RANGE or constant:
        return "amber", f"{text}: were they scaled from another range (12 bits, floats)?"
    return "green", text


def check_guessing(cell: CellTable) -> Outcome | None:
    """Check that Retrain and the base model are better than guessing on the test set."""
    metric = find_metric("known_ta")
    found = {run: cell.values(run, "known_ta") for run in (cell.reference, ORIGINAL)}
    lowest = {run: float(np.nanmin(ta)) for run, ta in found.items() if not np.isnan(ta).all()}
    if not lowest:
        return None  # there are test examples of one class only, or all models diverged
    guess, limit = (
        cell.number(cell.reference, name) for name in ("guessing", "guessing_by_chance")
    )
    labels = {cell.reference: cell.reference_label, ORIGINAL: "the base"}
    values = " and ".join(f"{metric.text(ta)} % ({labels[run]})" for run, ta in lowest.items())
    text = (
        f"the lowest TA of {count_seeds(len(cell.seeds))}, on classes that are kept, is {values}; "
        f"always naming the largest class gives {metric.text(guess)} %"
    )
    if min(lowest.values()) > limit:
        return "green", text
    advice = "are the test labels numbered as the train labels are, from the same classes?"
    return ("red" if min(lowest.values()) <= guess else "amber"), f"{text}: {advice}"


def check_tuning(cell: CellTable) -> Outcome:
    """Check that tuning selected an admissible trial whose values are not at an end of the grid."""
    plan, labels, rule = cell.plan, cell.benchmark.labels, cell.benchmark.select
    found = {run: cell.values(run, "trial_chosen") for run in plan.trials}
    chosen = {run: int(np.nanmin(v)) for run, v in found.items() if not np.isnan(v).all()}
    faults = {
        "no trial was admissible, so that tuning chose the least bad": [
            labels.get(run, run)
            for run in chosen
            if (cell.values(run, "rule_admissible", at=rule) == 0).any()
        ],
        "tuning chose an end of its grid, and values beyond it may be better": [
            f"{labels.get(run, run)} {key} {value:g} of {low:g} to {high:g}"
            for run, trial in chosen.items()
            for key, value, low, high in find_edges(plan.grid(run), trial)
        ],
        "what tuning chose is not among the numbers": [r for r in plan.trials if r not in chosen],
    }
    text = "; ".join(f"{fault}: {', '.join(named)}" for fault, named in faults.items() if named)
    if text:
        return "amber", text
    sizes = {
        f"{labels.get(run, run)} {key}": len(grid)
        for run in chosen
        for key, grid in _list_numbers(plan.grid(run)).items()
    }
    pairs = ", ".join(name for name, size in sizes.items() if size == 2)
    if max(sizes.values(), default=0) < 3:
        why = f"only two values were tried of {pairs}" if pairs else "no number was tuned"
        return "grey", f"whether a value at an end of its grid was chosen: {why}"
    text = (
        f"{len(chosen)} tuned methods: where three values or more were tried, the chosen one is "
        "neither the smallest nor the largest"
    )
    if pairs:
        text += f"; not checked, because only two values were tried: {pairs}"
    return "green", text


def check_selection(cell: CellTable) -> Outcome:
    """Check that tuning, which does not see Retrain, chose a trial about as near to it as any."""
    plan, labels, metric = cell.plan, cell.benchmark.labels, find_metric("regret")
    found = {run: mean_of_defined(cell.values(run, "regret")) for run in plan.trials}
    regrets = {run: regret for run, regret in found.items() if not math.isnan(regret)}
    if not regrets:
        return "grey", "how near to Retrain other trials of tuning are: nothing was tuned"
    bar = f"the bar is {metric.text(MOST_REGRET)}"
    order = sorted(regrets, key=lambda run: -regrets[run])
    far = [run for run in order if regrets[run] > MOST_REGRET]
    if not far:
        largest = metric.text(max(regrets.values()))
        text = "another trial of a tuned method is nearer to Retrain by at most"
        return "green", f"{text} {largest} points of average gap, {bar}"
    texts = [
        f"{labels.get(run, run)} by {metric.text(regrets[run])} points ({_name_trials(cell, run)})"
        for run in far
    ]
    text = (
        "tuning, which does not see Retrain, chose values further from it than others it tried, so "
        "that these methods could do better (average gap on the first seed)"
    )
    return "amber", f"{text}: {', '.join(texts)}; {bar}"


def _name_trials(cell: CellTable, run: str) -> str:
    """Return the values of the chosen trial and of the trial nearest to Retrain, as text."""
    trials = cell.plan.trials[run]
    places = (cell.values(run, f"trial_{which}") for which in ("chosen", "nearest"))
    values = (trials[int(np.nanmin(found))] for found in places)
    chosen, nearest = (", ".join(f"{key} {at}" for key, at in one.items()) for one in values)
    return f"{chosen} in place of {nearest}"


def check_variation(cell: CellTable) -> Outcome:
    """Check that retrainings with other seeds differ, so that chance can be estimated."""
    count = len(cell.seeds)
    if count < 2:
        return "grey", "one seed: how much retrainings differ is unknown"
    values = {name: cell.values(cell.reference, name) for name in ("ua", "ra", "ta", "mia")}
    texts = [
        f"{find_metric(name).label} {find_metric(name).text(std(found))}"
        for name, found in values.items()
        if not math.isnan(std(found))
    ]
    text = f"standard deviations over {count} retrainings, in points: {', '.join(texts)}"
    if not std(values["ta"]) <= LAST_BITS:
        return "green", text
    return "amber", (
        f"TA is the same in all {count} retrainings ({text}): chance hardly shows on test "
        "examples, so that one image may count as beyond chance there"
    )


def find_edges(
    trials: Sequence[Mapping[str, Any]], chosen: int
) -> Iterator[tuple[str, float, float, float]]:
    """Yield each parameter whose chosen value is the smallest or the largest of its grid.

    A parameter is yielded as its name, its chosen value, and the smallest and largest grid value.
    Grids of two values are left out, because both of their values are ends.
    """
    for key, grid in _list_numbers(trials).items():
        low, high, value = min(grid), max(grid), trials[chosen][key]
        if len(grid) > 2 and value in (low, high):
            yield key, value, low, high


def _list_numbers(trials: Sequence[Mapping[str, Any]]) -> dict[str, set[float]]:
    """Return the tried values of each parameter whose values are all numbers."""
    values = {key: {trial[key] for trial in trials} for key in trials[0]}
    return {
        key: tried
        for key, tried in values.items()
        if all(type(value) in (int, float) for value in tried)
    }


def check_seeds(cell: CellTable) -> Outcome:
    """Check that there are enough seeds to distinguish a difference from chance."""
    text = power.in_words(len(cell.seeds), len(cell.runs("method")))
    return ("green" if len(cell.seeds) >= power.FAIR else "amber"), text


def check_status(cell: CellTable) -> Outcome:
    """Check that no run diverged, collapsed or was skipped."""
    labels = {cell.reference: cell.reference_label, **cell.benchmark.labels}
    bad = [f"{labels[run]} {cell.failure_summary(run)}" for run in cell.kinds if cell.troubles[run]]
    if bad:
        return "amber", f"not all runs ended well: {', '.join(bad)}"
    return "green", f"all {len(cell.kinds)} runs ended well in {count_seeds(len(cell.seeds))}"


def _select_seeds(cell: CellTable, is_selected: NDArray[np.bool_]) -> str:
    """Return the seeds for which the mask is true as text, such as "seeds 0, 2", or empty text."""
    return list_seeds([seed for seed, yes in zip(cell.seeds, is_selected, strict=True) if yes])


# Dict from the name of each check on the web page to its function, in the order of the page.
CHECKS: dict[str, Check] = {
    "disjoint sets": check_disjoint,
    "trained on the split": check_training_set,
    "Retrain learned": check_learned,
    "above guessing": check_guessing,
    "base differs": check_base_differs,
    "something to forget": check_forgettable,
    "Retrain as the base": check_recipe,
    "test set unseen": check_test_set,
    "shadow models learned": check_shadows,
    "exact copies": check_exact_copies,
    "near copies": check_near_copies,
    "copies in the test set": check_test_copies,
    "pixel values": check_pixels,
    "tuning": check_tuning,
    "selection": check_selection,
    "retrainings vary": check_variation,
    "seeds": check_seeds,
    "runs ended well": check_status,
}
# Names of the checks that are not run if the benchmark has no Retrain.
NEED_RETRAIN = (
    *("trained on the split", "Retrain learned", "base differs", "something to forget"),
    "Retrain as the base",
    *("tuning", "selection", "retrainings vary", "seeds"),
)
