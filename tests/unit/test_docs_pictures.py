"""Pictures of README and docs: each is made by one command, and shows what the page says now."""

import json

import make_pictures
import pytest
from markdown_reading import ROOT, pages

from collateral.results import layout

SHOWN = {file.stem for file in (ROOT / "docs/images").glob("*.png")}
KEPT = json.loads(make_pictures.CAPTIONS.read_text())
STALE = "the page says something else now: `make run`, `python docs/make_pictures.py`"


def test_one_command_makes_every_picture():
    assert {*make_pictures.PICTURES} == SHOWN
    assert len(SHOWN) >= 15


def test_pictures_of_the_page_have_a_sentence():
    named = {name for name, one in make_pictures.PICTURES.items() if one.has_sentence}
    assert {*KEPT} == named >= {"tour-page", "tour-similarity", "tour-verdict"}


@pytest.mark.parametrize("name", KEPT)
def test_the_sentence_of_a_picture_is_what_the_page_says_now(name):
    assert KEPT[name] == make_pictures.current_sentences()[name], STALE


@pytest.mark.parametrize("name", KEPT)
def test_the_sentence_stands_below_its_picture(name):
    places = [text for page in pages() if f"images/{name}.png" in (text := page.read_text())]
    assert places
    for text in places:
        below = text.partition(f"images/{name}.png")[2].partition("<!-- end -->")[0]
        assert f"<!-- says {name} -->\n> {KEPT[name]}\n" in below


def test_another_number_is_another_sentence(tmp_path, monkeypatch):
    for name in (layout.PLAN, layout.METRICS, layout.COSTS):
        (tmp_path / name).write_bytes((make_pictures.KEPT / name).read_bytes())
    monkeypatch.setattr(make_pictures, "KEPT", tmp_path)
    assert make_pictures.current_sentences() == KEPT
    metrics = tmp_path / layout.METRICS
    rows = metrics.read_text().splitlines()
    hurt = KEPT["tour-page"].partition("Hurt the neighbours: ")[2].partition(" ")[0]
    changed = [row for row in rows if f",{hurt.lower()}," not in row]
    assert len(changed) < len(rows)
    metrics.write_text("\n".join(changed) + "\n")
    assert make_pictures.current_sentences()["tour-page"] != KEPT["tour-page"]
