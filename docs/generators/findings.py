"""Sections of docs/findings.md, made from METRICS; repeated beginnings and ends become dots."""

import re
from collections.abc import Iterator, Mapping
from itertools import takewhile

from collateral.contract.metrics import Metric
from collateral.plugins.find import FINDING
from generators.plugins import page, paragraphs

DOTS = "..."  # Replaces words that a line shares with the one above.
EXPLAINING = ("examples", "cells", "cosine", "epochs", "classes")  # units of counts and positions
REPEATED = 4  # Fewest shared words that dots replace.
LEAST_LEFT = 3  # Fewest words that remain beside dots.


def findings() -> str:
    """Return the sections of all findings."""
    return page(in_order(), _finding)


def in_order() -> list[str]:
    """Return the names of the findings in the order of the report page."""
    return sorted(FINDING.names(), key=lambda name: (order_of(name), name))


def order_of(name: str) -> int:
    """Return the sort key of a finding; findings without ORDER come last."""
    return int(getattr(FINDING.load(name), "ORDER", 1000))


def _finding(name: str) -> Iterator[str]:
    module = FINDING.load(name)
    question, *more = paragraphs(module.__doc__)
    yield f"**{question}**"
    yield from more
    if getattr(module, "NEEDS", "") == "retrain":
        yield "Needs Retrain."
    metrics = getattr(module, "METRICS", {})
    ends = {key for key in metrics if _is_end(key, metrics)}
    told = {
        key: metric
        for key, metric in metrics.items()
        if key not in ends and not _is_by_epoch(metric) and not _interval_of(metric)
    }
    aside = [f"`{key}`" for key, metric in told.items() if _is_aside(name, key, metric)]
    shown = {key: metric for key, metric in told.items() if f"`{key}`" not in aside}
    yield "\n".join(_lines_of_metrics(shown))
    if aside:
        yield f"Also: {', '.join(aside)}."
    if by_epoch := [f"`{key}`" for key, metric in metrics.items() if _is_by_epoch(metric)]:
        yield f"By epoch: {', '.join(by_epoch)}."
    yield " ".join([*_intervals(metrics), *_sentence_of_ends(ends)])


def _is_by_epoch(metric: Metric) -> bool:
    """Return True if the metric is another metric after each epoch."""
    return metric.description.endswith("after an epoch; 0 is the base model")


def _is_aside(finding: str, key: str, metric: Metric) -> bool:
    """Return True if a number only explains others: a count, a position, noise, or for a check."""
    is_about_others = metric.unit in EXPLAINING or key.endswith("_sd") or finding == "gates"
    return not metric.ideal and is_about_others


def _is_end(key: str, metrics: Mapping[str, Metric]) -> bool:
    """Return True if the metric is an end of the interval of the metric of the same name."""
    whole, _, end = key.rpartition("_")
    starts = {"low": "lower end: ", "high": "upper end: "}
    return whole in metrics and metrics[key].description.startswith(starts.get(end, "\n"))


def _sentence_of_ends(ends: set[str]) -> Iterator[str]:
    """Yield a sentence that names the metrics whose 95 % intervals are metrics too."""
    if of := sorted({f"`{key.rpartition('_')[0]}`" for key in ends}):
        yield f"Of {', '.join(of)} there are the ends of the interval (`_low`, `_high`)."


def _interval_of(metric: Metric) -> str:
    """Return the kind of interval of which this metric is the lower or upper end, or ''."""
    found = re.match(
        r"(?:least|largest|lower end|upper end) of the (.*interval.*?): ", metric.description
    )
    return found[1] if found else ""


def _intervals(metrics: Mapping[str, Metric]) -> Iterator[str]:
    """Yield one sentence per kind of interval with the metrics that have it."""
    found: dict[str, dict[str, None]] = {}
    for key, metric in metrics.items():
        if kind := _interval_of(metric):
            of = max((k for k in metrics if key.startswith(f"{k}_") and k != key), key=len)
            found.setdefault(kind, {})[of] = None
    kinds: dict[tuple[str, ...], list[str]] = {}
    for kind, names in found.items():
        whose = "_examples" if kind.endswith("examples") else ""
        ends = f"the {kind} (`{whose}_low`, `{whose}_high`)"
        kinds.setdefault(tuple(f"`{name}`" for name in names), []).append(ends)
    for of, ends_of in kinds.items():
        yield f"Of {', '.join(of)} there are the ends of {' and '.join(ends_of)}."


def _lines_of_metrics(metrics: Mapping[str, Metric]) -> Iterator[str]:
    """Yield one line per metric: key, label, unit, ideal value, description."""
    whole = [""]
    for key, metric in metrics.items():
        said = metric.describe().split()
        short = _beyond(whole, said)
        about = "; ".join(filter(None, (metric.label, metric.unit, metric.ideal)))
        yield f"- `{key}` ({about}): {short}"
        whole = whole if DOTS in short else said


def _beyond(whole: list[str], said: list[str]) -> str:
    """Return a description with dots for the words that it shares with the last full one."""
    first, last = _alike(whole, said), _alike(whole[::-1], said[::-1])
    if max(first, last) < REPEATED or len(said) - max(first, last) < LEAST_LEFT:
        return " ".join(said)
    kept = [DOTS, *said[first:]] if first >= last else [*said[: len(said) - last], DOTS]
    return " ".join(kept)


def _alike(one: list[str], other: list[str]) -> int:
    """Return the number of leading words that two texts share."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
