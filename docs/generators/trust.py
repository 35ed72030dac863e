"""Tables of docs/which-number.md and the doubts on pages, from docs/data/trust.

evidence.csv is the file tables/trust.csv of a run of configs/trust.yaml. Without it, the page says
that nothing was measured, and pages show all numbers alike.
"""

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path

from collateral.config.load import read
from collateral.contract.claims import FORGETTING, Claim
from collateral.findings.trust.judged import claim_label, list_claims
from collateral.findings.trust.rule import (
    CHANCE,
    KEYS,
    NOT,
    TESTS,
    TRUST,
    UNJUDGED,
    WITH,
    Evidence,
    Verdict,
    find_cells_alike,
    judge,
    list_unjudged,
)
from collateral.findings.trust.views import SUBJECTS, area_text, columns, headings
from collateral.report.doubts import MEASURED
from generators.agreement import agreement_table
from generators.tables import table

FILE = Path(__file__).parents[1] / "data" / "trust" / "evidence.csv"
CONFIG = Path(__file__).parents[2] / "configs" / "trust.yaml"
NOTHING = (
    "**Nothing is measured yet.** No batch of [configs/trust.yaml](../configs/trust.yaml) that is "
    "large enough for a verdict is finished. So no number has a verdict here, and pages show all "
    "numbers alike.\n"
)
FEW = "At most {count} models per group were compared; the plan has {planned}.\n"
PLANNED = 40  # judged seeds of configs/trust.yaml
RELIED = ("ua", "mia")  # numbers of forgetting that tables of papers print first
MOST = 3  # numbers that a sentence names
ENDS = ("", "_low", "_high")
PURPOSES = {"harm": "as a sign of harm", "locality": "as a sign that harm is local"}
UNMEASURED = "Not judged: no model of which the truth is known has this number yet."
HOW_TO_READ = {
    "harm": "Must stay at 0.5 ± 0.1 where Retrain's test accuracy equals the base's (tested: "
    "{alike}); elsewhere the forget set itself changes the accuracy on other examples. *Damaged "
    "Retrain* (against Retrain; the lowest): lower limit at least 0.80.\n\n",
    "locality": "Must stay at 0.5 ± 0.1 there, and for *damaged Retrain* (damaged everywhere "
    "alike; the farthest from 0.5).\n\n",
}


@dataclass(frozen=True)
class Judged:
    """The evidence about all numbers, and what follows from it by the thresholds of the config."""

    found: Mapping[Claim, Mapping[str, Evidence]]

    @cached_property
    def verdicts(self) -> dict[Claim, Verdict]:
        """Verdicts on the numbers that have enough models."""
        return {one.claim: one for one in judge(self.found, self._thresholds)}

    @cached_property
    def unjudged(self) -> dict[Claim, Verdict]:
        """Numbers that have too few models, with what they fail even so."""
        return {one.claim: one for one in list_unjudged(self.found, self._thresholds)}

    @cached_property
    def cells(self) -> list[str]:
        """Names of the cells."""
        return list(dict.fromkeys(cell for by_cell in self.found.values() for cell in by_cell))

    @property
    def count(self) -> int:
        """Number of models in the largest group."""
        return int(max(one.seeds for by_cell in self.found.values() for one in by_cell.values()))

    def about(self, *subjects: str) -> list[Verdict]:
        """Return the verdicts on numbers with these claims."""
        return [one for one in self.verdicts.values() if one.claim.about in subjects]

    @cached_property
    def _thresholds(self) -> dict[str, float]:
        (benchmark,) = read(CONFIG, "config").benchmarks.values()
        return {key: value for key, value in dict(benchmark.trust).items() if _is_number(value)}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def which_number_tables(file: Path = FILE) -> dict[str, str]:
    """Return the contents of the page by mark."""
    found = {"agreement": agreement_table()}
    if not file.exists():
        empty = dict.fromkeys(("verdicts", "counts", "remember", "surprises"), "")
        return found | {"state": NOTHING} | empty
    judged = read_judged(file)
    state = "" if judged.count >= PLANNED else FEW.format(count=judged.count, planned=PLANNED)
    found |= {"state": state, "verdicts": _tables(judged), "counts": _counts(judged)}
    return found | {"remember": _remember(judged), "surprises": _surprises(judged)}


def doubts(file: Path = FILE) -> str:
    """Return report/doubts.csv: why a number is not simply trusted, by metric and set."""
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    rows.writerow(["metric", "set", "code", "text"])
    if file.exists():
        texts_by_number = dict(_doubts(read_judged(file)))
        rows.writerows((*key, *texts_by_number[key]) for key in sorted(texts_by_number))
    return written.getvalue()


def _doubts(judged: Judged) -> Iterator[tuple[tuple[str, str], tuple[int, str]]]:
    for claim in list_claims():
        key = claim.metric, claim.set
        if verdict := judged.verdicts.get(claim):
            if verdict.code in (NOT, WITH):
                yield key, (verdict.code, _sentence(verdict))
        elif claim in judged.unjudged:
            cells = judged.found[claim].values()
            yield key, (UNJUDGED, _unjudged_sentence(judged.unjudged[claim], cells))
        else:
            yield key, (UNJUDGED, UNMEASURED)


def read_judged(file: Path) -> Judged:
    """Read the evidence about the numbers of the package."""
    claims = {(claim.name, claim.set): claim for claim in list_claims()}
    found: dict[Claim, dict[str, Evidence]] = {}
    with file.open(newline="", encoding="utf-8") as rows:
        for row in csv.DictReader(rows):
            if claim := claims.get((row["metric"], row["set"])):
                found.setdefault(claim, {})[row["cell"]] = _read_evidence(row)
    return Judged(found)


def _read_evidence(row: Mapping[str, str]) -> Evidence:
    values = {key: float(text or math.nan) for key, text in row.items() if key in _columns()}
    areas = {key: tuple(values.pop(f"{key}{end}") for end in ENDS) for key in KEYS}
    return Evidence(**areas, **values)


def _columns() -> set[str]:
    return {field.name for field in fields(Evidence)} | {f"{k}{end}" for k in KEYS for end in ENDS}


def _sentence(verdict: Verdict) -> str:
    """Return the sentence of a number's dialog."""
    reasons = "; ".join(verdict.reasons) or "no known model tests the claim alone"
    about = verdict.claim.about
    purpose = PURPOSES.get(about, "as a sign of forgetting")
    is_use = verdict.code == WITH
    start = f"Use this number {verdict.words}" if is_use else "Do not trust this number"
    return f"{start} {purpose}: on digits, {reasons}.{_use(verdict.claim)}"


def _use(claim: Claim) -> str:
    """Return what a number of forgetting is good for all the same."""
    if claim.about == "distance":
        return " As a distance from Retrain it may be used."
    if f"{claim.metric}|{claim.set}" in MEASURED.values() and claim.about in FORGETTING:
        return " Verdicts use it as a distance from Retrain only."
    return ""


def _unjudged_sentence(verdict: Verdict, cells: Iterable[Evidence]) -> str:
    """Return the sentence of the dialog of a number of which too few models are known."""
    count = min(int(one.seeds) for one in cells)
    fails = f" Even so, on digits, {'; '.join(verdict.reasons)}." if verdict.failures else ""
    return (
        f"Not judged: {count} values per group of known models are too few for a verdict.{fails}"
        f"{_use(verdict.claim)}"
    )


def _tables(judged: Judged) -> str:
    alike = ", ".join(sorted(find_cells_alike(judged.found)))
    parts = []
    for about, title in SUBJECTS.items():
        own = {claim: found for claim, found in judged.found.items() if claim.about == about}
        head = ["number", *headings(judged.cells, about)]
        lines = [_line(judged, claim, by_cell) for claim, by_cell in own.items()]
        if lines:
            note = HOW_TO_READ.get(about, "").format(alike=alike or "nowhere here")
            parts.append(f"### {title}\n\n{note}{table(map(_lower, head), lines)}")
    return "\n".join(parts)


def _lower(heading: str) -> str:
    return heading[:1].lower() + heading[1:]


def _line(judged: Judged, claim: Claim, by_cell: Mapping[str, Evidence]) -> list[str]:
    verdict = judged.verdicts.get(claim, judged.unjudged.get(claim))
    areas = [area_text(by_cell.get(cell, Evidence()).auc) for cell in judged.cells]
    *found, last = (field.value for field in columns(claim, by_cell, verdict))
    is_trusted = verdict is not None and verdict.code == TRUST
    return [claim_label(claim), *areas, *found, f"**{last}**" if is_trusted else last]


def _remember(judged: Judged) -> str:
    """Return three sentences for reviewers, and the number that is relied on and should not be."""
    forgot = judged.about(*FORGETTING)
    outputs, distances = judged.about("outputs"), judged.about("distance")
    silent = [one for one in outputs if "silent" in one.shown]
    hurt = [one for one in distances if one.accuses]
    good = [one for one in forgot if one.code == TRUST]
    sentences = [
        f"Of {len(forgot)} numbers that claim something of forgetting, {len(good)} can be trusted "
        f"alone{_names(good, ': ')}.",
        f"Of {len(outputs)} numbers of the outputs, {len(silent)} do not expose a model that hides "
        f"what it still knows{_names(silent, ': ')}.",
        f"Of {len(distances)} distances from Retrain, {len(hurt)} accuse a Retrain that is damaged "
        f"or has another recipe, and so never saw the forget set{_names(hurt, ': ')}.",
    ]
    listed = "".join(f"{place}. {text}\n" for place, text in enumerate(sentences, start=1))
    by_metric = {one.claim.metric: one for one in forgot if one.code != TRUST}
    doubted = next((by_metric[name] for name in RELIED if name in by_metric), None)
    if doubted is None:
        return listed
    name = claim_label(doubted.claim)
    return f"{listed}\n**Relied on most, and should not be: {name}.** {_sentence(doubted)}\n"


def _surprises(judged: Judged) -> str:
    """Return what a reader would not expect: numbers of the inside and of harm that fail."""
    lines = []
    for about, words in (("inside", "looks inside the model"), ("harm", "claims harm")):
        for one in judged.about(about):
            if one.code == NOT:
                tests = ", ".join(TESTS[name] for name in one.failures)
                lines.append(f"- {claim_label(one.claim)} {words}, but fails: {tests}.\n")
    for claim, by_cell in judged.found.items():
        for cell, one in by_cell.items():
            if claim.about in FORGETTING and one.auc[2] < CHANCE:
                area = f"AUC {one.auc[0]:.2f}, at most {one.auc[2]:.2f}"
                label = claim_label(claim)
                lines.append(f"- {label} is the wrong way round in {cell} ({area}).\n")
    return "".join(lines[:MOST])


def _names(verdicts: Iterable[Verdict], start: str) -> str:
    """Return the first labels, or nothing if there are none."""
    labels = [claim_label(one.claim) for one in verdicts]
    more = f" and {len(labels) - MOST} more" if len(labels) > MOST else ""
    return start + ", ".join(labels[:MOST]) + more if labels else ""


def _counts(judged: Judged) -> str:
    codes = [one.code for one in judged.verdicts.values()]
    shares = {"trust": TRUST, "only with another": WITH, "do not trust": NOT}
    counts = "; ".join(f"{name}: {codes.count(code)}" for name, code in shares.items())
    return f"Of {len(codes)} numbers: {counts}.\n"
