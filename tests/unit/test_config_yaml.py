"""A config file is read strictly: what YAML lets pass, or fails at, is named with its line."""

from pathlib import Path

import pytest
import yaml

from collateral.config.errors import ConfigError
from collateral.config.load import read
from collateral.config.yaml import MOST_VALUES, parse, read_file

ROOT = Path(__file__).parents[2]
SHIPPED = sorted([ROOT / "config.yaml", *ROOT.glob("configs/*.yaml")])


def complaint(text) -> str:
    """Return the one line that is said against a text."""
    with pytest.raises(ConfigError) as error:
        parse(text)
    (line,) = str(error.value).splitlines()
    return line


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_what_is_right_is_read_as_by_yaml_itself(path):
    assert read_file(path) == yaml.safe_load(path.read_text())


def test_the_shipped_configs_are_there():
    assert len(SHIPPED) > 5


def test_the_deep_field_is_the_field_and_what_needs_its_models_again():
    """By the same name, so that what configs/field.yaml has computed is taken."""
    [field, deep] = [
        read_file(ROOT / f"configs/{name}.yaml")["benchmarks"]["field"]
        for name in ("field", "field-deep")
    ]
    assert {key: deep[key] for key in field} == field
    assert {"probe"} <= deep.keys() - field.keys() <= {"probe", "shadows"}


@pytest.mark.parametrize("text", ["", "# nothing", "---"])
def test_an_empty_text_is_nothing(text):
    assert parse(text) is None


def test_json_is_read_too_with_the_tabs_that_yaml_refuses():
    text = '{\n\t"a": [1e3, true],\n\t"b": "\\ud83d\\ude00"}'
    assert parse(text) == {"a": [1000.0, True], "b": "😀"}


# A key twice.


def test_a_key_twice_in_one_mapping_is_named_with_both_lines():
    text = "benchmarks:\n  a:\n    model: mlp\n    seeds: [1]\n    model: resnet8\n"
    assert complaint(text) == "line 5: benchmarks.a.model: stands there twice; first on line 3"


def test_a_key_twice_is_named_in_a_list_and_in_one_line():
    assert (
        complaint("a: [{b: 1}, {c: 1, c: 2}]")
        == "line 1: a[1].c: stands there twice; first on line 1"
    )


@pytest.mark.parametrize("text", ["{1: a, 0x1: b}", "{a: 1, 'a': 2}", "{true: 1, TRUE: 2}"])
def test_a_key_in_two_spellings_is_one_key(text):
    assert complaint(text).endswith("stands there twice; first on line 1")


def test_every_key_that_stands_there_twice_is_named():
    with pytest.raises(ConfigError) as error:
        parse("a: 1\nb: {c: 1, c: 2}\na: 3\n")
    assert [line.split(":")[0] for line in str(error.value).splitlines()] == ["line 2", "line 3"]


def test_json_with_a_key_twice_is_refused():
    text = '{"seeds": [1],\n\t"seeds": [2]}'
    assert complaint(text) == "line 2: seeds: stands there twice; first on line 1"


def test_a_value_may_replace_one_that_is_merged_in():
    assert parse("a: &a {b: 1, c: 2}\nd: {<<: *a, b: 3}") == {
        "a": {"b": 1, "c": 2},
        "d": {"b": 3, "c": 2},
    }


# Anchors and aliases.


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a: &x [*x]", "a[0]"),
        ("a: &x {b: {c: [1, *x]}}", "a.b.c[1]"),
        ("a: &x {b: {<<: *x}}", "a.b.<<"),
    ],
)
def test_an_alias_of_what_it_stands_in_is_named(text, place):
    assert complaint(text) == f"line 1: {place}: is an alias of what it stands in"


def test_an_anchor_may_be_used_twice():
    assert parse("a: &x [1]\nb: [*x, *x]") == {"a": [1], "b": [[1], [1]]}


def test_an_anchor_that_is_not_there_is_named():
    assert complaint("a: 1\nb: *x") == "line 2: found undefined alias 'x'"


def test_aliases_of_aliases_that_would_fill_the_memory_are_refused():
    tens = [f"{b}: &{b} [{', '.join(10 * ['*' + a])}]" for a, b in ("ab", "bc", "cd", "de", "ef")]
    text = "\n".join(["a: &a [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]", *tens])
    assert complaint(text) == f"its aliases make more than {MOST_VALUES} values of it"
    merged = text.replace("[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]", "{k: 1}").replace("[*", "{<<: [*")
    assert complaint(merged.replace("]", "]}")).endswith("values of it")


# Tags, and values that read as something else.


@pytest.mark.parametrize(
    ("tagged", "tag"),
    [
        ("!!python/object/apply:os.system [ls]", "!!python/object/apply:os.system"),
        ("!!python/name:os.system x", "!!python/name:os.system"),
        ("!!python/tuple [1]", "!!python/tuple"),
        ("!!binary aGk=", "!!binary"),
        ("!!set {a, b}", "!!set"),
        ("!mine {a: 1}", "!mine"),
    ],
)
def test_a_tag_is_named_with_its_line(tagged, tag):
    assert complaint(f"a: 1\nseeds: {tagged}") == (
        f"line 2: seeds: the tag '{tag}' is not allowed; values are text, numbers, lists and "
        "mappings"
    )


def test_tags_of_plain_values_are_allowed():
    assert parse("{a: !!str 3, b: !!int '3', c: !!float 3}") == {"a": "3", "b": 3, "c": 3.0}


@pytest.mark.parametrize(
    "text", ["!!int three", "!!bool maybe", "9" * 5000, f"0x{'f' * 5000}", '"\\ud800"']
)
def test_a_value_that_its_tag_cannot_read_is_named(text):
    assert complaint(f"a: [1, {text}]").startswith("line 1: a[1]: '")


# YAML 1.2, where Snakemake's reader knows 1.1.


TEXTS = "2001-01-01 = 1:30 08:30:00 1_000 0b11 1e 0x 0o8 007-b 1.2.3 010a y N yes No on OFF"
VALUES = {
    **{"1e-3": 0.001, "1E5": 1e5, ".5": 0.5, "1.": 1.0, "-3": -3, "+3": 3, "0": 0, "0o17": 15},
    **{"0xfF": 255, "true": True, "False": False, "~": None, "null": None},
}


@pytest.mark.parametrize("text", TEXTS.split())
def test_what_is_no_number_in_yaml_1_2_is_text(text):
    assert parse(f"a: {text}") == {"a": text}
    assert parse(f"%YAML 1.1\n---\na: {text}") == {"a": text}  # whatever it calls itself


@pytest.mark.parametrize(("text", "value"), VALUES.items())
def test_what_is_a_number_in_yaml_1_2_is_read_as_one(text, value):
    assert parse(f"a: [{text}]") == {"a": [value]}
    assert type(parse(f"a: {text}")["a"]) is type(value)


@pytest.mark.parametrize("text", ["010", "017", "08", "-010", "+01", "00", "00.5", "01e3"])
def test_a_number_with_a_leading_zero_wants_quotes(text):
    said = f"{text}: a number with a leading zero; put it in quotes"
    assert complaint(f"a: 1\nis: [5, {text}]") == f"line 2: is[1]: {said}"
    assert complaint(f"classes: {{{text}: 1}}") == f"line 1: classes.{text}: {said}"
    assert parse(f"is: ['{text}', \"{text}\"]") == {"is": [text, text]}


@pytest.mark.parametrize("text", ["{[1]: 2}", "? {a: 1}\n: 2"])
def test_a_key_is_no_list_and_no_mapping(text):
    assert complaint(text) == "line 1: config: a key is a list or a mapping; it should be text"


# What is no YAML.


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\n\tb: 2", 2),
        ("a: [1\nb: 2", 2),
        ("a: b: c", 1),
        ("a: 1\n---\nb: 2", 2),
        ("{<<: 3}", 1),
        ("a: &x 1\nb: 2\nc: &x 3", 3),
    ],
)
def test_what_cannot_be_read_is_named_by_its_line(text, line):
    assert complaint(text).startswith(f"line {line}: ")


@pytest.mark.parametrize("text", ["[" * 60 + "]" * 60, "[" * 5000, "{a: " * 3000, "- " * 3000])
def test_what_is_nested_too_deeply_is_refused(text):
    assert "more than 50 deep" in complaint(text)


def test_what_is_no_text_is_refused(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_bytes(b"a: \xff")
    with pytest.raises(ConfigError, match=r"config.yaml: byte 3 is no UTF-8$"):
        read_file(path)
    assert "special characters are not allowed" in complaint("a: \x07")


# Files.


def test_every_line_that_is_said_of_a_file_names_it(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("a: 1\nb: 1\na: 2\nb: 2\n")
    for look in (read, read_file):
        with pytest.raises(ConfigError) as error:
            look(path)
        assert str(error.value).splitlines() == [
            f"{path}: line 3: a: stands there twice; first on line 1",
            f"{path}: line 4: b: stands there twice; first on line 2",
        ]
