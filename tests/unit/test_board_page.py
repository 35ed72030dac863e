"""The page of the board: what it shows of an entry, and how it is sorted, on a phone too."""

import importlib.util
from dataclasses import replace

import pytest
from generators.board import find_board
from generators.results import find_results
from opened_page import CHROMIUM
from page_reading import Links

from collateral.report.board import NO_RETRAIN, Board, Entry, build_board, render_board
from collateral.results import layout
from collateral.results.files import write_rows
from collateral.results.submission import JUDGED

in_browser = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (CHROMIUM and importlib.util.find_spec("playwright")), reason="needs a browser"
    ),
]
ONE = Entry(
    benchmark="animals",
    setting="zoo, mlp",
    forget_set="ox-50",
    seeds=3,
    run="ltd",
    method="LTD",
    verdict="open",
    near=0.02,
    near_test=-0.01,
    gap=0.03,
    time=0.5,
)
ENTRIES = [
    ONE,
    replace(ONE, run="a", method="amnesia", gap=0.01, verdict="harm shown", by="A. Person"),
    replace(ONE, run="b", method="Blank", gap=0.2, starts_anew=True),
    replace(ONE, run="c", method="Copy", gap=0.05, verdict=NO_RETRAIN, forget_set="pig-90"),
]


def test_an_entry_of_an_author_has_the_benchmark_too_and_whether_it_starts_anew():
    page = render_board(Board(ENTRIES))
    assert "<small>A. Person, animals</small>" in page
    assert "<small>animals; starts anew §</small>" in page
    assert page.count("§: its author states that it trains a new model") == 1
    assert page.count("No Retrain: losses are against the base model.</p>") == 1
    assert page.count("Every number but times is computed from model outputs") == 1
    assert "starts anew" not in render_board(Board([ONE]))


def test_settings_of_papers_are_listed_and_named_where_they_have_results():
    settings = {"zoo": {"animals": "zoo, mlp", "plants": "zoo, vit"}}
    board = Board([ONE, replace(ONE, benchmark="mine")], settings=settings)
    assert [title for title, _ in board.cells] == [
        "zoo, mlp: ox-50",
        "zoo, animals: zoo, mlp: ox-50",
    ]
    page = render_board(board)
    assert "animals (zoo, mlp): above; plants (zoo, vit): no results yet" in " ".join(page.split())
    assert Links(page).fetched == ["data:,"]


def test_the_board_of_the_site_has_every_row_of_the_table_of_results():
    board = find_board()
    rows = find_results()
    assert len(rows) > 90 and {*map(repr, rows)} <= {*map(repr, board.entries)}  # NaN is not NaN
    shown = [entry for _, entries in board.cells for entry in entries]
    assert len(shown) == len(board.entries)
    assert {"no Retrain", "like Retrain", "one seed"} <= {entry.verdict for entry in shown}
    assert max(entry.seeds for entry in shown) == 200
    assert {"cifar10_optml", "mufac"} <= {name for of in board.settings.values() for name in of}


def test_a_submission_in_two_folders_is_shown_once(tmp_path, monkeypatch):
    for name in ("first", "second", "other"):
        (tmp_path / name).mkdir()
        write_rows(tmp_path / name / layout.METRICS, ["cell"], [])
    stated = {"first": {"run": "ltd"}, "second": {"run": "ltd"}, "other": {"run": "ft"}}
    monkeypatch.setattr(
        "collateral.report.board._read_judged", lambda folder: {"statement": stated[folder.name]}
    )
    monkeypatch.setattr("collateral.report.board.read_entries", lambda folder: [ONE])
    assert JUDGED == "judged.json"
    board = build_board((), [tmp_path / name for name in stated])
    assert len(board.entries) == 2
    assert board.left_out == [f"second: the same submission as in {tmp_path / 'first'}"]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    file = tmp_path_factory.mktemp("board") / "board.html"
    file.write_text(render_board(Board(ENTRIES)), encoding="utf-8")
    return file


def methods(tab):
    """Return the names in the first table, from top to bottom."""
    rows = tab.locator("table.board").first.locator("tbody th")
    return [text.split("\n")[0] for text in rows.all_inner_texts()]


@pytest.fixture(params=[None, {"width": 390, "height": 844}], ids=["desk", "phone"])
def tab(request, browser, page):
    tab = browser.new_page(viewport=request.param or {"width": 1280, "height": 900})
    tab.goto(page.as_uri())
    tab.phone = bool(request.param)
    yield tab
    tab.close()


def sort(tab, column):
    if tab.phone:
        tab.locator(".sort-by select").first.select_option(label=column)
    else:
        head = tab.locator("table.board").first.locator("thead th")
        head.filter(has_text=column.split()[0]).locator(".sort").click()


class TestInBrowser:
    pytestmark = in_browser

    def test_tables_are_sorted_by_any_column(self, tab):
        assert methods(tab)[0] == "LTD"
        sort(tab, "Method")
        assert methods(tab) == ["amnesia", "Blank", "LTD"]
        sort(tab, "Gap to Retrain")
        assert methods(tab) == ["amnesia", "LTD", "Blank"]
        sort(tab, "Verdict")
        assert methods(tab)[-1] == "amnesia"

    def test_the_list_is_there_on_a_phone_alone_and_the_head_at_a_desk(self, tab):
        assert tab.locator(".sort-by").first.is_visible() == tab.phone
        assert tab.locator("table.board thead").first.is_visible() != tab.phone
        assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth")

    def test_print_has_author_and_benchmark_and_no_list(self, tab):
        tab.emulate_media(media="print")
        assert tab.locator("tbody th small").first.is_visible()
        assert not tab.locator(".sort-by").first.is_visible()
        head = tab.locator("table.board thead").first
        assert head.evaluate("(one) => getComputedStyle(one).display") in (
            "table-row-group",
            "none",
        )
