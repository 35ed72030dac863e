"""The pages of methods, data sets with models, and findings: sections, formulas and examples."""

import pytest
from generators import plugins
from generators.tables import in_cell
from markdown_reading import ROOT, anchors, blocks, tables
from test_docs_config import whole

from collateral.config.load import load
from collateral.config.yaml import read_file
from collateral.contract.params import WarmedParams
from collateral.plugins.find import CONTROL, DATA, FINDING, METHOD, MODEL, params_class

RUNS = METHOD.names() + CONTROL.names()
NAMES = {
    "methods": METHOD.names(),
    "data-sets": DATA.names(),
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


def test_every_control_has_a_row_with_its_formula():
    rows = [line for rows in tables(path("methods")) for line in rows]
    for name in CONTROL.names():
        found = [row for row in rows if row.startswith(f"| `{name}` |")]
        assert len(found) == 1 and in_cell(plugins.formula_of(name)) in found[0]


def test_every_key_of_a_method_that_is_not_shared_is_in_its_section():
    assert len(METHOD.names()) > 20
    for name in METHOD.names():
        section = path("methods").read_text().partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        defaults = section.partition("Defaults: `")[2]
        own = set(params_class(name).model_fields) - set(WarmedParams.model_fields)
        assert [key for key in own if f"{key}: " not in defaults] == []


def test_every_model_is_in_one_row_of_the_table():
    rows = [line for rows in tables(path("data-sets")) for line in rows]
    for name in MODEL.names():
        assert len([row for row in rows if f"`{name}`" in row.split("|")[1]]) == 1


def test_every_method_is_in_one_of_the_configs_that_the_page_names():
    used = {
        entry.get("uses", name)
        for file, benchmark in (("config.yaml", "digits_resnet"), ("configs/field.yaml", "field"))
        for name, entry in read_file(ROOT / file)["benchmarks"][benchmark]["methods"].items()
    }
    assert used >= set(METHOD.names())


def test_the_examples_are_what_the_loader_takes():
    examples = list(blocks(path("data-sets"), "yaml"))
    assert len(examples) >= len(NAMES["data-sets"])
    for text in examples:
        config = whole(text)
        for benchmark in config["benchmarks"].values():
            benchmark |= {"classes": [0]}  # by index: every data set has a first class
        load(config)
