"""The verdict on a number, from thresholds that the config fixes before the run."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from collateral.contract.claims import FORGETTING, Claim
from collateral.findings.trust.judged import claim_label, list_claims
from collateral.results.layout import RETRAIN
from collateral.results.table import BenchmarkTable, CellTable

TRUST, WITH, NOT, UNJUDGED = 2, 1, 0, -1
WORDS = {TRUST: "trust", WITH: "only with", NOT: "do not trust", UNJUDGED: "not judged"}
CHANCE = 0.5
# What is wrong with a number, in words, by the name of the failure.
FAILURES = {
    "tells": "it does not reliably tell models that saw the forget set from models that did not",
    "dose": "in one kind of forget set at least, it often misjudges which of two models saw more "
    "of it",
    "silent": "it does not expose a model that hides in its last layer what it still knows",
    "damaged": "it does not tell a damaged model that still knows from a damaged Retrain",
    "hurt": "it accuses a damaged Retrain, which never saw the forget set",
    "recipe": "it accuses a Retrain of another recipe, which never saw the forget set",
    "change": "rounding the weights, or one more epoch, moves it too much",
    "reference": "with the Retrain of another seed as reference it is another number",
    "blind": "it does not tell a damaged Retrain from Retrain",
    "moves": "it moves where only the forget set differs",
    "anywhere": "it moves where the damage is everywhere alike",
}
# The sentence on an impostor by which no cell shows that the number is fooled.
UNCLEAR = {
    "silent": "whether it exposes a model that hides in its last layer what it still knows is "
    "unclear",
    "damaged": "whether it tells a damaged model that still knows from a damaged Retrain is "
    "unclear",
}
# The same in a word or two, for tables.
TESTS = {
    **{"tells": "saw", "dose": "dose", "silent": "silent", "damaged": "damaged"},
    **{"hurt": "accuses damage", "recipe": "accuses a recipe", "change": "change by an edit"},
    "reference": "change of reference",
    **{"blind": "blind to damage", "moves": "moves with forgetting", "anywhere": "moves anywhere"},
}
IMPOSTORS = ("silent", "damaged")  # failures that another number can make up for
ACCUSATIONS = {"hurt": "damaged Retrain", "recipe": "other recipe"}
KEYS = ("auc", "silent", "damaged", "hurt", "recipe")
UNKNOWN = (math.nan, math.nan, math.nan)
PARTNER_OF_LOCALITY = ("near_loss", "test")


@dataclass(frozen=True)
class Evidence:
    """Evidence about a number in one cell: AUCs with both limits, and numbers without."""

    auc: tuple[float, float, float] = UNKNOWN
    silent: tuple[float, float, float] = UNKNOWN
    damaged: tuple[float, float, float] = UNKNOWN
    hurt: tuple[float, float, float] = UNKNOWN
    recipe: tuple[float, float, float] = UNKNOWN
    dose: float = math.nan
    adjacent: float = math.nan
    change: float = math.nan
    reference: float = math.nan
    edited: float = math.nan  # the lowest AUC after an edit
    seeds: float = math.nan  # number of seeds whose models are compared

    @property
    def is_known(self) -> bool:
        """Whether all that a verdict needs was measured, besides other recipes and edits."""
        needed = (*self.auc, *self.silent, *self.damaged, *self.hurt, self.dose)
        return not any(map(math.isnan, needed))

    @property
    def is_beyond_chance(self) -> bool:
        """Whether the number tells both groups apart, in either direction."""
        return self.auc[1] > CHANCE or self.auc[2] < CHANCE

    @property
    def changes(self) -> tuple[float, float]:
        """Change by edits and by another reference, relative to the distance of both groups.

        It is undefined where the number does not tell them apart, because nothing is divided by.
        """
        known = (self.change, self.reference)
        return known if self.is_beyond_chance else (math.nan, math.nan)


@dataclass(frozen=True)
class Verdict:
    """The verdict on a number: its code, what is wrong with it, and which number helps."""

    claim: Claim
    code: int
    failures: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()  # failures that the limits of an AUC show
    partner: Claim | None = None

    @property
    def words(self) -> str:
        """The verdict in words."""
        partner = f" {claim_label(self.partner)}" if self.partner else ""
        return WORDS[self.code] + partner

    @property
    def reasons(self) -> list[str]:
        """What is wrong with the number, in words."""
        return [(UNCLEAR if self.is_unclear(name) else FAILURES)[name] for name in self.failures]

    @property
    def fooled_by(self) -> str:
        """The impostors that fool the number, and those of which that is unclear."""
        names = [name for name in IMPOSTORS if name in self.failures]
        return ", ".join(f"{name} (unclear)" if self.is_unclear(name) else name for name in names)

    @property
    def accuses(self) -> str:
        """The models that never saw the forget set and that the number accuses."""
        return ", ".join(text for name, text in ACCUSATIONS.items() if name in self.failures)

    @property
    def other_failures(self) -> str:
        """The other tests that the number failed, in a few words."""
        others = [name for name in self.failures if name not in {*IMPOSTORS, *ACCUSATIONS}]
        return ", ".join(TESTS[name] for name in others)

    def is_unclear(self, name: str) -> bool:
        """Tell whether an impostor is not recognised, and not shown to fool the number either."""
        return name in IMPOSTORS and name not in self.shown


def judge_benchmark(table: BenchmarkTable) -> list[Verdict]:
    """Return the verdicts on all numbers that were measured."""
    plans = [cell.plan.numbers.trust for cell in table.cells if cell.plan.numbers]
    thresholds = next((plan.thresholds for plan in plans if plan), None)
    return judge(read_all_evidence(table.cells), thresholds) if thresholds else []


def read_all_evidence(cells: Sequence[CellTable]) -> dict[Claim, dict[str, Evidence]]:
    """Return the evidence about every number that was measured."""
    found = {claim: read_evidence(cells, claim) for claim in list_claims()}
    return {claim: by_cell for claim, by_cell in found.items() if by_cell}


def read_evidence(cells: Sequence[CellTable], claim: Claim) -> dict[str, Evidence]:
    """Return the evidence about a number by cell, of the cells in which it was measured."""
    found = {cell.name: _read_cell(cell, claim) for cell in cells}
    return {name: one for name, one in found.items() if not math.isnan(one.auc[0])}


def _read_cell(cell: CellTable, claim: Claim) -> Evidence:
    def number(metric: str) -> float:
        return cell.number(RETRAIN, f"trust_{metric}", claim.set, claim.name)

    def area(key: str) -> tuple[float, float, float]:
        return number(key), number(f"{key}_low"), number(f"{key}_high")

    return Evidence(
        auc=area("auc"),
        silent=area("silent"),
        damaged=area("damaged"),
        hurt=area("hurt"),
        recipe=area("recipe"),
        dose=number("dose"),
        adjacent=number("adjacent"),
        change=number("change"),
        reference=number("reference"),
        edited=number("edited"),
        seeds=number("seeds"),
    )


def judge(
    found: Mapping[Claim, Mapping[str, Evidence]], thresholds: Mapping[str, float]
) -> list[Verdict]:
    """Return the verdicts.

    A number without all evidence, of too few models, or with nothing to forget gets none.
    """
    tested = _test(found, thresholds)
    verdicts = [one for one, cells in tested if _has_enough(cells, thresholds)]
    return [_add_partner(one, verdicts) for one in verdicts]


def list_unjudged(
    found: Mapping[Claim, Mapping[str, Evidence]], thresholds: Mapping[str, float]
) -> list[Verdict]:
    """Return the numbers of too few models, with the tests that they are shown to fail."""
    return [
        replace(one, code=UNJUDGED, failures=find_shown(cells, one.failures, thresholds))
        for one, cells in _test(found, thresholds)
        if not _has_enough(cells, thresholds)
    ]


def _has_enough(cells: Sequence[Evidence], least: Mapping[str, float]) -> bool:
    return all(one.seeds >= least["least_models"] for one in cells)


def _test(
    found: Mapping[Claim, Mapping[str, Evidence]], thresholds: Mapping[str, float]
) -> Iterator[tuple[Verdict, list[Evidence]]]:
    """Yield what each number fails, whatever the number of its models, with its evidence."""
    cells = find_cells_with_something_to_forget(found)
    alike = find_cells_alike(found)
    for claim, by_cell in found.items():
        if claim.about in FORGETTING:
            own = [one for name, one in by_cell.items() if name in cells]
            failures = _forgetting_failures(claim, own, thresholds)
        else:
            own = [*by_cell.values()]
            blind = [one for name, one in by_cell.items() if name in alike]
            failures = _harm_failures(claim, own, blind, thresholds)
        if own and all(one.is_known for one in own):
            code = NOT if failures else TRUST
            yield Verdict(claim, code, tuple(failures), find_shown(own, failures, thresholds)), own


def find_cells_with_something_to_forget(
    found: Mapping[Claim, Mapping[str, Evidence]],
) -> set[str]:
    """Return the cells in which a number of the outputs tells who saw the forget set."""
    outputs = [by_cell for claim, by_cell in found.items() if claim.about == "outputs"]
    return {name for by_cell in outputs for name, one in by_cell.items() if one.is_beyond_chance}


def find_cells_alike(found: Mapping[Claim, Mapping[str, Evidence]]) -> set[str]:
    """Return the cells in which test accuracy does not tell the base models from Retrains."""
    accuracy = next((cells for claim, cells in found.items() if claim.metric == "ta"), {})
    return {name for name, one in accuracy.items() if not one.is_beyond_chance}


def _forgetting_failures(
    claim: Claim, cells: Sequence[Evidence], least: Mapping[str, float]
) -> list[str]:
    def any_cell(fails: Mapping[str, bool]) -> Iterator[str]:
        yield from (name for name, is_wrong in fails.items() if is_wrong)

    names: dict[str, None] = {}
    for one in cells:
        tells = one.auc[1] >= least["least_auc"]
        # A number of the inside may also be about hidden knowledge alone.
        exposes = claim.about == "inside" and one.silent[1] >= least["least_auc"]
        fails = {
            "tells": not (tells or exposes),
            "dose": not (one.dose >= least["least_dose"] or (exposes and not tells)),
            "silent": not one.silent[1] >= least["passes"],
            "damaged": not one.damaged[1] >= least["passes"],
            "hurt": one.hurt[1] > CHANCE,
            "recipe": one.recipe[1] > CHANCE,
            "change": one.changes[0] > least["most_change"],
            "reference": one.changes[1] > least["most_change"],
        }
        names |= dict.fromkeys(any_cell(fails))
    return [name for name in FAILURES if name in names]


def find_shown(
    cells: Sequence[Evidence], failures: Sequence[str], least: Mapping[str, float]
) -> tuple[str, ...]:
    """Return the failures that the limits of an AUC show, so that more models would confirm them.

    An impostor fools a number if the upper limit is below what a sound number reaches.
    """
    keys = {"tells": "auc", "silent": "silent", "damaged": "damaged", "blind": "hurt"}

    def is_shown(name: str) -> bool:
        if name in ACCUSATIONS:
            return True
        return name in keys and any(
            getattr(one, keys[name])[2] < least["least_auc"] for one in cells
        )

    return tuple(name for name in failures if is_shown(name))


def _harm_failures(
    claim: Claim, cells: Sequence[Evidence], alike: Sequence[Evidence], least: Mapping[str, float]
) -> list[str]:
    flat = least["flat"]
    moves = any(abs(one.auc[0] - CHANCE) > flat for one in alike)
    if claim.about == "locality":
        anywhere = any(abs(one.hurt[0] - CHANCE) > flat for one in cells)
        return ["moves"] * moves + ["anywhere"] * anywhere
    blind = any(not one.hurt[1] >= least["least_auc"] for one in cells)
    return ["blind"] * blind + ["moves"] * moves


def _add_partner(verdict: Verdict, verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict `only with`, if a trusted number makes up for the only failure."""
    trusted = [one.claim for one in verdicts if one.code == TRUST]
    if verdict.claim.about == "locality":
        # No known model is damaged locally, so that locality alone is never trusted.
        partners = [one for one in trusted if (one.metric, one.set) == PARTNER_OF_LOCALITY]
        is_sound = not verdict.failures
        code = WITH if is_sound and partners else NOT
        return replace(verdict, code=code, partner=partners[0] if code == WITH else None)
    if len(verdict.failures) != 1 or verdict.failures[0] not in IMPOSTORS:
        return verdict
    partners = [one for one in trusted if one.about in FORGETTING]
    # A number of the inside first: it sees what outputs may hide.
    partners.sort(key=lambda one: one.about != "inside")
    return replace(verdict, code=WITH, partner=partners[0]) if partners else verdict
