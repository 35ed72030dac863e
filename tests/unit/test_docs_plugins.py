"""The pages of methods, data sets with models, and findings: sections, formulas and examples."""

import pytest
from generators import plugins
from markdown_reading import ROOT, anchors, blocks
from test_docs_config import whole

from collateral.config.load import load
from collateral.plugins.find import CONTROL, DATA, FINDING, METHOD, MODEL

RUNS = METHOD.names() + CONTROL.names()
NAMES = {
    "methods": RUNS,
    "data-sets": [*DATA.names(), *sorted(set(MODEL.own.values()))],
    "findings": FINDING.names(),
}


def path(page: str):
    return ROOT / f"docs/{page}.md"


@pytest.mark.parametrize("page", NAMES)
def test_each_has_a_section_that_can_be_linked_to(page):
    assert set(NAMES[page]) <= anchors(path(page))


@pytest.mark.parametrize("name", RUNS)
def test_a_method_has_a_formula(name):
    lacking = f"the docstring of {name}'s Params has no paragraph `Formula: ...`"
    assert plugins.formula_of(name), lacking


def test_reasons_to_skip_are_found():
    assert plugins.skipped("msg") == ["the model has no convolutions"]
    assert plugins.skipped("ft") == []


@pytest.mark.parametrize("page", ["methods", "data-sets"])
def test_the_examples_are_what_the_loader_takes(page):
    examples = list(blocks(path(page), "yaml"))
    assert len(examples) >= len(NAMES[page])
    for text in examples:
        config = whole(text)
        for benchmark in config["benchmarks"].values():
            benchmark["methods"] = {"ltd": {}, **benchmark["methods"]}  # `ideal` needs it
            if page == "data-sets":
                benchmark |= {"classes": [0]}  # by index: every data set has a first class
        load(config)
