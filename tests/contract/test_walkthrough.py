"""docs/walkthrough.py runs, prints sane numbers and saves its picture."""

import re
import runpy
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
matplotlib = pytest.importorskip("matplotlib")

PAGE = Path(__file__).parents[2] / "docs/walkthrough.py"
UA, RA, TA = range(3)


@pytest.fixture(scope="module")
def picture(tmp_path_factory):
    return tmp_path_factory.mktemp("walkthrough") / "picture.png"


@pytest.fixture(scope="module")
def lesson(picture):
    """The names that the page defines, after it has run from top to bottom."""
    threads = torch.get_num_threads()
    with pytest.MonkeyPatch.context() as patch, matplotlib.rc_context({"backend": "agg"}):
        patch.setattr(sys, "argv", [str(PAGE), str(picture)])
        yield runpy.run_path(str(PAGE))
    torch.set_num_threads(threads)


def test_base_and_retrain_learned_and_differ_on_what_is_forgotten(lesson):
    rates = lesson["rates"]
    for name in ("Retrain", "Original"):
        assert min(rates[name][RA], rates[name][TA]) > 90
    assert rates["Original"][UA] > 99
    assert 50 < rates["Retrain"][UA] < 95


def test_ft_changes_little_and_ltd_forgets(lesson):
    rates = lesson["rates"]
    assert abs(rates["FT"][UA] - rates["Original"][UA]) < 5
    assert 20 < rates["LTD"][UA] < rates["FT"][UA] - 10
    assert min(rates[name][RA] for name in ("FT", "LTD")) > 95


def test_losses_are_near_the_forget_set(lesson):
    near, far = lesson["near_loss"], lesson["far_loss"]
    assert near["Retrain"] == far["Retrain"] == 0
    assert max(abs(value) for value in far.values()) < 5
    assert near["GA"] > 15
    assert near["FT"] < 0  # FT still knows near images that Retrain never learned


def test_near_images_are_few_and_enough(lesson):
    assert 20 <= lesson["is_near"].sum() < len(lesson["is_near"]) / 4


def test_the_picture_is_saved(lesson, picture):
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_page_is_short_enough_to_read():
    lines = [line for line in PAGE.read_text().splitlines() if line.strip()]
    assert len(lines) <= 130
    assert re.findall(r"^# (\d)\.", PAGE.read_text(), re.M) == list("1234567")
