"""Every table of the page, and its three files, against the long table.

What a field must show is found from the words around it alone: the table, the row and the heading.
"""

import csv
import math
import re
from functools import cache

import numpy as np
import pytest
from long_table import differing, factor_of, half_width, mean, numbers_in, spread, t95
from made_benchmark import PART, SIZES, TRIALS, WHOLE

from collateral.findings.metric_index import find_metric
from collateral.findings.near import PART_HEADINGS
from collateral.findings.probe.views import CKA_HEADINGS, GAPS
from collateral.findings.reported import LABELS
from collateral.plugins.find import FINDING

ROWS_OF_RETRAIN = {
    "Retrain, next seed",
    "Retrain vs. Retrain (95 %)",
    "Retrain vs. Retrain, subtracted",
    "Before unlearning",
}
PROSE = {"verdict", "what-ran", "exact-copies"}  # sentences have a test of their own
COUNTERPARTS = {"teacher_ua": "ua"}  # what Retrain has in that column


@cache
def headings() -> dict[str, str]:
    """Return the metric that a heading names, of all findings."""
    found = {}
    for finding in FINDING.names():
        for name, metric in getattr(FINDING.load(finding), "METRICS", {}).items():
            found.setdefault(metric.heading, name)
            found.setdefault(metric.label, name)
    return found


# The place of a number: (run, metric, set, at).


def place_of(animals, one):
    """Return where the number of a field stands, by the words around it."""
    special = PLACES.get(one.table, plain_place)
    return special(animals, one)


def plain_place(animals, one):
    """Return the place in a table with a run per row and a metric per column."""
    run = "retrain" if one.row in ROWS_OF_RETRAIN else animals.run_of(one.row)
    return run, headings()[one.heading], "", ""


def near_and_far(animals, one):
    side, _, of = re.sub(r" \(\d+, \d+ %\)$", "", one.heading).partition(", ")
    metric = f"{side.lower()}_loss" + "_sd" * (one.row in ROWS_OF_RETRAIN)
    run = "retrain" if one.row in ROWS_OF_RETRAIN else animals.run_of(one.row)
    return run, metric, {"retained": "retain", "test": "test"}[of], ""


def exposure(animals, one):
    name, _, change = re.sub(r" \(\d+\)$", "", one.heading).partition(", ")
    of, at = {"Forgotten": ("forget", ""), "Near": ("retain", "near"), "Far": ("retain", "far")}[
        name
    ]
    if one.row in ROWS_OF_RETRAIN:
        return "retrain", "lira_auc", of, at
    return animals.run_of(one.row), "exposure_change" if change else "ulira_auc", of, at


def localization(animals, one):
    run = "retrain" if one.row in ROWS_OF_RETRAIN else animals.run_of(one.row)
    name, _, of = one.heading.rpartition(", ")
    at = {"All examples": "", "Equally hard ones": "hardness"}[one.corner]
    return run, headings()[name], {"retained": "retain", "test": "test"}[of], at


def parts(animals, one):
    """Return the place in a table of parts of the examples; its corner is the metric."""
    metric = headings()[one.corner]
    of, at = {text: part for part, text in PART_HEADINGS.items()}[one.heading]
    if one.row in ROWS_OF_RETRAIN:
        return "retrain", "klom_retrain" if metric == "klom" else metric, of, at or ""
    return animals.run_of(one.row), metric, of, at or ""


def sweep(animals, one):
    sweeps = {f"sweep-{s.name}": s for s in animals.made.plan.cells[one.cell].sweeps}
    runs = {text: run for run, text in sweeps[one.table].labels.items()}
    run = "retrain" if one.row == "Retrain" else runs[one.row.removesuffix(" (own)")]
    metric = headings()[one.heading]
    return run, COUNTERPARTS.get(metric, metric) if run == "retrain" else metric, "", ""


def summary(animals, one):
    gap = headings()[one.corner.removeprefix("By ")]
    return animals.run_of(one.row), headings()[one.heading], "", gap


def classes(animals, one):
    metrics = {"Similarity": "class_similarity", "Chance": "class_drop_sd"}
    if one.row == "Slope":
        return animals.run_of(one.heading), "class_slope", "", ""
    if one.heading in metrics:
        return "retrain", metrics[one.heading], "", one.row
    return animals.run_of(one.heading), "class_drop", "", one.row


def support_sizes(animals, one):
    if one.row == "two Retrains":
        return "ltd", "support_kl_retrains", "", ""
    if one.heading.startswith("Teacher's accuracy"):
        return "ltd", "support_teacher_ua", "", one.row
    return "ltd", headings()[one.heading], "", one.row


def support_auto(animals, one):
    """Return the place of a number of one seed's step, which the row names."""
    drops = at_seed(animals, one.row, [(one.cell, "ltd", "support_drop", "", b) for b in range(10)])
    counts = at_seed(
        animals, one.row, [(one.cell, "ltd", "support_bin_count", "", b) for b in range(10)]
    )
    [auto] = at_seed(animals, one.row, [(one.cell, "ltd", "support_auto", "", "")])
    taken = 1 + int(np.searchsorted(np.cumsum(counts[::-1]), auto))
    metric, at = {
        "Rate": ("step_rate", ""),
        "Top bin loses": ("drop", 9),
        "Largest loss": ("drop", int(np.argmax(drops))),
        "in a bin of": ("bin_count", int(np.argmax(drops))),
        "From": ("bin_low", 10 - taken),
        "Auto's k": ("auto", ""),
    }[one.heading]
    return "ltd", f"support_{metric}", "", str(at)


def at_seed(animals, seed, places):
    return [animals.long.values(*place)[animals.long.seeds.index(seed)] for place in places]


def tuning(animals, one):
    run = animals.run_of(method_beside(animals, one) if one.corner == "Cell" else one.row)
    names = {"Chosen": "trial_chosen", "Nearest": "trial_nearest"}
    return run, names.get(one.heading) or headings()[one.heading], "", ""


def method_beside(animals, one):
    """Return the method of a row over all cells, which is its first field."""
    fields = [other for other in animals.fields if (other.cell, other.table) == ("", "tuning")]
    first = fields.index(one) - [f.heading for f in fields].index(one.heading)
    assert fields[first].heading == "Method"
    return fields[first].value


def rules(animals, one):
    return animals.run_of(one.row), "rule_regret", "", one.heading


def trajectory(animals, one):
    if one.row == "Do nothing":
        return "ft", "epoch_avg_gap", "", "0"
    run = animals.run_of(one.row.removesuffix("*"))
    if one.heading == "At its end":
        return run, "epoch_avg_gap", "", "3"
    return run, "budget_gap", "", one.heading.removesuffix(" %")


def reported(animals, one):
    fields = [f for f in animals.fields if (f.cell, f.table) == (one.cell, "reported")]
    name = fields[fields.index(one) - 1].value
    reported_as = {label: metric for metric, label in LABELS.items()}
    return animals.run_of(one.row), headings().get(name, reported_as.get(name, name)), "", ""


def rmia(animals, one):
    return animals.run_of(one.row), "rmia_auc", "", ""


def probe(animals, one):
    step = re.fullmatch(r"(.*) by step (\d+) \(%\)", one.heading)
    if step:
        return animals.run_of(one.row), headings()[f"{step[1]} (%)"], "", step[2]
    return plain_place(animals, one)


def cka(animals, one):
    of, at = {text: part for part, text in CKA_HEADINGS.items()}[one.heading]
    return animals.run_of(one.row), headings()[one.corner], of, at or ""


def costs(animals, one):
    run = animals.run_of(one.row)
    if one.heading in ("Phases (s)", "Preparation (s)"):
        return run, "seconds", "", sorted(animals.long.indices(one.cell, run, "seconds"))[0]
    if one.heading == "of Retrain's RTE (%)" and run == "retrain":
        return run, "rte", "", ""
    return plain_place(animals, one)


def for_a_paper(animals, one):
    run = animals.run_of(one.row)
    measure = {"Near loss, kept": "near", "Near loss, new": "near_test"}.get(one.heading)
    if one.heading == "Verdict":
        [verdict] = animals.long.indices(one.of or one.cell, run, "verdict")
        return run, "verdict", "", verdict
    return (run, "difference", "", measure) if measure else (run, "avg_gap", "", "")


PLACES = {
    "paper-summary": for_a_paper,
    "near-and-far": near_and_far,
    "exposure": exposure,
    "localization": localization,
    "divergence": parts,
    "margins": parts,
    "sweep-size": sweep,
    "sweep-luck": sweep,
    "summary": summary,
    "classes": classes,
    "support-sizes": support_sizes,
    "support-retrain": support_sizes,
    "support-auto": support_auto,
    "tuning": tuning,
    "tuning-rules": rules,
    "trajectory": trajectory,
    "reported": reported,
    "rmia": rmia,
    **{"probe": probe, "probe-linear": probe, "probe-resurface": probe, "probe-cka": cka},
    "probe-patch": probe,
    "costs": costs,
}
# Fields that are made of several numbers, or of none of one run.
MADE_UP = {
    *(("reported", "Number"), ("tuning", "Method"), ("support-auto", "Bins")),
    ("paper-summary", "Forget set"),
    *(("tuning-rules", heading) for heading in ("Choices", "Regret", "against paper's")),
}


def is_derived(one):
    return one.table == "teacher-noise" or (one.table, one.heading) in MADE_UP


# What is shown of it.


def expected(animals, one, place):
    """Return all numbers of a field in their order, as they are shown."""
    long, cell = animals.long, one.of if one.of not in ("", "*") else one.cell
    values, factor = long.values(cell, *place), factor_of(place[1])
    if one.of == "*":
        cells = [c for c in animals.made.cells if not diverged(animals, c, place[0])]
        return [
            middle(place[1], np.array([middle(place[1], long.values(c, *place)) for c in cells]))
            * factor
        ]
    if special := SPECIAL.get((one.table, one.heading)) or SPECIAL.get((one.table, "")):
        return special(animals, one, place)
    shown = [factor * mean(values)]
    return shown if len(values) == 1 else [*shown, factor * spread(values)]


def middle(metric, values):
    """Return the mean; of ratios, the geometric one."""
    return math.exp(mean(np.log(values))) if metric == "near_far_ratio" else mean(values)


def with_ends(kind=""):
    """Return the mean, and the ends of its interval."""

    def shown(animals, one, place):
        run, metric, *rest = place
        long, factor = animals.long, factor_of(metric)
        ends = [
            long.number(one.cell, run, f"{metric}_{kind}{end}", *rest) for end in ("low", "high")
        ]
        center = middle(metric, long.values(one.cell, *place))
        return [factor * value for value in (center, *ends)]

    return shown


def bound(animals, one, place):
    """Return what 95 % of the differences between retrainings stay below."""
    long, factor = animals.long, factor_of(place[1])
    if place[1].endswith("_sd"):
        return [factor * long.chance(one.cell, place)]
    values = long.values(one.cell, *place)
    width = half_width(values) if one.table == "classes" else spread(values)
    return [factor * mean(values), factor * width]


def class_field(animals, one, place):
    if place[1] == "class_slope":
        return with_ends()(animals, one, place)
    if place[1] == "class_similarity":
        return [animals.long.mean(one.cell, *place)]
    return bound(animals, one, place)


def gap(animals, one, place):
    return [0.0 if place[0] == "retrain" else 100 * animals.long.number(one.cell, *place)]


def of_one_seed(animals, one, place):
    [value] = at_seed(animals, one.row, [(one.cell, *place)])
    return [factor_of(place[1]) * value]


def first_seed(animals, one, place):
    [value] = at_seed(animals, animals.long.seeds[0], [(one.of or one.cell, *place)])
    if place[1] in ("trial_chosen", "trial_nearest"):
        return [float(part) for part in TRIALS[place[0]][int(value)].values()]
    return [factor_of(place[1]) * value]


def budget(animals, one, place):
    run, _, _, share = place
    if one.row == "Do nothing":
        return [100 * animals.idle_gap(one.cell)]
    epoch = animals.long.number(one.cell, run, "budget_epoch", "", share)
    return [100 * animals.long.number(one.cell, *place), epoch]


def at_end(animals, one, place):
    long, run = animals.long, place[0]
    if one.row == "Do nothing":
        return [100 * animals.idle_gap(one.cell), 0.0]
    seconds = long.mean(one.cell, run, "epoch_seconds", "", 3)
    share = seconds / long.mean(one.cell, "retrain", "rte")
    return [100 * long.number(one.cell, *place), 100 * share]


def phases(animals, one, place):
    found = sorted(animals.long.indices(one.cell, place[0], "seconds"))
    assert re.findall(r"[a-z]+", one.value) == found
    return [animals.long.mean(one.cell, place[0], "seconds", "", phase) for phase in found]


def preparation(animals, one, place):
    found = [p for p in animals.long.indices(one.cell, place[0], "seconds") if p != "unlearn"]
    if not found:
        return []
    total = sum(animals.long.values(one.cell, place[0], "seconds", "", phase) for phase in found)
    return [mean(total), spread(total)]


def share_of_rte(animals, one, place):
    rte = animals.long.mean(one.cell, "retrain", "rte")
    return [100 * animals.long.mean(one.cell, place[0], "rte") / rte]


def pays_from(animals, one, place):
    if one.value == "never":
        assert animals.long.number(one.cell, place[0], "rte_share") >= 1
        return []
    deletions = animals.long.number(one.cell, *place)
    return [math.nan if math.isnan(deletions) else math.floor(deletions) + 1]


def above_retrain(animals, one, place):
    retrained = animals.long.values(one.cell, "retrain", "ua")
    difference = 100 * (animals.long.values(one.cell, *place) - retrained)
    return [mean(difference), spread(difference)]


def with_ends_of_test(animals, one, place):
    """Return a difference, and its interval at the level of the test."""
    run, metric, *rest = place
    names = (metric, f"{metric}_low", f"{metric}_high")
    return [100 * animals.long.number(one.of or one.cell, run, name, *rest) for name in names]


def of_cells(animals, one, place):
    run, metric, of, at = place
    count = animals.long.number("", *place)
    if metric == "rising_cells":
        known = [
            animals.long.number(c, run, "locality_excess_low", of, at) for c in animals.made.cells
        ]
        known = [low for low in known if not math.isnan(low)]
        return [count, len(known)] if known else []
    if metric == "ranked_cells":
        return [count, len(animals.made.cells)]
    ranked = animals.long.number("", run, "ranked_cells", of, at)
    return [factor_of(metric) * count if ranked else math.nan]


SPECIAL = {
    **{("near-and-far", ""): bound, ("classes", ""): class_field, ("exposure", ""): with_ends()},
    **{("localization", ""): with_ends(), ("rmia", "AUC [over seeds]"): with_ends()},
    **{
        ("rmia", "[over examples]"): lambda *place: with_ends("examples_")(*place)[1:],
        ("nearer", "Nearer to Retrain"): with_ends(),
    },
    **{(name, "Avg. Gap"): gap for name in ("main", "sweep-size", "sweep-luck")},
    **{(name, "Avg. Gap affected"): gap for name in ("affected", "sweep-size", "sweep-luck")},
    **{("support-auto", ""): of_one_seed, ("tuning", ""): first_seed},
    **{("tuning-rules", ""): first_seed, ("trajectory", "At its end"): at_end},
    **{("trajectory", ""): budget, ("costs", "Phases (s)"): phases},
    **{("costs", "Preparation (s)"): preparation, ("costs", "of Retrain's RTE (%)"): share_of_rte},
    ("costs", "Pays from"): pays_from,
    ("support-retrain", "Teacher's accuracy − Retrain's UA"): above_retrain,
    ("paper-summary", "Verdict"): lambda *_: [],
    ("paper-summary", "Near loss, kept"): with_ends_of_test,
    ("paper-summary", "Near loss, new"): with_ends_of_test,
    ("paper-summary", "Avg. Gap"): lambda animals, one, place: [
        100 * animals.long.number(one.of or one.cell, *place)
    ],
    **{("summary", ""): of_cells, ("localization", "Rises in, retained"): of_cells},
    ("localization", "Rises in, test"): of_cells,
}


def diverged(animals, cell, run):
    return (cell, run) in animals.long.troubled


def checked_fields(animals):
    """Return the fields that have a number of some run, but those of sentences."""
    return [
        one
        for one in animals.fields
        if one.table not in PROSE and one.row != "Retrain, other seeds" and not is_derived(one)
    ]


def test_every_field_shows_the_number_that_its_row_and_heading_name(animals):
    wrong, count = [], 0
    for one in checked_fields(animals):
        if one.value in ("", "–") and not one.sources:
            continue
        place = place_of(animals, one)
        said = differing(one.value, expected(animals, one, place))
        wrong += [f"{one.cell}/{one.table}, {one.row}, {one.heading}: {said}"] if said else []
        count += 1
    assert wrong == []
    assert count > 1400
    assert {one.table for one in animals.fields} - PROSE - {"teacher-noise"} >= PLACES.keys()


def test_an_empty_field_has_no_number(animals):
    """A dash stands where the long table has nothing, or where a row cannot have the number."""
    for one in checked_fields(animals):
        if one.value == "–" and one.sources:
            assert all(map(math.isnan, expected(animals, one, place_of(animals, one)))), one


def test_a_field_leads_to_the_number_that_it_shows(animals):
    count = 0
    for one in (one for one in checked_fields(animals) if one.sources):
        place = place_of(animals, one)
        assert one.sources[0] == tuple(map(str, place)), (one.table, one.row, one.heading)
        assert {source[0] for source in one.sources} <= {place[0], "retrain"}
        count += 1
    assert count > 1400


def test_a_deviation_is_from_retrains_mean(animals):
    fields = [one for one in animals.fields if one.deviation and one.row != "Retrain, other seeds"]
    assert len(fields) > 100
    for one in fields:
        run, metric, *_ = place_of(animals, one)
        other = COUNTERPARTS.get(metric, metric)
        mean_of = (
            animals.long.mean(one.cell, run, metric),
            animals.long.mean(one.cell, "retrain", other),
        )
        assert differing(one.deviation, [100 * (mean_of[0] - mean_of[1])]) == "", one
        assert one.deviation[1] in "+−" or float(one.deviation.strip("()")) == 0


def test_the_row_of_other_seeds_is_the_noise_floor(animals):
    fields = [one for one in animals.fields if one.row == "Retrain, other seeds"]
    assert len(fields) > 30
    for one in fields:
        metric = headings()[one.heading]
        floor = animals.long.number(
            one.cell, "retrain", "floor", "", COUNTERPARTS.get(metric, metric)
        )
        assert differing(one.value + one.deviation, [100 * floor]) == "", one


def test_a_dagger_is_where_chance_explains_the_difference(animals):
    marked = {True: 0, False: 0}
    for one in checked_fields(animals):
        if one.value in ("", "–"):
            continue
        place = place_of(animals, one)
        wanted = is_within_chance(animals, one, place)
        assert one.is_chance == wanted, (one, place)
        marked[wanted] += 1
    assert min(marked.values()) > 50


def is_within_chance(animals, one, place):
    run, metric, of, at = place
    long, cell = animals.long, one.cell
    if one.deviation:
        other = COUNTERPARTS.get(metric, metric)
        difference = long.mean(cell, *place) - long.mean(cell, "retrain", other)
        return abs(difference) <= long.floor_bound(cell, other)
    if one.table == "near-and-far" and run != "retrain":
        return abs(long.mean(cell, *place)) <= long.chance(
            cell, ("retrain", f"{metric}_sd", of, "")
        )
    if metric in GAPS and run != "retrain":
        own = long.values(cell, "retrain", metric)
        own = own[~np.isnan(own)]
        return abs(long.mean(cell, *place)) <= t95(len(own)) * math.sqrt(mean(own**2) / len(own))
    if metric == "exposure_change":
        low, high = (long.number(cell, run, f"{metric}_{end}", of, at) for end in ("low", "high"))
        return low <= 0 <= high
    return False


def test_bold_is_the_method_nearest_to_retrain_of_those_that_ended_well(animals):
    columns = {}
    for one in animals.fields:
        if one.table in ("main", "affected", "sweep-size", "sweep-luck") and one.group == 1:
            columns.setdefault((one.cell, one.table, one.heading), []).append(one)
    checked = 0
    for fields in columns.values():
        metric = headings()[fields[0].heading]
        if find_metric(metric).ideal != "retrain" and not metric.startswith("avg_gap"):
            assert not any(one.is_best for one in fields)
            continue
        distance = {one.row: distance_of(animals, one) for one in fields if not one.note}
        known = [value for value in distance.values() if not math.isnan(value)]
        best = {row for row, value in distance.items() if known and value <= min(known) + 1e-12}
        assert {one.row for one in fields if one.is_best} == best, fields[0]
        checked += bool(best)
    assert checked > 30


def distance_of(animals, one):
    place = place_of(animals, one)
    metric = place[1]
    if metric.startswith("avg_gap"):
        return animals.long.number(one.cell, *place)
    other = animals.long.mean(one.cell, "retrain", COUNTERPARTS.get(metric, metric))
    return abs(animals.long.mean(one.cell, *place) - other)


def test_a_best_field_within_a_budget_has_the_smallest_gap(animals):
    for cell in animals.made.cells:
        fields = [one for one in animals.fields if (one.cell, one.table) == (cell, "trajectory")]
        best = [one for one in fields if one.is_best]
        for one in best:
            same = [o for o in fields if o.heading == one.heading and o.group == 0 and not o.note]
            assert one.order == min(o.order for o in same if o.order is not None)


def test_a_column_is_sorted_by_what_it_shows(animals):
    """By the size of the deviation where there is one, else by the number."""
    count = 0
    for one in checked_fields(animals):
        if one.order is None or math.isinf(one.order):
            continue
        shown = numbers_in(one.deviation or one.value)
        value = float(shown[0].replace("−", "-").replace(",", ""))
        value = abs(value) if one.deviation else value
        if one.heading == "Pays from":
            assert math.floor(one.order) + 1 == value
        else:
            is_share = one.heading == "of Retrain's RTE (%)"
            scale = 100 if is_share else factor_of(place_of(animals, one)[1])
            near = 0.51 * 10.0 ** -len(shown[0].partition(".")[2])
            assert abs(one.order * scale - value) <= near + 1e-5 * abs(value), one
        count += 1
    assert count > 1200


def test_a_note_says_in_how_many_seeds_a_run_diverged(animals):
    notes = {one.row: one.note for one in animals.fields if one.table == "main" and one.note}
    assert notes == {"RL": "diverged (1 of 3 seeds)"}


# The files.


def records_of(animals, table, cell):
    with (animals.root / "tables" / cell / f"{table}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def all_csv(animals):
    folder = animals.root / "tables"
    for path in sorted(folder.rglob("*.csv")):
        cell = path.parent.name if path.parent != folder else ""
        for record in records_of(animals, path.stem, cell):
            yield path.stem, record.get("cell") or cell, record


def wanted_of(animals, cell, record):
    """Return what the columns of a record must hold: those that every table writes alike."""
    long, at = animals.long, record.get("at") or record.get("control") or ""
    run, metric = record["run"], record["metric"]
    if run == "retrain_other_seeds":
        name = COUNTERPARTS.get(metric, metric)
        floor = long.number(cell, "retrain", "floor", "", name) if metric != "rte" else math.nan
        return {"mean" if metric.startswith("avg_gap") else "deviation": floor}
    own = COUNTERPARTS.get(metric, metric) if run == "retrain" and "deviation" in record else metric
    place = (run, own, record.get("set", ""), at)
    values = long.values(cell, *place)
    by_seed = values if len(values) > 1 else np.array([])
    found = {
        "mean": middle(metric, values) if len(values) else math.nan,
        "value": mean(values),
        "std": spread(by_seed),
        "n": float(np.count_nonzero(~np.isnan(by_seed))),
    }
    for end in ("low", "high", "examples_low", "examples_high"):
        found[end] = long.number(cell, run, f"{metric}_{end}", *place[2:])
    if "deviation" in record:
        is_compared = run != "retrain" and find_metric(metric).ideal == "retrain"
        other = long.mean(cell, "retrain", COUNTERPARTS.get(metric, metric))
        found["deviation"] = found["mean"] - other if is_compared else math.nan
    elif "chance" in record:
        found["chance"] = long.chance(cell, ("retrain", f"{metric}_sd", record["set"], ""))
    return found


def test_the_csv_files_hold_the_numbers_of_the_long_table_unrounded(animals):
    count = 0
    for table, cell, record in all_csv(animals):
        if "metric" not in record:
            continue
        for column, value in wanted_of(animals, cell, record).items():
            if column in record and not (
                record["metric"].startswith("avg_gap") and column == "mean"
            ):
                text = record[column]
                shown = float(text) if text else (0.0 if column == "n" else math.nan)
                assert shown == pytest.approx(value, rel=1e-12, abs=1e-15, nan_ok=True), (
                    table,
                    record,
                    column,
                )
                count += 1
    assert count > 3000


OF_RECORDS = {  # tables whose records have columns of their own: metric, set and at of each
    "verdict": {
        "forgetting_error": ("forgetting_error", "", ""),
        "damage": ("damage", "retain", ""),
        **{
            f"{of}_{end}": (f"{{test}}_{end}", "", of)
            for of in ("damage", "ua")
            for end in ("low", "high")
        },
        "ua_difference": ("difference", "", "ua"),
        "price": ("rte_share", "", ""),
    },
    "trajectory": {
        "avg_gap": ("budget_gap", "", "{percent}"),
        "epoch": ("budget_epoch", "", "{percent}"),
    },
    "tuning-rules": {"regret": ("rule_regret", "", "{rule}")},
    "tuning": {
        name: (name, "", "") for name in ("gap_chosen", "gap_default", "gap_nearest", "regret")
    },
    "summary": {
        name: (name, "", "{gap}")
        for name in ("ranked_cells", "lowest_cells", "tied_cells", "mean_rank", "mean_gap")
    },
    "classes": {"drop": ("class_drop", "", "{class}")},
}


def test_records_with_columns_of_their_own_hold_them_too(animals):
    seen = set()
    for table, cell, record in all_csv(animals):
        for column, (metric, of, at) in OF_RECORDS.get(table, {}).items():
            # The interval is that of the test that gave the answer.
            is_within = animals.long.mean(cell, record["run"], "within", "", at) == 1
            test = "equivalence" if is_within else "difference"
            place = (record["run"], metric.format(test=test), of, at.format(**record))
            value = animals.long.mean("" if table == "summary" else cell, *place)
            if record.get("label") == "Do nothing":
                value = {"avg_gap": animals.idle_gap(cell), "epoch": 0.0}[column]
            scale = 100 if table in ("verdict", "classes") and column != "price" else 1
            shown = float(record[column] or "nan")
            assert shown == pytest.approx(scale * value, rel=1e-12, nan_ok=True), (record, column)
            seen.add((table, column))
    assert len(seen) == sum(map(len, OF_RECORDS.values()))


def test_the_records_of_classes_have_similarity_interval_and_chance(animals):
    records = records_of(animals, "classes", WHOLE)
    assert len(records) >= 8
    for record in records:
        name = record["class"]
        values = animals.long.values(WHOLE, record["run"], "class_drop", "", name)
        wanted = {
            "similarity": animals.long.mean(WHOLE, "retrain", "class_similarity", "", name),
            "half_width": 100 * half_width(values),
            "chance": 100 * animals.long.chance(WHOLE, ("retrain", "class_drop_sd", "", name)),
        }
        assert {key: float(record[key]) for key in wanted} == pytest.approx(wanted)


def test_the_noise_of_teachers_is_that_of_its_runs(animals):
    [record] = records_of(animals, "teacher-noise", PART)
    long, runs = animals.long, ("ltd", "ltd@teacher_seed=1")
    teacher, student = (
        np.array([long.values(PART, r, m) for r in runs]) for m in ("teacher_ua", "ua")
    )
    wanted = {
        "teachers": 2,
        "teacher_ua": teacher.mean(),
        "teacher_ua_by_teacher": math.sqrt(np.mean([spread(of) ** 2 for of in teacher.T])),
        "ua": student.mean(),
        "ua_by_teacher": math.sqrt(np.mean([spread(of) ** 2 for of in student.T])),
        "ua_by_seed": spread(student[0]),
        "r": np.corrcoef(*((x - x.mean(axis=0)).ravel() for x in (teacher, student)))[0, 1],
        "teacher_epochs": mean(np.array([long.mean(PART, run, "teacher_epochs") for run in runs])),
    }
    assert {key: float(record[key]) for key in wanted} == pytest.approx(wanted)
    fields = [one for one in animals.fields if one.table == "teacher-noise"]
    factors = [1, *[100] * 5, 1, 1]
    shown = [f * v for f, v in zip(factors, wanted.values(), strict=True)]
    assert [differing(one.value, [v]) for one, v in zip(fields, shown, strict=True)] == [""] * 8


def test_rules_over_all_cells_are_means_with_their_intervals(animals):
    long, cells = animals.long, animals.made.cells
    regrets = {
        rule: np.array(
            [long.mean(c, run, "rule_regret", "", rule) for c in cells for run in TRIALS]
        )
        for rule in ("paper", "interval", "teacher")
    }
    fields = [one for one in animals.fields if (one.cell, one.table) == ("", "tuning-rules")]
    assert len(fields) == 9
    for one in fields:
        own = regrets[one.row]
        more = own - regrets["paper"]
        wanted = {
            "Choices": [np.count_nonzero(~np.isnan(own))],
            "Regret": [100 * mean(own), 100 * half_width(own)],
            "against paper's": [100 * mean(more), 100 * half_width(more)],
        }[one.heading]
        assert differing(one.value, wanted) == "", one


def test_support_sizes_are_in_the_order_of_their_size(animals):
    rows = [one.row for one in animals.fields if (one.cell, one.table) == (PART, "support-sizes")]
    assert list(dict.fromkeys(rows)) == [str(size) for size in SIZES]


# Markdown and LaTeX.


def plain(text):
    """Return a text of Markdown or LaTeX without its marks."""
    text = re.sub(r"\\(?:textbf|emph)\{((?:[^{}]|\{[^{}]*\})*)\}", r"\1", text)
    text = re.sub(r"\\shortstack\[[lr]\]\{(.*)\\\\(.*)\}", r"\1 \2", text)
    text = text.replace("\\raggedright ", "").replace(r"\rlap{$^\dagger$}", "†")
    text = re.sub(r"\{\\scriptsize\\,\$\\pm\$\\,([^}]*)\}", r" ± \1", text)
    for mark, letter in {
        r"$\pm$": "±",
        "$-$": "−",
        "--": "–",
        r"$\Delta$": "Δ",
    }.items():
        text = text.replace(mark, letter)
    text = re.sub(r"\$([<>])\$", r"\1", text)
    text = re.sub(r"\{([][*])\}", r"\1", text)
    return re.sub(r"\\([&%$#_{}|*~\[\]<>])", r"\1", text.replace("**", "")).strip()


def rows_of_file(path):
    """Return the rows of a file as they are written: label and fields."""
    lines = path.read_text().splitlines()
    if path.suffix == ".md":
        rows = [line for line in lines if line.startswith("|") and not line.startswith("| ---")]
        return [re.split(r"(?<!\\) ?\| ?", row)[1:-1] for row in rows]
    ends = (r" \\", r" \tabularnewline")  # the latter in tables of sentences
    rows = [line for line in lines if line.endswith(ends) and "multicolumn" not in line]
    return [re.split(r"(?<!\\) & ", re.sub(r" \\(\\|tabularnewline)$", "", row)) for row in rows]


def bold_in(text):
    """Return what is set in bold in a field of Markdown or LaTeX."""
    found = re.findall(r"\*\*(.+?)\*\*|\\textbf\{((?:[^{}]|\{[^{}]*\})*)\}", text)
    return plain("".join(one or other for one, other in found))


@pytest.mark.parametrize("suffix", ["md", "tex"])
def test_markdown_and_latex_show_what_the_page_shows(animals, suffix):
    figures = [one for one in animals.page.all("figure", "table")]
    count = 0
    for figure in figures:
        name = figure.get("data-name")
        around = figure.above(lambda at: "data-cell" in at.attributes)
        cell = around.get("data-cell") if around else ""
        path = animals.root / "tables" / cell / f"{name}.{suffix}"
        if name in ("what-ran", "exact-copies"):
            continue
        shown = [row.all("th") + row.all("td") for row in figure.all("tr")]
        for row, written in zip(shown, rows_of_file(path), strict=True):
            label, *fields = row
            note = "".join(one.text for one in label.all("small"))
            name = label.text.removesuffix(note).strip()
            head = f"{name}, {note}" if note and suffix == "md" else name
            assert plain(written[0]).strip("*") == head.strip("*"), (path, written)
            assert [plain(text) for text in written[1:]] == [one.text for one in fields], path
            best = ["".join(part.text for part in one.all("", "best")) for one in fields]
            assert [bold_in(text) for text in written[1:]] == best, (path, written)
            count += len(fields)
    assert count > 1400
