"""How well each number tells known models apart: AUC with intervals, order by dose, robustness."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from collateral.contract.claims import LAST, Claim
from collateral.contract.rows import Row
from collateral.findings.gap import FORGETTING, TERMS
from collateral.findings.inputs import CellResults
from collateral.findings.registry import add_numbers_before
from collateral.findings.trust.judged import list_claims
from collateral.findings.trust.rule import judge_benchmark
from collateral.metrics.arrays import Floats
from collateral.metrics.discrimination import (
    adjacent_auc,
    dose_concordance,
    paired_auc,
    relative_change,
)
from collateral.results.layout import ORIGINAL, RETRAIN, RETRAINED
from collateral.results.plan import TrustPlan
from collateral.results.table import BenchmarkTable

SILENT, DAMAGED, DAMAGED_RETRAIN = "silent", "damaged", "damaged0"
# Numbers over seeds are computed for groups of so many seeds.
GROUP = 5
GAPS = {**TERMS, "forgetting_error": FORGETTING}  # mean absolute deviations, by their terms


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield the evidence for and against every number; nothing without the key `trust`."""
    if cell.trust is None:
        return
    other = with_other_references(cell, cell.trust)
    for claim in list_claims():
        known = KnownModels(cell, cell.trust, claim, other)
        if np.isnan(known.values(ORIGINAL)).all():
            continue
        for metric, value in known.evidence():
            yield Row(cell.reference, metric, float(value), None, claim.set, claim.name)


def with_other_references(cell: CellResults, trust: TrustPlan) -> CellResults | None:
    """Return base models and Retrains, compared with the next reference of each seed.

    Probed models are left out, because probes are made with one reference.
    """
    known = list(dict.fromkeys(trust.references))
    if len(known) < 2:
        return None
    after = dict(zip(known, [*known[1:], known[0]], strict=True))
    references = tuple(after[seed] for seed in trust.references)
    other = replace(
        cell,
        controls=(ORIGINAL, RETRAINED),
        trust=replace(trust, references=references),
        methods=(),
        tuned=(),
        tracked=(),
        support_sized=(),
        exposed=(),
        probed=(),
        rounds=(),
    )
    add_numbers_before(other, "trust")
    return other


def across(table: BenchmarkTable) -> Iterator[Row]:
    """Yield the verdict on every number, over all cells."""
    for verdict in judge_benchmark(table):
        claim = verdict.claim
        yield Row(RETRAIN, "trust_verdict", float(verdict.code), None, claim.set, claim.name)


@dataclass(frozen=True)
class KnownModels:
    """The values of one number for models of which it is known what they saw."""

    cell: CellResults
    trust: TrustPlan
    claim: Claim
    other: CellResults | None = None  # base models and Retrains with other references

    def evidence(self) -> Iterator[tuple[str, float]]:
        """Yield all evidence about the number, by metric."""
        saw, not_saw = self.values(ORIGINAL), self.values(RETRAINED)
        hurt = self.values(DAMAGED_RETRAIN)
        yield "trust_seeds", float((~np.isnan(saw - not_saw)).sum())
        yield from _interval("trust_auc", paired_auc(saw, not_saw))
        yield from _interval("trust_silent", paired_auc(self.values(SILENT), not_saw))
        yield from _interval("trust_damaged", paired_auc(self.values(DAMAGED), hurt))
        yield from _interval("trust_hurt", paired_auc(hurt, not_saw))
        accused = [
            paired_auc(self.values(never), not_saw) for _, never in self.trust.recipes.values()
        ]
        told = [found for found in accused if not math.isnan(found[1])]
        if told:
            yield from _interval("trust_recipe", max(told, key=lambda found: found[1]))
        yield from self._doses(saw, not_saw)
        changes = [
            relative_change(
                np.concatenate([self.values(run) for run in runs]),
                np.concatenate([saw, not_saw]),
                saw,
                not_saw,
            )
            for runs in self.trust.edits.values()
        ]
        areas = [paired_auc(*map(self.values, runs))[0] for runs in self.trust.edits.values()]
        if known := [area for area in areas if not math.isnan(area)]:
            yield "trust_edited", min(known)
        if measured := [change for change in changes if not math.isnan(change)]:
            yield "trust_change", max(measured)
        if self.other:
            other = replace(self, cell=self.other)
            moved = [other.values(run) for run in (ORIGINAL, RETRAINED)]
            compared = (np.concatenate(moved), np.concatenate([saw, not_saw]), saw, not_saw)
            if not math.isnan(change := relative_change(*compared)):
                yield "trust_reference", change

    def _doses(self, saw: Floats, not_saw: Floats) -> Iterator[tuple[str, float]]:
        by_share = {share: self.values(run) for run, share in self.trust.doses.items()}
        if not by_share:
            return
        # Only seeds that have every dose, so that all doses have equally many models.
        has_all = ~np.isnan(np.stack([saw, not_saw, *by_share.values()])).any(axis=0)
        groups = {0.0: not_saw, **by_share, 1.0: saw}
        chosen = {share: groups[share][has_all] for share in sorted(groups)}
        doses = np.concatenate([np.full(len(own), share) for share, own in chosen.items()])
        yield "trust_dose", dose_concordance(doses, np.concatenate([*chosen.values()]))
        yield "trust_adjacent", adjacent_auc([*chosen.values()])

    def values(self, run: str) -> Floats:
        """Return a run's values by seed; larger values claim more."""
        claim = self.claim
        if terms := GAPS.get(claim.metric):
            return claim.sign * self._gaps(run, terms)
        at = self.cell.last_index(run, claim.metric, claim.set) if claim.at == LAST else claim.at
        return claim.sign * self.cell.values(run, claim.metric, claim.set, at)

    def _gaps(self, run: str, terms: Sequence[str]) -> Floats:
        """Return the average gap of each group of seeds, at the place of its first seed."""
        own, reference = (
            np.stack([self.cell.values(of, name) for name in terms])
            for of in (run, self.cell.reference)
        )
        found = np.full(own.shape[1], np.nan)
        for first in range(0, own.shape[1] - GROUP + 1, GROUP):
            group = slice(first, first + GROUP)
            found[first] = np.abs((own - reference)[:, group].mean(axis=1)).mean()
        return found


def _interval(metric: str, found: tuple[float, float, float]) -> Iterator[tuple[str, float]]:
    for end, value in zip(("", "_low", "_high"), found, strict=True):
        yield f"{metric}{end}", value
