"""What `k: auto` takes, and why."""

from collections.abc import Sequence

from collateral.findings.support_size.reading import Supports, span, supports_of
from collateral.results.table import CellTable, mean

MIN_DROP = 0.05  # LTD's: what the most similar bin loses where `k: auto` takes a rate


def words(cell: CellTable) -> str:
    """Say it of the cells in which supports of several sizes were tried."""
    supports = supports_of(cell)
    return auto_in_words(supports) if supports else ""


def auto_in_words(supports: Supports) -> str:
    """Say how many examples it takes, at which rate, from which similarity."""
    steps = supports.steps
    rates = span([step.rate for step in steps], "support_step_rate")
    losses = span([float(step.drop[-1]) for step in steps], "support_drop")
    least = span([step.least_similarity for step in steps], "support_bin_low")
    text = (
        f"k: auto takes {span(supports.auto, 'support_auto')} examples. One step of gradient "
        "ascent on the forget set is taken at the first of a series of doubling rates (here "
        f"{rates}) that costs the most similar bin of retained examples 5 points; it cost it "
        f"{losses}. From that bin down, the bins that lose at least half of the largest loss are "
        f"taken: here those from similarity {least} up."
    )
    if short := [step.seed for step in steps if step.top_is_short]:
        text += (
            f" In {_seeds(short)} another bin loses more than twice as much as the most similar "
            "one, which is taken alone, because it always is."
        )
    if weak := [step.seed for step in steps if step.drop[-1] < MIN_DROP]:
        text += f" In {_seeds(weak)} no rate of the series costs it 5 points; the last was taken."
    return text + _one_class(supports)


def _seeds(seeds: Sequence[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"


def _one_class(supports: Supports) -> str:
    """Say up to which size the support is of one class, so that the teacher can learn no other."""
    alone = [
        size
        for size, classes in zip(supports.sizes, supports.values("num_classes"), strict=True)
        if mean(classes) == 1
    ]
    return f" A support of {max(alone)} or fewer is of one class in every seed." if alone else ""
