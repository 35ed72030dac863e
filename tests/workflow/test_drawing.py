"""docs/images/workflow.svg shows the rules that there are; `pytest --fix` draws it again."""

import re
import xml.etree.ElementTree as ET

import pytest
from conftest import REPOSITORY, copy_project, write_weights
from drawing import draw, layers, order, reduced

pytestmark = pytest.mark.workflow
PICTURE = REPOSITORY / "docs/images/workflow.svg"
# It uses every rule; no control, as only `ideal` is given Retrain.
CONFIG = """
benchmarks:
  drawn:
    data: {name: digits}
    model: resnet8
    seeds: [0]
    classes: [digit_3]
    fractions: [0.5]
    select: teacher
    methods:
      ft: {lr: [0.01, 0.1]}
      ltd: {k: [60, 100]}
    track: [ft]
    support_size: {k: [50, 100]}
    given: {theirs: {weights: "theirs-{seed}.pt"}}
    probe: [zrf]
    shadows: {count: 6}
"""
TARGETS = {"all", "paper"}


def rules() -> dict[str, tuple[str, bool]]:
    """Return what the rules' docstrings say, and whether they run where torch is."""
    texts = [file.read_text() for file in (REPOSITORY / "workflow/rules").glob("*.smk")]
    text = "\n".join(texts)
    found = dict(re.findall(r"^rule (\w+):\n((?:    .*\n|\n)+)", text, re.M))
    found |= {new: found[old] for old, new in re.findall(r"^use rule (\w+) as (\w+)", text, re.M)}
    return {
        name: (re.findall(r'"""(.*?)"""', body, re.S)[0], "envs/torch.yaml" in body)
        for name, body in found.items()
    }


@pytest.fixture(scope="module")
def edges(tmp_path_factory) -> set[tuple[str, str]]:
    """Return which rule goes into which, by Snakemake itself."""
    project = copy_project(tmp_path_factory.mktemp("drawn"))
    (project.folder / "drawn.yaml").write_text(CONFIG)
    write_weights(project.folder / "theirs-0.pt", "resnet8", 10, (8, 8, 1))
    done = project.snakemake("--rulegraph", "--configfile", "drawn.yaml")
    assert done.returncode == 0, done.stderr
    names = dict(re.findall(r'^\s*(\d+)\[label = "(\w+)"', done.stdout, re.M))
    found = re.findall(r"^\s*(\d+) -> (\d+)", done.stdout, re.M)
    return {(names[a], names[b]) for a, b in found if not TARGETS & {names[a], names[b]}}


def test_the_picture_is_up_to_date(edges, pytestconfig):
    said = {name: words for name, (words, _) in rules().items()}
    undrawn = {*said} - {name for edge in edges for name in edge}
    assert not undrawn, f"CONFIG above does not use {undrawn}: give it what needs them"
    drawn = draw(edges, said, {name for name, (_, uses_torch) in rules().items() if uses_torch})
    if pytestconfig.getoption("--fix"):
        PICTURE.write_text(drawn)
    if PICTURE.read_text() != drawn:
        pytest.fail("docs/images/workflow.svg is stale: run `make schema`")


def test_every_rule_is_in_the_picture_once():
    root = ET.fromstring(PICTURE.read_text())
    names = [text.text for text in root.iterfind(".//{*}g/{*}text")]
    assert sorted(names) == sorted(rules())
    assert len(names) > 15


def test_no_two_boxes_overlap_and_all_are_inside():
    root = ET.fromstring(PICTURE.read_text())
    boxes = [
        tuple(float(rect.get(key)) for key in ("x", "y", "width", "height"))
        for rect in root.iterfind(".//{*}g/{*}rect")
    ]
    _, _, right, lower = map(float, root.get("viewBox").split())
    for number, (x, y, width, height) in enumerate(boxes):
        assert x >= 0 and y >= 0 and x + width <= right and y + height <= lower
        for other_x, other_y, _, _ in boxes[number + 1 :]:
            assert abs(x - other_x) >= width or abs(y - other_y) >= height


def test_an_edge_that_follows_from_others_is_left_out():
    assert reduced({("a", "b"), ("b", "c"), ("a", "c")}) == {("a", "b"), ("b", "c")}


def test_what_has_nothing_before_it_stands_beside_what_needs_it():
    layered = layers({("a", "b"), ("b", "c"), ("late", "c")})
    assert layered.columns == [["a"], ["b", "late"], ["c"]]


def test_columns_are_sorted_so_that_edges_do_not_cross():
    layered = layers({("a", "y"), ("b", "x")})
    order(layered)
    first, second = layered.columns
    assert [{"a": "y", "b": "x"}[node] for node in first] == second


def test_an_edge_over_a_column_bends_in_it():
    layered = layers({("a", "b"), ("b", "c"), ("a", "d"), ("d", "c"), ("d", "e"), ("e", "f")})
    assert layered.ways["d", "c"] == ["d", "c"]
    far = layers({("a", "b"), ("b", "c"), ("c", "d"), ("a", "e"), ("e", "d")})
    (bend,) = [n for n in far.ways["e", "d"] if n not in "ed"]
    assert bend in far.columns[2]
