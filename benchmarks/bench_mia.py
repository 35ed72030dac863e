"""The membership attack on one scalar feature: the plain SVC against ours, in one process.

    python benchmarks/bench_mia.py [--n 2000] [--repeats 3]

Ours rounds to 1e-3 and collapses equal values into weights. Each repeat draws new confidences.
"""

from argparse import ArgumentParser
from collections.abc import Callable
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from collateral.metrics.membership import non_member_rate

Floats = NDArray[np.float64]
Rate = Callable[[Floats, Floats, Floats], float]

# Mean and deviation of the logit of members, of non-members that are right, and of targets, and
# the share of right non-members: a net of some doubt, and one so sure that rounding hits most.
SHAPES = {
    "unsure": ((6, 1.8), (4, 2), (0.5, 3), 0.72),
    "sure": ((9, 2), (8, 2.5), (5, 3), 0.97),
}


def confidences(rng: np.random.Generator, n: int, shape: str) -> tuple[Floats, Floats, Floats]:
    """Draw n members, n non-members and n // 20 targets."""
    of_members, of_right, of_targets, right_rate = SHAPES[shape]
    is_right = rng.random(n) < right_rate
    non_members = np.where(is_right, rng.normal(*of_right, n), rng.normal(-2, 2, n))
    members, targets = rng.normal(*of_members, n), rng.normal(*of_targets, n // 20)
    return _sigmoid(members), _sigmoid(non_members), _sigmoid(targets)


def plain_rate(members: Floats, non_members: Floats, targets: Floats) -> float:
    """Return the score of the SVC on all values as they are."""
    x = np.concatenate([members, non_members])[:, None]
    is_member = np.repeat([1, 0], [len(members), len(non_members)])
    classifier = SVC(C=3, gamma="auto").fit(x, is_member)
    return float(1 - classifier.predict(targets[:, None]).mean())


def timed(rate: Rate, groups: tuple[Floats, Floats, Floats]) -> tuple[float, float]:
    """Return the score and the seconds it took."""
    start = perf_counter()
    score = rate(*groups)
    return score, perf_counter() - start


def compare(shape: str, n: int, repeats: int) -> None:
    """Print each repeat, then the ratio and its spread."""
    ratios = []
    for repeat in range(repeats):
        groups = confidences(np.random.default_rng(repeat), n, shape)
        plain, plain_seconds = timed(plain_rate, groups)
        ours, our_seconds = timed(non_member_rate, groups)
        ratios.append(plain_seconds / our_seconds)
        print(
            f"{shape}, {n} + {n}: plain {plain_seconds:.3f} s, ours {our_seconds:.3f} s; "
            f"score {plain:.4f} and {ours:.4f}, off by {ours - plain:+.4f}"
        )
    low, high = min(ratios), max(ratios)
    print(f"{shape}: ratio {np.median(ratios):.0f} (median), from {low:.0f} to {high:.0f}")


def main() -> None:
    """Compare on each shape of confidences."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=2000, help="members, and as many non-members")
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    for shape in SHAPES:
        compare(shape, args.n, args.repeats)


def _sigmoid(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-x))


if __name__ == "__main__":
    main()
