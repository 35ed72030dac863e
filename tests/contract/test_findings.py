"""Every finding keeps its contract, a user's own too (`--plugins FOLDER`)."""

import json
import math
import operator
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))  # the made-up results
from fake_cell import FakeCell, FakeRun, key_of
from fake_results import (
    full_cell,
    read_cell,
    read_cells,
    supports_cell,
    tracked_cell,
    whole_class_cell,
)

from collateral.contract.metrics import Metric
from collateral.contract.rows import Row
from collateral.findings.near import split_by_distance
from collateral.findings.registry import cell_numbers, view_function
from collateral.plots import page
from collateral.plots import print as printed
from collateral.plugins.find import FINDING, add_plugins
from collateral.report.sections import TABS
from collateral.results.dataset import Labels, Neighbours
from collateral.results.outputs import Outputs
from collateral.results.split import Split

FINDINGS = FINDING.names()
PARTS = {"numbers", "views"}
MOST_WORDS = 8  # of a title
N, SEEDS = 60, (0, 1, 2)
RNG = np.random.default_rng(0)
LABELS = Labels(np.arange(N) % 3, np.arange(N) % 3, ("a", "b", "c"))
SHARES = {"part": np.arange(0, 30, 3), "whole": np.arange(0, N, 3)}


def answers(labels: np.ndarray, skill: float) -> Outputs:
    logits = RNG.normal(size=(N, 3))
    logits[np.arange(N), labels] += skill
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    confidence = p[np.arange(N), labels].astype(np.float32)
    return Outputs(logits.astype(np.float16), confidence, logits.argmax(axis=1))


def a_cell(forget: np.ndarray) -> FakeCell:
    similarity = RNG.random((2, len(SEEDS), N), dtype=np.float32)
    nothing = np.array([], dtype=np.int64)
    neighbours = Neighbours(
        seeds=np.array(SEEDS),
        train_similarity=similarity[0],
        test_similarity=similarity[1],
        class_similarity=RNG.random((len(SEEDS), 3), dtype=np.float32),
        shown_set=nothing.astype(str),
        shown_index=nothing,
    )
    runs = {
        (run, seed): FakeRun(answers(LABELS.train, 3), answers(LABELS.test, 1))
        for run in ("retrain", "ft", "ga")
        for seed in SEEDS
    }
    return FakeCell(LABELS, Split(forget, N, (0,), {"class": "a"}), neighbours, runs)


CELLS = {name: a_cell(forget) for name, forget in SHARES.items()}


NEAR_ERRORS = '''
"""How often are models wrong near the forget set?"""

from collateral.contract.metrics import Metric

AFTER = ("locality",)
METRICS = {"near_error": Metric("Near errors", "share of near ones that are wrong", "%")}
'''


@pytest.fixture(scope="module")
def rows(tmp_path_factory) -> dict[str, list[Row]]:
    return {name: cell.rows(tmp_path_factory.mktemp(name)) for name, cell in CELLS.items()}


def metrics_of(finding: str) -> dict[str, Metric]:
    return getattr(FINDING.load(finding), "METRICS", {})


@pytest.mark.parametrize("finding", FINDINGS)
def test_every_finding_states_its_question_and_its_tab_of_the_page(finding):
    module = FINDING.load(finding)
    asks = "?" in (module.__doc__ or "").split("\n\n")[0]
    assert asks, "the docstring of __init__.py begins with the question, and its question mark"
    place = getattr(module, "PLACE", "summary")
    assert place in TABS, f"PLACE: {place!r}; the tabs of the page are {sorted(TABS)}"
    title = getattr(module, "TITLE", "")
    assert len(title.split()) <= MOST_WORDS, f"TITLE: {title!r} has more than {MOST_WORDS} words"
    strange = {*getattr(module, "AFTER", ())} - ({*FINDINGS} - {finding})
    assert not strange, f"AFTER: {sorted(strange)} are no other findings; known: {FINDINGS}"
    folder = Path(module.__path__[0])
    parts = {file.stem for file in folder.glob("*.py")} & PARTS
    assert parts, f"{folder} has none of {sorted(PARTS)}"


@pytest.mark.parametrize("finding", FINDINGS)
def test_the_metrics_of_a_finding_are_declared_and_computed(finding):
    for name, metric in metrics_of(finding).items():
        is_plain = name.isidentifier() and name == name.lower()
        assert is_plain, f"METRICS: {name!r}: columns and links hold it; write it like_this"
        assert metric.label, f"METRICS: {name}: its label is empty, which headings print"
        is_described = metric.description and not metric.description.endswith(".")
        assert is_described, f"METRICS: {name}: say what it is, without a full stop at the end"


@pytest.mark.parametrize("finding", FINDINGS)
@pytest.mark.parametrize("cell", CELLS)
def test_no_number_is_given_twice(rows, cell, finding):
    keys = [key_of(row) for row in rows[cell] if row.metric in metrics_of(finding)]
    twice = sorted({str(key) for key in keys if keys.count(key) > 1})
    assert not twice, f"rows with one run, seed, metric, set and index: {twice[:3]}; set `at`"


@pytest.mark.parametrize("finding", FINDINGS)
@pytest.mark.parametrize("cell", CELLS)
def test_rates_are_rates(rows, cell, finding):
    shares = {name for name, metric in metrics_of(finding).items() if metric.unit == "%"}
    found = [row for row in rows[cell] if row.metric in shares]
    wrong = [row for row in found if not math.isnan(row.value) and not 0 <= row.value <= 1]
    assert not wrong, f"in % a row holds a share from 0 to 1, not a percentage: {wrong[:3]}"


@pytest.mark.parametrize("cell", CELLS)
def test_retrain_against_itself_is_ideal(cell, tmp_path):
    """What is held against Retrain, with Retrain's own answers, is as Retrain's or zero.

    So are the ends of an interval, or around it: that of equal seeds is not empty.
    """
    whole = CELLS[cell]
    copies = {("copy", seed): whole.runs["retrain", seed] for seed in SEEDS}
    retrained = {key: run for key, run in whole.runs.items() if key[0] == "retrain"}
    made = FakeCell(whole.labels, whole.split, whole.neighbours, retrained | copies)
    numbers = made.numbers(tmp_path)
    for finding in FINDINGS:
        held = {
            n for n, m in metrics_of(finding).items() if m.ideal == "retrain" or m.unit == "points"
        }
        for (run, *key), value in numbers.items():
            if run == "copy" and key[1] in held and not math.isnan(value):
                ideal = numbers.get(("retrain", *key), 0)
                assert relation(key[1])(value, ideal), (
                    f"finding {finding}: {key}: a copy of Retrain has {value}, Retrain {ideal}: "
                    "what is held against Retrain is the same of both; a difference in points is 0"
                )


def relation(metric: str) -> Callable[[float, float], bool]:
    """Return how a number has to be to what is ideal."""
    ends = {"_low": operator.le, "_high": operator.ge}
    return next((held for end, held in ends.items() if metric.endswith(end)), operator.eq)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    made = {"plain": full_cell(), "whole": whole_class_cell(), "sizes": supports_cell()}
    made |= {"one seed": full_cell(num_seeds=1), "lost": full_cell(diverged=("ga",))}
    made |= {"tracked": tracked_cell(), "tracked once": tracked_cell(num_seeds=1)}
    return {name: read_cell(tmp_path_factory.mktemp("t"), cell) for name, cell in made.items()}


KINDS_OF_CELL = ("plain", "whole", "sizes", "one seed", "lost", "tracked", "tracked once")


@pytest.mark.parametrize("kind", KINDS_OF_CELL)
@pytest.mark.parametrize("module", FINDING.parts("views"))
def test_tables_fit_their_headings(tables, module, kind):
    make = getattr(import_module(module), "tables", None)
    for table in make(tables[kind]) if make else ():
        assert table.name and table.title and table.grids, "a table has a name, a title and grids"
        for grid in table.grids:
            lines = [line for group in grid.groups for line in group]
            assert lines, f"table {table.name}: a grid without a line: yield no table then"
            widths = {len(line.fields) for line in lines}
            assert widths == {len(grid.headings)}, (
                f"table {table.name}: lines of {sorted(widths)} fields under "
                f"{len(grid.headings)} headings"
            )


@pytest.mark.parametrize("kind", KINDS_OF_CELL)
@pytest.mark.parametrize("finding", [name for name in FINDINGS if view_function(name, "plots")])
def test_plots_have_a_name_and_a_caption_and_can_be_drawn_in_print_and_on_the_page(
    tables, finding, kind
):
    make = view_function(finding, "plots")
    names = []
    for plot in make(tables[kind]):
        assert plot.name and plot.caption and plot.title, "a plot has a name, a title, a caption"
        assert plot.panels, f"plot {plot.name} has no panels: yield none then"
        names.append(plot.name)
        assert printed.draw(plot).get_axes(), f"plot {plot.name} draws nothing in print"
        chart = page.draw(plot)
        strange = {row["run"] for row in chart.rows if row.get("run")} - {*tables[kind].kinds}
        assert not strange, f"plot {plot.name} has runs that the cell has not: {sorted(strange)}"
        json.dumps({"spec": chart.spec, "rows": chart.rows}, allow_nan=False)
    assert len({*names}) == len(names), f"two plots of one name, and so of one file: {names}"


@pytest.mark.parametrize("kind", KINDS_OF_CELL)
@pytest.mark.parametrize("module", FINDING.parts("views"))
def test_words_are_sentences(tables, module, kind):
    words = getattr(import_module(module), "words", None)
    text = words(tables[kind]) if words else ""
    assert text == "" or text.endswith("."), f"{text!r}: words are sentences, or nothing"


def test_some_findings_have_each_optional_part():
    assert len(FINDINGS) >= 13
    assert all(len(FINDING.parts(part)) > 1 for part in PARTS)


def test_near_and_far_are_refused_for_the_forget_set(tmp_path):
    with pytest.raises(ValueError, match="defined for retain and test, not 'forget'"):
        split_by_distance(CELLS["part"].write(tmp_path), "forget")


@pytest.mark.parametrize("name", ["retain", "test"])
def test_near_are_as_many_of_the_most_similar_as_the_long_table_counts(name, tmp_path):
    """A finding needs no number of `locality` to know who is near."""
    cell = CELLS["part"].write(tmp_path)
    rows, _ = cell_numbers(cell)
    [count] = [row.value for row in rows if (row.metric, row.set) == ("near_count", name)]
    is_near, similarity = cell.near[name], cell.similarity[name].mean(axis=0)
    assert is_near.sum() == count > 0
    assert similarity[is_near].min() > similarity[~is_near].max()


def test_the_finding_of_the_docs_works(tmp_path):
    """The code of docs/extend.md, as it stands there."""
    page = (Path(__file__).parents[2] / "docs/extend.md").read_text()
    text = page.partition("\n## A finding\n")[2]
    blocks = [block.split("```")[0] for block in text.split("```python\n")[1:]]
    blocks, (columns, plots, nearness, claims) = blocks[:3], blocks[3:]
    files = {block.splitlines()[0].removeprefix("# "): block for block in blocks}
    assert list(files) == ["__init__.py", "numbers.py", "views.py"]
    assert sum(len(block.splitlines()) for block in blocks) < 40
    folder = tmp_path / "my-plugins" / "findings" / "overconfidence"
    folder.mkdir(parents=True)
    for name, block in files.items():
        (folder / name).write_text(block)
    near = folder.with_name("near_errors")
    near.mkdir()
    (near / "__init__.py").write_text(NEAR_ERRORS)
    (near / "numbers.py").write_text(nearness)
    paths = FINDING.paths
    add_plugins([tmp_path / "my-plugins"])
    try:
        found, problems = cell_numbers(CELLS["part"].write(tmp_path))
        assert problems == []
        values = [row.value for row in found if row.metric == "wrong_confidence"]
        assert len(values) == 9
        assert all(1 / 3 < value < 1 for value in values)
        numbers = {key_of(row): row.value for row in found}
        near_errors = [value for key, value in numbers.items() if "near_error" in key]
        assert len(near_errors) == 9
        # As the package's own finding has it: what Retrain is right about, less what FT is.
        lost = {seed: numbers["ft", seed, "near_loss", "test"] for seed in SEEDS}
        for seed in SEEDS:
            retrain, ft = (numbers[run, seed, "near_error", "test"] for run in ("retrain", "ft"))
            assert ft - retrain == pytest.approx(lost[seed])
        assert any(lost.values())
        cell = read_cells(tmp_path, full_cell()).cells[0]
        (table,) = FINDING.load("overconfidence", "views").tables(cell)
        assert table.grids[0].headings == ["Sure and wrong (%)"]
        (folder / "columns.py").write_text(columns)
        (table,) = FINDING.load("overconfidence", "columns").tables(cell)
        [[retrain], [*methods]] = table.grids[0].groups
        assert [field.value for field in retrain.fields] == ["–", "–"]
        assert [line.fields[1].value for line in methods][:1] == ["+0.1 ± 0.1"]
        scope: dict = {}
        exec(claims, scope)
        assert {one.metric for one in scope["CLAIMS"]} == {*FINDING.load("overconfidence").METRICS}
        (folder / "drawing.py").write_text(plots)
        (plot,) = FINDING.load("overconfidence", "drawing").plots(cell)
        assert {one.label for one in plot.panels[0].series} >= {"FT", "GA"}
    finally:
        paths.remove(str(folder.parent.resolve()))
        plugged = ("overconfidence", "near_errors")
        for name in [name for name in sys.modules if any(part in name for part in plugged)]:
            del sys.modules[name]
