"""Speed of the membership attack on 10,000 + 10,000 confidences: the plain SVC against ours.

    python benchmarks/bench_mia.py [--quick]

Confidences come from real overfitted models (make_confidences.py); a repeat uses all members and
non-members of five models of one kind. Ours merges values that round to the same 1e-3.
"""

from pathlib import Path

import numpy as np
from measure import Row, in_turns, ratio, run
from numpy.typing import NDArray
from plain.evaluation import non_member_rate as plain_rate

from collateral.metrics.membership import non_member_rate

FILE = Path(__file__).with_name("confidences.npz")
GROUPS = ("members", "non_members", "targets")

Groups = tuple[NDArray[np.float64], ...]


def groups_of(kind: str, most: int) -> Groups:
    """Return members, non-members and targets, at most `most` of each."""
    rng = np.random.default_rng(0)
    with np.load(FILE) as file:
        found = [file[f"{kind}_{group}"].astype(np.float64) for group in GROUPS]
    return tuple(rng.permutation(values)[:most] for values in found)


def kinds() -> list[str]:
    """Return the kinds of models whose confidences are stored."""
    with np.load(FILE) as file:
        return sorted(name.removesuffix("_targets") for name in file if name.endswith("_targets"))


def off_by(groups: Groups) -> float:
    """Return the difference of the scores on forget set, members and test set, in points."""
    targets = np.concatenate(groups)
    difference = non_member_rate(*groups[:2], targets) - plain_rate(*groups[:2], targets)
    of_forget = non_member_rate(*groups) - plain_rate(*groups)
    return 100 * max(abs(difference), abs(of_forget))


def measure(quick: bool) -> list[Row]:
    """Compare the times of both attacks, then their scores."""
    most, repeats = (200, 1) if quick else (10_000, 3)
    samples = {kind: groups_of(kind, most) for kind in kinds()}
    groups = samples[kinds()[0]]
    seconds = in_turns(
        {"plain": lambda: plain_rate(*groups), "ours": lambda: non_member_rate(*groups)},
        repeats,
        warm_up=False,
    )
    sizes = f"{len(groups[0]):,} + {len(groups[1]):,}"
    note = f"plain {min(each.wall for each in seconds['plain']):.1f} s"
    rows = [
        ratio(
            f"membership attack, {sizes}: plain SVC / ours",
            seconds["plain"],
            seconds["ours"],
            at_least=50,
            note=note,
        )
    ]
    what = f"membership attack, {sizes}: score off by, points"
    differences = [off_by(sample) for sample in samples.values()]
    rows.append(Row(what, differences, at_most=0.2, note=f"models: {', '.join(samples)}"))
    return rows


if __name__ == "__main__":
    run(measure, __doc__)
