"""The index: every page below results/ at a glance, this config's first, and the theory."""

import re
from dataclasses import asdict
from html import escape
from pathlib import Path

import pytest
from drive import write_index
from fake_results import RUNS, FakeCell, full_cell, read_cells
from page_reading import Links, report
from PIL import Image
from sealing import sign_folder

from collateral.findings.registry import Problem, write_problems
from collateral.findings.verdict import LIKE
from collateral.report.decision import CellColumn, Decision, Measured, MethodRow, Score
from collateral.report.page import list_pages, write
from collateral.results import layout
from collateral.results.files import write_json
from collateral.results.plan import About, BenchmarkPlan, CellPlan
from collateral.results.provenance import write_signed


@pytest.fixture
def results(tmp_path):
    return tmp_path / "results"


def write_page(folder: Path, *cells: FakeCell, problems: tuple[Problem, ...] = ()) -> None:
    """Write the page of a benchmark, as its rule does."""
    read_cells(folder, *cells)
    BenchmarkPlan(RUNS, "matched", {cell.name: CellPlan() for cell in cells}).save(
        folder / layout.PLAN
    )
    write_problems(folder / layout.PROBLEMS, problems)
    report(folder, folder)


def write_glance(results: Path, *names: str) -> None:
    """Write what the index reads of benchmarks, one cell each."""
    for name in names:
        like = Score(
            LIKE, [], LIKE, "", [Measured("near", 0.0, -0.01, 0.01, 0.04, "within")], 0.01, 0.5
        )
        decision = Decision(
            *(name, "digits", "resnet8", "1", True),
            [CellColumn("cell", "A cell", 10, 5, 0.2, 0.005, [], "yes")],
            [MethodRow("ft", f"It-{name}", About(), [like])],
        )
        glance = {"decision": asdict(decision), "problems": []}
        write_signed(results / name / layout.GLANCE, glance, results / name)


def index_of(results: Path, *first: str, theory: str = "") -> str:
    write_index(results, *first, theory=theory)
    return (results / "report.html").read_text()


def test_this_configs_pages_are_first_in_its_order_then_others_by_name(results):
    write_glance(results, "b", "c", "d", "a")
    (results / "theory").mkdir()
    assert [page.name for page in list_pages(results, ["d", "b"])] == ["d", "b", "a", "c"]
    page = index_of(results, "d", "b")
    shown = re.findall(r'<p class="headline">It-(\w) is like Retrain in this test\.', page)
    assert shown == ["d", "b", "a", "c"]
    named = r'class="term method"[^>]*>It-(\w)</button>'
    assert re.findall(named, page) == ["d", "b", "a", "c"]


def test_a_page_of_this_config_that_is_missing_is_an_error(results):
    write_glance(results, "a")
    with pytest.raises(ValueError, match=r"/b/glance\.json: is missing"):
        index_of(results, "a", "b")


def test_every_link_leads_to_a_page_and_to_its_cell(results):
    write_page(results / "digits", full_cell("digit_3-50"), full_cell("digit_8-90"))
    write_page(results / "other", full_cell("digit_1-50"))
    links = Links(index_of(results, "other"))
    pages = [target for target in links.followed if not target.startswith("#")]
    assert "digits/report.html#cell-digit_8-90" in pages
    assert {target.partition("#")[0] for target in pages} == {
        "other/report.html",
        "digits/report.html",
    }
    for target in pages:
        file, _, anchor = target.partition("#")
        page = Links((results / file).read_text())
        assert not anchor or anchor in page.anchors
        assert (results / file).parent.joinpath(page.followed[1]).resolve() == (
            results / "report.html"
        )


def test_headlines_are_those_of_the_page(results):
    write_page(results / "digits", full_cell())
    [found] = list_pages(results, ["digits"])
    [cell] = found.decision.cells
    labels = [row.label for row in found.decision.methods]
    gaps = [row.scores[0].gap for row in found.decision.methods]
    assert {*labels} == {*RUNS.values()} - {"Original"} and None not in gaps
    index_of(results)
    for tag, file in ("p", "report.html"), ("h1", "digits/report.html"):
        page = (results / file).read_text()
        assert f'#cell-digit_3-50">{cell.title}</a>' in page
        assert re.search(
            rf"<{tag}[^>]*>{re.escape(escape(write(found.decision, 'headline')))}</{tag}>", page
        )
        named = r'<th scope="row"><button[^>]*class="term method"[^>]*>(.*?)</button>'
        assert re.findall(named, page) == labels
        shown = re.findall(r'data-label="Gap to Retrain" data-order="(.*?)"', page)
        assert [float(gap) for gap in shown] == gaps


def test_problems_are_named_at_the_benchmark_that_has_them(results):
    problem = Problem("gap", "numbers", "digit_3-50", "ValueError: <b>")
    write_page(results / "good", full_cell())
    write_page(results / "bad", full_cell(), problems=(problem,))
    page = index_of(results, "good", "bad")
    good, _, bad = page.partition(">bad</a></h2>")
    assert 'role="alert"' not in good
    assert bad.count('role="alert"') == 1
    assert "finding gap: its numbers in digit_3-50 could not be made: ValueError: &lt;b&gt;" in bad


def test_the_index_page_loads_nothing_from_the_web_and_escapes_names(results):
    fake = full_cell()
    for row in fake.metrics + fake.costs:
        row["class"] = "<script>x"
    write_page(results / "digits", fake)
    page = index_of(results)
    assert "<script>x" not in page
    assert "&lt;script&gt;x" in page
    links = Links(page)
    assert all(target.startswith("data:") for target in links.fetched)
    assert len(links.anchors) == len({*links.anchors})
    assert not re.search(r"https?:|@import|url\(", page)


def test_the_theory_has_a_page_to_which_the_index_leads(results):
    write_glance(results, "digits")
    theory = results / "theory"
    (theory / "figures").mkdir(parents=True)
    Image.new("L", (4, 3)).save(theory / "figures" / "synthetic.png")
    write_json(theory / "figures" / "captions.json", {"synthetic": "A caption."})
    (theory / "checks.csv").write_text("identity,error,holds\nprop 3.1,1.23456e-12,True\n")
    sign_folder(theory)
    page = index_of(results, "digits", theory=theory.name)
    assert "It-digits is like Retrain" in page and "A caption." not in page
    assert [link for link in Links(page).followed if "theory" in link] == ["theory/report.html"]
    shown = (theory / "report.html").read_text()
    assert "A caption." in shown
    assert ">1.235e−12<" in shown
    assert ">True<" in shown
    assert "It-digits" not in shown
    assert "../report.html" in Links(shown).followed


def test_without_the_theory_there_is_no_link_to_it(results):
    write_glance(results, "digits")
    assert "theory" not in index_of(results).lower()
