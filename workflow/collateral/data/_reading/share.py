"""The share of every class that is tested on, where a data set has no test part of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING

from collateral.contract.seeds import seed_of
from collateral.contract.spelling import plain

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def num_tested(total: int, share: float) -> int:
    """Return how many of a class are tested on: at least one, and one is left to train on."""
    return min(max(1, round(share * total)), total - 1)


def drawn(
    labels: NDArray[np.int64], share: float, seed: int, stay: Container[int] = ()
) -> NDArray[np.bool_]:
    """Draw a share of every class by hashes of the examples' places, apart from those that stay."""
    import numpy as np

    is_test = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        places = np.flatnonzero(labels == label).tolist()
        may_go = [place for place in places if place not in stay]
        order = sorted(may_go, key=lambda place: seed_of("test", seed, place))
        is_test[order[: num_tested(len(places), share)]] = True
    return is_test


class GroupDraw:
    """Draw whole groups of examples, so that no group is in both the train and the test set."""

    def __init__(self, labels: Sequence[int], groups: Sequence[str], share: float) -> None:
        """Count the examples of every group and class."""
        self.totals = Counter(labels)
        self.wanted = {label: num_tested(n, share) for label, n in self.totals.items()}
        self.tested = Counter[int]()
        self.places: dict[str, list[int]] = {}
        self.counts: dict[str, Counter[int]] = {}
        for place, (label, group) in enumerate(zip(labels, groups, strict=True)):
            self.places.setdefault(group, []).append(place)
            self.counts.setdefault(group, Counter())[label] += 1

    def draw(self, names: Sequence[str], by: str, seed: int, stay: Container[int]) -> set[int]:
        """Return the places of about a share of every class; groups go by hashes of their names.

        A group is drawn if that brings the numbers of test examples nearer to the share. A class
        that is then without a test example gets the smallest group that has one. Groups with an
        example that is to `stay` in the train set are not drawn.
        """
        order = sorted(self.places, key=lambda group: seed_of("test", seed, group))
        movable = [group for group in order if not any(p in stay for p in self.places[group])]
        chosen = set[int]()
        for group in movable:
            if self._is_nearer(group) and self._leaves_some(group):
                chosen |= self._taken(group)
        movable.sort(key=lambda group: len(self.places[group]))
        for label in sorted(self.totals):
            if not self.tested[label]:
                having = (group for group in movable if self.counts[group][label])
                smallest = next(filter(self._leaves_some, having), None)
                if smallest is None:
                    raise ValueError(_no_test_example(names[label], by))
                chosen |= self._taken(smallest)
        return chosen

    def _is_nearer(self, group: str) -> bool:
        """Tell whether the test set with this group is nearer to the share of every class."""
        missing = {label: self.wanted[label] - self.tested[label] for label in self.counts[group]}
        after = sum(abs(n - self.counts[group][label]) for label, n in missing.items())
        return after < sum(map(abs, missing.values()))

    def _leaves_some(self, group: str) -> bool:
        """Tell whether every class has an example to train on without this group."""
        own = self.counts[group]
        return all(self.tested[label] + own[label] < self.totals[label] for label in own)

    def _taken(self, group: str) -> set[int]:
        self.tested += self.counts[group]
        return {*self.places[group]}


def _no_test_example(name: str, by: str) -> str:
    return (
        f"data.test_by: no test example of class {plain(name)!r}: every value of {plain(by)} with "
        "one stays in the train set, or has all examples of a class; give a test set of your own"
    )
