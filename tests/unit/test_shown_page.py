"""What the page says beside its tables: where numbers come from, the images, the checks, what ran.

Each is compared with the files that it is about: the long table, records, outputs, gates.json.
"""

import base64
import hashlib
import io
import itertools
import json
import re

import numpy as np
import pytest
from made_benchmark import CLASSES, MIXED, WHOLE, image_of
from PIL import Image
from scipy.special import softmax

from collateral.contract.metrics import DIGITS
from collateral.contract.verdicts import MEASURES
from collateral.findings.metric_index import find_metric
from collateral.results import layout

# Where a number comes from.


def buttons_of(animals):
    """Return the cell of each number that can be clicked, and its sources."""
    found = [(o.of or o.cell, "|".join(source)) for o in animals.fields for source in o.sources]
    assert len(found) > 2000
    return list(dict.fromkeys(found))


def provenance_of(animals, cell):
    """Return what the page knows of the numbers of a cell, or of those over all cells."""
    if not cell:
        return animals.page.one("script", id="provenance-of-all").json()
    return animals.page.one("section", "cell", data_cell=cell).one("script", "provenance").json()


def placed(known, source):
    """Return file, seed, line and value of a number, read as the page's script reads them."""
    rows = known["numbers"].get(source, [])
    lines = itertools.accumulate(step for _, _, step, _ in rows)
    return [
        (file, seed, line, value) for (file, seed, _, value), line in zip(rows, lines, strict=True)
    ]


def test_a_number_names_the_lines_on_which_it_stands(animals):
    known = {cell: provenance_of(animals, cell) for cell in ("", *animals.made.cells)}
    count = 0
    for cell, source in buttons_of(animals):
        for name in animals.made.cells if cell == "*" else [cell]:
            wanted = animals.long.places(name, *source.split("|", 3))
            rows = [(r.file, r.seed, r.line, rounded(r.value)) for r in wanted]
            assert placed(known[name], source) == rows, (name, source)
            count += bool(rows)
    assert count > 1500


def rounded(value):
    """Return a number with the four digits that the page has."""
    return float(f"{float(value):.4g}") if value else ""


def test_the_lines_are_those_of_the_files(animals):
    """A line of the long table is counted as an editor counts it: the header is the first."""
    for name in (layout.METRICS, layout.COSTS):
        lines = (animals.root / name).read_text().splitlines()
        rows = [row for row in animals.long.rows if row.file == name]
        assert len(rows) == len(lines) - 1
        for row in rows[:: len(rows) // 50]:
            fields = lines[row.line - 1].split(",")
            assert (fields[0], fields[3], fields[4], fields[6]) == (
                row.cell,
                row.seed,
                row.run,
                row.metric,
            )


def record_of(animals, cell, run, seed):
    return animals.root / animals.made.folder_of(cell, run, seed) / layout.RECORD


@pytest.mark.parametrize("cell", ["ox-50", "zebra-100", "withdrawn"])
def test_a_run_is_told_by_its_own_records(animals, cell):
    told = provenance_of(animals, cell)["runs"]
    shown = {source.partition("|")[0] for of, source in buttons_of(animals) if of == cell}
    assert set(told) == {run for run in animals.made.runs_of(cell) if run in shown}
    assert len(told) >= 6
    for run, known in told.items():
        assert set(known["seeds"]) == {str(seed) for seed in animals.made.seeds}
        paths = {seed: record_of(animals, cell, run, seed) for seed in animals.made.seeds}
        records = {seed: json.loads(path.read_text()) for seed, path in paths.items()}
        first = records[animals.made.seeds[0]]
        assert known["about"] == {
            key: first[key] for key in ("method", "params", "code", "versions")
        }
        for seed, record in records.items():
            of_seed = known["seeds"][str(seed)]
            assert of_seed["place"] == paths[seed].relative_to(animals.root).as_posix()
            assert of_seed["status"] == animals.made.status(run, seed) == record["status"]
            for key in ("inputs", "files"):
                assert of_seed[key] == {name: value[:12] for name, value in record[key].items()}
            for name, digest in of_seed["files"].items():
                content = (paths[seed].parent / name).read_bytes()
                assert hashlib.sha256(content).hexdigest().startswith(digest)


def test_every_metric_is_described_in_its_own_words(animals):
    words = animals.page.one("script", id="metrics-in-words").json()
    shown = {source.split("|")[1] for _, source in buttons_of(animals)}
    decision = {
        source.split("|")[1]
        for button in animals.page.one("table", "decision").all("button")
        for source in (button.get("data-source"), *button.get("data-also").split("\n"))
        if source
    }
    assert decision == {
        *("difference", "difference_low", "difference_high"),
        *("equivalence_low", "equivalence_high"),
        *("avg_gap", "rte_share", "rte_share_with_tuning", "floor"),
    }
    # The table says the time with tuning only where it is known.
    assert set(words) == shown | decision | {"rte_share_with_tuning"}
    for name, (label, text, unit, factor, digits) in words.items():
        metric = find_metric(name)
        assert (label, text) == (metric.label, metric.describe())
        assert (unit, factor) == (metric.unit, metric.factor)
        assert digits == (DIGITS[unit] if metric.digits is None else metric.digits)


def test_runs_and_measures_have_the_names_of_the_tables(animals):
    places = animals.page.one("script", id="places-in-words").json()
    assert places["runs"] == {"retrain": "Retrain", **animals.made.plan.labels}
    assert set(places["at"]) >= set(MEASURES)
    assert set(places["sets"]) == {"retain", "test", "forget"}


def test_what_ran_has_the_parameters_of_each_run(animals):
    for cell in animals.made.cells:
        rows = {}
        for one in animals.fields:
            if (one.cell, one.table) == (cell, "what-ran"):
                rows.setdefault(animals.run_of(one.row), {})[one.heading] = one.value
        runs = [run for run in animals.made.runs_of(cell) if "@" not in run]
        assert set(rows) == set(runs)
        for run, shown in rows.items():
            record = json.loads(record_of(animals, cell, run, animals.made.seeds[0]).read_text())
            assert shown.pop("Method") == record["method"]
            parts = {heading: text.split(", ") for heading, text in shown.items() if text != "–"}
            spelled = {"None": "null", "True": "true", "False": "false"}
            texts = {key: str(value) for key, value in record["params"].items()}
            values = {key: spelled.get(text, text) for key, text in texts.items()}
            listed = {h: [one.split(" (")[0] for one in texts] for h, texts in parts.items()}
            # Each parameter stands once, below the heading of its origin.
            named = [one for texts in listed.values() for one in texts if "=" in one]
            assert sorted(named) == sorted(f"{key}={value}" for key, value in values.items())
            plan = animals.made.plan.cells[cell]
            for one in listed.get("From the config", ()):
                assert one.partition("=")[0] in plan.given[run]
            tuned = plan.trials[run][0] if run in plan.trials else {}
            found = [one.partition("=")[0] for one in listed.get("Tuned", ()) if "=" in one]
            assert found == [key for key in values if key in tuned]


def test_the_versions_are_those_of_retrain(animals):
    record = json.loads(record_of(animals, animals.made.cells[0], "retrain", 2).read_text())
    text = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    assert f"Computed with {text}." in [one.text for one in animals.page.all("dd")]


def test_the_page_names_where_it_comes_from(animals):
    origin = animals.page.one("section", id="origin")
    names = [one.text for one in origin.all("dt")]
    config = ["Config"] * bool(animals.made.plan.config)
    assert names[: len(config) + 5] == [
        *config,
        "Code",
        "Software",
        "Machine",
        "Files",
        "Not tested",
    ]
    for link in origin.all("a"):
        assert (animals.root / link.get("href")).exists()


def test_the_page_carries_the_hashes_of_what_it_was_made_from(animals):
    inputs = json.loads((animals.root / layout.GLANCE).read_text())["inputs"]
    assert {"metrics.csv", "costs.csv", "plan.json", "gates.json", "problems.json"} < set(inputs)
    for name, digest in inputs.items():
        assert hashlib.sha256((animals.root / name).read_bytes()).hexdigest() == digest


# The images.


def gallery_of(animals, cell):
    return animals.page.one("section", "gallery", id=f"cell-{cell}/images")


def sheet_of(animals, gallery):
    """Return the images of a gallery, cut from its sheet; wider ones have black above and below."""
    name = gallery.get("class").split()[-1]
    text = (animals.root / layout.REPORT).read_text()
    style = re.search(rf"\.{name} {{([^}}]*)}}", text)[1]
    data = re.search(r"--sheet: url\(data:image/png;base64,([^)]*)\)", style)[1]
    count = int(re.search(r"--count: (\d+)", style)[1])
    pixels = np.array(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB"))
    assert pixels.shape[1] == count * pixels.shape[0]
    return np.split(pixels, count, axis=1)


def examples_of(animals, cell):
    """Return each shown example: its strip, its entry, who it is, and whose images it has."""
    gallery, made = gallery_of(animals, cell), animals.made
    images, forget = sheet_of(animals, gallery), made.split(cell).forget
    counts = {"train": len(made.labels.train), "test": len(made.labels.test)}
    everyone = [(name, k) for name in counts for k in range(counts[name])]
    everyone = [("forget" if n == "train" and k in forget else n, k) for n, k in everyone]
    known = {image_of(*one).tobytes(): one for one in everyone}
    assert len(known) == len(everyone)
    columns = {"train": made.labels.columns, "test": made.labels.test_columns}
    files = [columns["test" if n == "test" else "train"]["file"][k] for n, k in everyone]
    by_file = dict(zip(files, everyone, strict=True))

    def whose(thumb):
        place = int(thumb.get("style").removeprefix("--at: "))
        return known[images[place][:4, :3].tobytes()]

    for strip in gallery.all("figure", "strip"):
        for entry in strip.all("li"):
            found = [whose(thumb) for thumb in entry.all("span", "thumb")]
            yield strip, entry, by_file[entry.one("span", "file").text], found


def pictured(animals, cell):
    """Return those who have a picture."""
    shown = animals.made.neighbours(cell)
    listed = zip(shown.shown_set.tolist(), shown.shown_index.tolist(), strict=True)
    return [*listed, *animals.made.more_pictures(cell)]


CELLS = pytest.mark.parametrize("cell", ["ox-50", "zebra-100", "withdrawn"])


@CELLS
def test_below_an_image_stands_its_own_class_and_file(animals, cell):
    labels, classes, with_picture = animals.made.labels, set(), pictured(animals, cell)
    without = 0
    for _, entry, (origin, index), images in examples_of(animals, cell):
        label = labels.test if origin == "test" else labels.train
        name = CLASSES[label[index]]
        assert entry.one("b").text == name
        if (origin, index) not in with_picture:
            assert images == []
            without += 1
            continue
        assert images[0] == (origin, index)
        words = {"train": "retained", "test": "test", "forget": "forgotten"}[origin]
        assert entry.all("span", "thumb")[0].get("aria-label") == f"{name}, {words}"
        classes.add(name)
    assert len(classes) > 1 and without > 0


@CELLS
def test_beside_an_image_stands_the_forgotten_one_nearest_to_it(animals, cell):
    shown, count = animals.made.neighbours(cell), 0
    keys = list(zip(shown.shown_set.tolist(), shown.shown_index.tolist(), strict=True))
    for strip, _, example, images in examples_of(animals, cell):
        if not strip.get("data-run"):
            assert len(images) == 1 and example[0] == "forget"
        elif example in keys:
            assert images[1:] == [keys[shown.shown_nearest[keys.index(example)]]]
            count += 1
        else:
            assert images[1:] == []
    assert count > 2


def mean_confidence(animals, cell, run, origin, index):
    made = animals.made
    outputs = [made.outputs(cell, run, seed) for seed in made.seeds]
    return float(
        np.mean([(o.test if origin == "test" else o.train).confidence[index] for o in outputs])
    )


@CELLS
def test_what_a_method_did_to_an_example_is_the_mean_over_seeds(animals, cell):
    made, count = animals.made, 0
    for strip, entry, (origin, index), _ in examples_of(animals, cell):
        run = strip.get("data-run")
        if not run:
            continue
        change = re.search(r"(\d+) → (\d+) %", entry.text)
        shown = [mean_confidence(animals, cell, who, origin, index) for who in ("retrain", run)]
        assert [int(one) for one in change.groups()] == [round(100 * one) for one in shown]
        votes = [
            getattr(made.outputs(cell, run, s), "test" if origin == "test" else "train").prediction[
                index
            ]
            for s in made.seeds
        ]
        own = entry.one("b").text
        counts = np.bincount(votes, minlength=len(CLASSES))
        is_right = counts[CLASSES.index(own)] == counts.max()  # a tie is not "taken for" another
        mode = own if is_right else CLASSES[counts.argmax()]
        seen = [one.text for one in entry.all("span", "seen")]
        assert seen == (
            [] if mode == own else [f"taken for {mode} in {counts.max()} of {len(votes)} seeds"]
        )
        count += 1
    assert count > 10


@CELLS
def test_the_three_likely_classes_are_those_of_the_first_seed(animals, cell):
    made = animals.made
    for strip, entry, (origin, index), _ in examples_of(animals, cell):
        if not (run := strip.get("data-run")):
            continue
        assert entry.one("summary").text == f"top three, seed {made.seeds[0]}"
        texts = [one.text for one in entry.one("details").all("span")]
        for text, begin, who in zip(texts, ("Retrain", "unlearned"), ("retrain", run), strict=True):
            outputs = made.outputs(cell, who, made.seeds[0])
            logits = (outputs.test if origin == "test" else outputs.train).logits[index]
            likely = softmax(logits.astype(np.float64))
            order = np.argsort(-likely, kind="stable")
            wanted = ", ".join(f"{CLASSES[c]} {100 * likely[c]:.0f} %" for c in order)
            assert text == f"{begin}: {wanted}"


@CELLS
def test_a_strip_has_those_whom_a_method_hurt_most(animals, cell):
    """By ten points at least, the worst first, at most eight; runs that diverged have none."""
    made, found = animals.made, {}
    for strip, _, (origin, index), _ in examples_of(animals, cell):
        found.setdefault((strip.get("data-run"), strip.get("data-set")), []).append((origin, index))
    assert found.pop(("", "")) == [("forget", int(i)) for i in made.split(cell).forget[:8]]
    for run in ("ft", "ga", "ltd"):
        for origin, name in SETS.items():
            worst = everyone_hurt(animals, cell, run, origin)[:8]
            assert found.pop((run, name), []) == [(origin, k) for k in worst]
    assert found == {}


SETS = {"train": "retained", "test": "test"}


def everyone_hurt(animals, cell, run, origin):
    """Return all whom a method hurts by ten points or more, the worst first."""
    made = animals.made
    own, retrain = ([made.outputs(cell, who, s) for s in made.seeds] for who in (run, "retrain"))
    means = [
        np.mean([getattr(o, origin).confidence for o in some], axis=0, dtype=float)
        for some in (retrain, own)
    ]
    loss = means[0] - means[1]
    candidates = made.split(cell).retain if origin == "train" else np.arange(len(loss))
    return sorted((k for k in candidates.tolist() if loss[k] >= 0.1), key=lambda k: -loss[k])


@CELLS
def test_by_and_nobody_name_every_method_with_all_whom_it_hurts(animals, cell):
    """One diverged in a seed: it is named too."""
    made, totals = animals.made, {}
    totals["train"], totals["test"] = len(made.split(cell).retain), len(made.labels.test)
    by, nobody = [], []
    for run in ("ft", "ga", "ltd"):
        counts = {n: len(everyone_hurt(animals, cell, run, n)) for n in SETS}
        texts = [f"{c} of {totals[n]} {SETS[n]}" for n, c in counts.items() if c]
        label = made.plan.labels[run]
        (by if texts else nobody).append(
            f"by {label} {' and '.join(texts)} examples" if texts else label
        )
    words = f"Hurt by ten points or more: {', '.join(by)}. "
    words += f"Nobody by {', '.join(nobody)}. " if nobody else ""
    words += "Not counted, because a seed diverged or was skipped: RL."
    assert " ".join(gallery_of(animals, cell).one("p", "words").text.split()) == words


@CELLS
def test_a_strip_is_called_after_its_method_and_set(animals, cell):
    gallery = gallery_of(animals, cell)
    for strip in gallery.all("figure", "strip"):
        if run := strip.get("data-run"):
            label = animals.made.plan.labels[run]
            assert strip.one("figcaption").text == (
                f"Hurt by {label}, {strip.get('data-set')} examples"
            )
    options = [(o.get("value"), o.text) for o in gallery.all("select")[0].all("option")]
    assert options == [(run, animals.made.plan.labels[run]) for run, _ in options]


def test_the_copies_that_stay_behind_are_named_by_their_files(animals):
    [[forgot, kept, _]] = animals.made.neighbours(WHOLE).copies.tolist()
    labels = animals.made.labels
    files = labels.columns["file"]
    [row] = animals.page.one("figure", "table", data_name="exact-copies").one("tbody").all("tr")
    assert [one.text for one in row.all("th") + row.all("td")] == [
        files[forgot],
        CLASSES[labels.train[forgot]],
        files[kept],
        CLASSES[labels.train[kept]],
    ]


# The checks, and what leads through the page.


def test_the_strip_of_checks_counts_them_and_lists_each_below_its_colour(animals):
    gates = json.loads((animals.root / layout.GATES).read_text())["gates"]
    order = ("red", "amber", "grey", "green")
    colours = {colour: [g for g in gates if g["colour"] == colour] for colour in order}
    assert {colour: len(found) > 0 for colour, found in colours.items()} == dict.fromkeys(
        colours, True
    )
    section = animals.page.one(id="checks")
    pill = animals.page.one("button", "checks-button").all("span")
    # Failures and warnings are counted once per check, whatever the number of cells.
    red, amber = (len({gate["name"] for gate in colours[colour]}) for colour in ("red", "amber"))
    green, grey = len(colours["green"]), len(colours["grey"])
    warnings = f"{amber} warning{'s' if amber > 1 else ''}"
    assert [one.text for one in pill] == [
        f"{red} failed",
        warnings,
        f"{green} checks passed, {grey} not made",
    ]
    lists = section.all("ul", "gates")
    for shown, (colour, wanted) in zip(lists, colours.items(), strict=True):
        text = " ".join(shown.text.split())
        for gate in wanted:
            assert gate["cell"] in text and gate["text"] in text
        assert {one.get("class") for one in shown.all("b")} == {colour}
        names = [one.text for one in shown.all("b")]
        assert names == list(dict.fromkeys(gate["name"] for gate in wanted))  # grouped by check
        for name in shown.all("b"):
            found = [gate for gate in wanted if gate["name"] == name.text]
            texts = dict.fromkeys(gate["text"] for gate in found)
            of_text = {t: ", ".join(g["cell"] for g in found if g["text"] == t) for t in texts}
            cells = [f"{names}: {text}" for text, names in of_text.items()]
            total = sum(gate["name"] == name.text for gate in gates)
            word = "not made" if colour == "grey" else colour
            count = f"{name.text}: {word} in {len(found)} of {total} cells"
            listed = [one.text for one in name.parent.all("li")[1:]]
            if len(found) == 1:
                assert (listed, name.parent.text) == ([], f"{name.text} {cells[0]}")
            else:
                assert listed == cells
                assert name.parent.text.startswith(f"{count} which")


def test_a_check_is_red_where_a_copy_is_retained_and_amber_where_a_run_diverged(animals):
    gates = json.loads((animals.root / layout.GATES).read_text())["gates"]
    found = {(gate["name"], gate["cell"]): gate["colour"] for gate in gates}
    assert [
        cell for name, cell in found if (name, found[name, cell]) == ("exact copies", "red")
    ] == [WHOLE]
    assert {found["runs ended well", cell] for cell in animals.made.cells} == {"amber"}
    assert found["disjoint sets", MIXED] == "green"


def test_the_printed_brief_shows_the_cell_in_which_most_methods_do_harm(animals):
    harmful = {"collapsed", "harm shown"}
    counts = {
        cell: sum(
            bool(harmful & {*animals.long.indices(cell, run, "verdict")})
            for run in animals.made.of_kind("method")
        )
        * (not animals.is_red(cell))
        for cell in animals.made.cells
    }
    assert len({*counts.values()}) > 1
    sections = animals.page.all("section", "cell")
    [shown] = [one.get("data-cell") for one in sections if "brief" in one.get("class").split()]
    assert counts[shown] == max(counts.values())


def test_the_switches_are_of_the_runs_that_charts_show(animals):
    labels = animals.page.one("div", id="methods").all("label")
    shown = {one.one("input").get("value"): one.text for one in labels}
    assert shown == {
        run: animals.made.plan.labels[run] for run in ("ft", "ga", "rl", "ltd", "original")
    }


def test_the_top_leads_to_every_cell_and_no_link_is_dead(animals):
    ids = [one.get("id") for one in animals.page.walk() if one.get("id")]
    assert len(ids) == len(set(ids))
    links = {
        a.get("href") for a in animals.page.one("nav").all("a") if a.get("href").startswith("#")
    }
    assert links <= {f"#{one}" for one in ids}
    assert {f"#cell-{cell}" for cell in animals.made.cells} <= links
