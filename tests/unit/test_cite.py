"""`collateral cite`: BibTeX of what a config uses; every shipped part has its entry."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from plug_ins import forgotten_after, write_method

from collateral import __version__
from collateral.cli import main
from collateral.commands.cite import OWN, Use, entries_file, find_entries, read_entries
from collateral.config.yaml import parse
from collateral.data import torchvision
from collateral.data._readers.torchvision_sets import SETS
from collateral.plugins.find import CONTROL, DATA, METHOD, MODEL, params_class

ROOT = Path(__file__).parents[2]
PAPER = "dolgova2026forgetting"
# Parts that nobody published: the user's own files, computed images, small networks of ours, and
# controls that are models of known truth.
UNPUBLISHED = {
    DATA: {"arrays", "folder", "parquet", "synthetic"},
    MODEL: {"mlp", "small_cnn"},
    CONTROL: {"original", *(name for name in CONTROL.names() if params_class(name).made_by)},
    METHOD: set(),
}
CONFIG = """
benchmarks:
  one:
    data: {name: digits}
    model: small_cnn
    seeds: [0, 1]
    classes: [digit_3]
    fractions: [0.5]
    base: {epochs: 2}
    methods:
      rl: {}
      longer: {uses: ft, epochs: 30}
      ltd: {k: 100, teacher: [resnet8, mlp_frozen]}
    controls: [original]
  two:
    data: {name: torchvision, dataset: GTSRB, root: nowhere}
    model: timm/resnet18
    seeds: [0]
    cells: {some: {forget: {kind: random_part, fraction: 0.1}}}
    methods: {ft: {}}
"""


def all_files():
    """Return the files of entries of all shipped parts."""
    kinds = (METHOD, CONTROL, DATA, MODEL)
    found = {OWN} | {entries_file(kind, name) for kind in kinds for name in kind.names()}
    return sorted(file for file in [*found, entries_file(MODEL, "timm/resnet18")] if file.is_file())


def fields(entry):
    """Return the fields of an entry by name."""
    return dict(re.findall(r"^  (\w+) += \{(.*)\},$", entry, re.M))


@pytest.fixture(autouse=True)
def no_plug_in_stays():
    with forgotten_after():
        yield


@pytest.fixture
def cited(tmp_path, capsys):
    """Return a function that prints the entries for a config, and returns them by comment."""

    def cite(text=CONFIG, *more):
        path = tmp_path / "config.yaml"
        path.write_text(text)
        main(["cite", str(path), *more])
        said = capsys.readouterr().out
        blocks = [block.partition("\n@") for block in said.strip().split("\n\n")]
        return {
            entry.partition("{")[2].partition(",")[0]: comment.replace("\n% ", " ")
            for comment, _, entry in blocks
        }

    return cite


def test_each_entry_is_printed_once_with_what_it_is_cited_for(cited):
    assert cited() == {
        "collateral": "% Collateral and its paper",
        PAPER: "% Collateral and its paper, method ltd",
        "alpaydin1998optical": "% data set digits",
        "pedregosa2011scikit": "% data set digits",
        "warnecke2023machine": "% method rl, method ft",
        "he2016deep": "% model resnet8",
        "torchvision2016": "% data set torchvision",
        "stallkamp2012man": "% data set torchvision",
        "wightman2019timm": "% model timm/resnet18",
        "": "% No publication is known of: model small_cnn, control original",
    }


def test_json_has_the_same_entries_and_what_has_none(tmp_path, capsys, cited):
    by_key = cited()
    main(["cite", str(tmp_path / "config.yaml"), "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    assert found["without publication"] == ["model small_cnn", "control original"]
    comments = {one["entry"]: f"% {', '.join(one['cited for'])}" for one in found["entries"]}
    assert [*comments.values()] == [text for key, text in by_key.items() if key]


def test_models_of_a_sweep_over_teachers_are_cited(cited):
    sweep = "    sweeps: {size: {method: ltd, vary: {teacher: [mlp, vit_tiny]}}}\n"
    found = cited(CONFIG.replace("    controls: [original]\n", sweep))
    assert found["dosovitskiy2021image"] == "% model vit_tiny"


def test_the_output_can_be_read_as_bibtex(tmp_path, capsys):
    main(["cite", str(ROOT / "config.yaml")])
    file = tmp_path / "refs.bib"
    file.write_text(capsys.readouterr().out)
    entries = read_entries(file)
    assert len(entries) >= 10
    assert all(text.count("{") == text.count("}") for text in entries.values())


@pytest.mark.parametrize("kind", [METHOD, CONTROL, DATA, MODEL], ids=lambda kind: kind.what)
def test_every_shipped_part_that_was_published_has_an_entry(kind):
    with_entries = {
        name for name in kind.names() if find_entries(Use(name, entries_file(kind, name)))
    }
    assert with_entries == {*kind.names()} - UNPUBLISHED[kind]


def test_every_data_set_of_torchvision_has_its_entry():
    assert torchvision.ENTRIES.keys() == SETS.keys()
    known = read_entries(entries_file(DATA, "torchvision"))
    assert {*torchvision.ENTRIES.values(), "torchvision2016"} == known.keys()


def test_a_key_stands_for_the_same_entry_in_all_files():
    texts = {}
    for file in all_files():
        for key, text in read_entries(file).items():
            assert texts.setdefault(key, text) == text, f"{key} differs in {file}"
    assert len(texts) > 30


@pytest.mark.parametrize("file", all_files(), ids=lambda file: f"{file.parent.name}/{file.name}")
def test_every_entry_names_authors_title_and_where_it_is_found(file):
    entries = read_entries(file)
    assert entries
    for key, text in entries.items():
        found = fields(text)
        assert len(found) == text.count("\n") - 1, f"{key}: a line is no field"
        assert found["author"] and found["title"], key
        places = {"booktitle", "journal", "eprint", "doi", "url", "institution", "version"}
        assert places & found.keys(), key
        if "eprint" in found:
            assert re.fullmatch(r"\d{4}\.\d{4,5}", found["eprint"]), key
            assert found["archiveprefix"] == "arXiv", key


@pytest.mark.parametrize("name", [*METHOD.names(), "ideal"])
def test_an_entry_of_a_method_is_the_paper_that_its_params_link(name):
    kind = METHOD if name in METHOD.names() else CONTROL
    entries = read_entries(entries_file(kind, name)).values()
    links = [f"https://arxiv.org/abs/{fields(entry)['eprint']}" for entry in entries]
    assert params_class(name).paper in links
    (year,) = {fields(entry)["year"] for entry in entries if links[0].endswith(_arxiv(entry))}
    assert year in str(params_class(name).__doc__)


def _arxiv(entry):
    return fields(entry)["eprint"]


@pytest.mark.parametrize("name", METHOD.names())
def test_an_entry_of_a_method_has_the_author_that_its_docstring_names(name):
    entries = read_entries(entries_file(METHOD, name)).values()
    first = [fields(entry)["author"].partition(",")[0] for entry in entries]
    assert all(author in str(params_class(name).__doc__) for author in first)


def test_the_entry_of_collateral_agrees_with_citation_cff():
    cff = parse((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    (paper,) = cff["references"]
    own, of_paper = map(fields, read_entries(OWN).values())
    assert own["title"] == cff["title"]
    assert own["version"] == cff["version"] == __version__
    assert of_paper["title"] == paper["title"]
    names = [f"{one['family-names']}, {one['given-names']}" for one in paper["authors"]]
    assert of_paper["author"] == " and ".join(names)
    assert paper["url"] == f"https://arxiv.org/abs/{of_paper['eprint']}"
    assert paper["identifiers"][0]["value"] == f"arXiv:{of_paper['eprint']}"
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.count(f"arXiv {of_paper['eprint']}") == 2


def test_the_wheel_contains_the_entries():
    packaged = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "**/*.bib" in packaged["tool"]["setuptools"]["package-data"]["collateral"]


def test_entries_of_a_plug_in_are_cited(tmp_path, cited):
    method = tmp_path / "own" / "nothing"
    write_method(method.parent, "nothing")
    text = CONFIG.replace("rl: {}", "nothing: {}") + f"plugins: [{tmp_path / 'own'}]\n"
    assert "method nothing" in cited(text)[""]
    (method / "citation.bib").write_text(
        "Text outside is ignored.\n@Article{nobody2001,\n title={On {Nothing}}, year=2001}\n"
    )
    found = cited(text)
    assert found["nobody2001"] == "% method nothing"
    assert "nothing" not in found[""]


@pytest.mark.parametrize("text", ["@article{one, title={Open}\n", "\n@article two\n", "@misc{ }"])
def test_a_broken_entry_is_named_with_its_file_and_line(tmp_path, text):
    file = tmp_path / "citation.bib"
    file.write_text(f"% first\n{text}")
    line = 2 + text.index("@")
    with pytest.raises(ValueError, match=rf"citation\.bib: line {line}: no BibTeX entry"):
        read_entries(file)


def test_a_missing_config_is_named():
    with pytest.raises(
        SystemExit, match=r"^collateral cite: config: there is no file nowhere\.yaml$"
    ):
        main(["cite", "nowhere.yaml"])
