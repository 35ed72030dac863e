"""The pages of methods, data sets, models and findings are what their files say."""

import pytest
import reference_findings
import reference_plugins
from markdown_reading import ROOT, anchors, blocks
from reference_tables import filled
from test_docs_config import whole

from collateral.config.load import load
from collateral.contract.plugins import CONTROL, DATA, FINDING, METHOD, MODEL

RUNS = METHOD.names() + CONTROL.names()
PAGES = {
    "methods": lambda: {
        "contents": reference_plugins.table_of_methods(),
        "shared": reference_plugins.shared_keys(),
        "methods": reference_plugins.methods(),
    },
    "data-sets": lambda: {
        "contents": reference_plugins.table_of_data(),
        "shared": reference_plugins.shared_options(),
        "data": reference_plugins.data_sets(),
    },
    "models": lambda: {
        "sizes": reference_plugins.sizes_of_models(),
        "models": reference_plugins.models(),
    },
    "findings": lambda: {
        "contents": reference_plugins.contents(reference_findings.in_order()),
        "findings": reference_findings.findings(),
    },
}
NAMES = {
    "methods": RUNS,
    "data-sets": DATA.names(),
    "models": sorted(set(MODEL.own.values())),
    "findings": FINDING.names(),
}


def path(page: str):
    return ROOT / f"docs/{page}.md"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_up_to_date(page, pytestconfig):
    file, made = path(page), PAGES[page]()
    if pytestconfig.getoption("--fix"):
        file.write_text(filled(file, made))
    if file.read_text() != filled(file, made):
        pytest.fail(f"docs/{page}.md is stale: run `make schema`")


@pytest.mark.parametrize("page", NAMES)
def test_each_has_a_section_that_can_be_linked_to(page):
    assert set(NAMES[page]) <= anchors(path(page))


@pytest.mark.parametrize("name", RUNS)
def test_a_method_has_a_formula(name):
    lacking = f"the docstring of {name}'s Params has no paragraph `Formula: ...`"
    assert reference_plugins.formula_of(name), lacking


def test_reasons_to_skip_are_found():
    assert reference_plugins.skipped("msg") == ["the model has no convolutions"]
    assert reference_plugins.skipped("ft") == []


@pytest.mark.parametrize("page", ["methods", "data-sets", "models"])
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
