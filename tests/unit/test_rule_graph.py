"""docs/images/workflow.svg: every rule once, no boxes that overlap, edges without detours."""

import xml.etree.ElementTree as ET

from generators.rule_graph import layers, order, reduced, rules
from markdown_reading import ROOT

PICTURE = ROOT / "docs/images/workflow.svg"


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
