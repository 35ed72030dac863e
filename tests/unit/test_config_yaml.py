"""A config file is read strictly: what YAML lets pass, or fails at, is named with its line."""

import json
from pathlib import Path

import pytest
import yaml

from collateral.config.errors import ConfigError
from collateral.config.load import read
from collateral.config.yaml import parse, read_file, read_merged

ROOT = Path(__file__).parents[2]
SHIPPED = sorted([ROOT / "config.yaml", *ROOT.glob("configs/*.yaml")])


def complaint(text) -> str:
    """Return the one line that is said against a text."""
    with pytest.raises(ConfigError) as error:
        parse(text)
    (line,) = str(error.value).splitlines()
    return line


def test_a_billion_laughs_are_refused_at_once():
    """Ten anchors of ten are a list of 10^10 texts, which nobody can walk through."""
    lines = ["a0: &a0 [ha, ha, ha, ha, ha, ha, ha, ha, ha, ha]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    assert complaint("\n".join(lines)) == (
        "longer than 10,000,000 characters where every anchor is written out"
    )
    assert parse("\n".join(lines[:4]))["a3"][9][9][9][9] == "ha"


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_valid_yaml_is_read_as_by_pyyaml(path):
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


def test_json_is_read_too_with_tabs():
    text = '{\n\t"a": [1e3, true],\n\t"b": "\\u00e9"}'
    assert parse(text) == {"a": [1000.0, True], "b": "é"}


def test_an_emoji_that_json_writes_as_two_halves_is_one_letter():
    config = {"data": {"path": "photos \N{GRINNING FACE}"}, "\N{OWL}": 1}
    assert parse(json.dumps(config)) == parse(json.dumps(config, ensure_ascii=False)) == config


def test_a_value_may_replace_one_that_is_merged_in():
    assert parse("a: &a {b: 1, c: 2}\nd: {<<: *a, b: 3}") == {
        "a": {"b": 1, "c": 2},
        "d": {"b": 3, "c": 2},
    }


def test_an_anchor_may_be_used_twice():
    assert parse("a: &x [1]\nb: [*x, *x]") == {"a": [1], "b": [[1], [1]]}


def test_tags_of_plain_values_are_allowed():
    assert parse("{a: !!str 3, b: !!int '3', c: !!float 3}") == {"a": "3", "b": 3, "c": 3.0}


# YAML 1.2, where Snakemake's reader knows 1.1.


TEXTS = "2001-01-01 = 1:30 08:30:00 1_000 0b11 1e 0x 0o8 007-b 1.2.3 010a y N yes No on OFF"
VALUES = {
    **{"1e-3": 0.001, "1E5": 1e5, ".5": 0.5, "1.": 1.0, "-3": -3, "+3": 3, "0": 0, "0o17": 15},
    **{"0xfF": 255, "true": True, "False": False, "~": None, "null": None},
}


@pytest.mark.parametrize("text", TEXTS.split())
def test_words_that_are_no_numbers_in_yaml_1_2_are_text(text):
    assert parse(f"a: {text}") == {"a": text}
    assert parse(f"%YAML 1.1\n---\na: {text}") == {"a": text}  # whatever it calls itself


@pytest.mark.parametrize(("text", "value"), VALUES.items())
def test_numbers_of_yaml_1_2_are_read_as_numbers(text, value):
    assert parse(f"a: [{text}]") == {"a": [value]}
    assert type(parse(f"a: {text}")["a"]) is type(value)


@pytest.mark.parametrize("text", ["010", "017", "08", "-010", "+01", "00", "00.5", "01e3"])
def test_a_number_with_a_leading_zero_in_quotes_is_text(text):
    assert parse(f"is: ['{text}', \"{text}\"]") == {"is": [text, text]}


# What is no YAML.


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\n\tb: 2", 2),
        ("a: [1\nb: 2", 2),
        ("a: b: c", 1),
        ("a: 1\n---\nb: 2", 2),
        ("{<<: 3}", 1),
    ],
)
def test_unreadable_yaml_is_named_by_its_line(text, line):
    assert complaint(text).startswith(f"line {line}: ")


def test_files_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_bytes(b"a: \xff")
    with pytest.raises(ConfigError, match=r"config.yaml: .*can't decode byte 0xff in position 3"):
        read_file(path)
    assert "special characters are not allowed" in complaint("a: \x07")


@pytest.mark.parametrize("number", ["9" * 5000, "0x" + "f" * 5000])
def test_a_number_that_python_cannot_write_is_named_by_its_line(number):
    line = complaint(f"a: 1\nb: {number}")
    assert line.startswith(f"line 2: '{number[:9]}") and line.endswith("... does not read as int")


def test_too_deep_nesting_is_reported_in_one_line():
    assert complaint("[" * 5000 + "]" * 5000) == "lists and mappings are nested too deeply"


# Files.


def test_an_error_names_the_file(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("a: 1\nb: 1\na: 2\n")
    for look in (read, read_file):
        with pytest.raises(ConfigError, match="found duplicate key") as error:
            look(path)
        assert str(error.value).startswith(f"{path}: line 3: ")


@pytest.mark.parametrize(
    ("files", "options", "merged"),
    [
        ([], [], {"benchmarks": {"a": {"seeds": [0]}}, "plugins": ["here"]}),
        ([], ["plugins=[there]"], {"benchmarks": {"a": {"seeds": [0]}}, "plugins": ["there"]}),
        (["b"], [], {"benchmarks": {"b": {"seeds": [1, 2]}}}),
        (["b", "c"], [], {"benchmarks": {"b": {"seeds": [3], "model": "mlp"}}}),
        (["c", "b"], ["x=010 "], None),
        (
            ["b"],
            ["benchmarks={b: {model: no}}"],
            {"benchmarks": {"b": {"seeds": [1, 2], "model": "no"}}},
        ),
        ([], ["benchmarks={}"], {"benchmarks": {}}),
    ],
)
def test_configs_and_keys_are_merged_as_snakemake_merges_them(tmp_path, files, options, merged):
    default = tmp_path / "default.yaml"
    default.write_text("benchmarks: {a: {seeds: [0]}}\nplugins: [here]")
    (tmp_path / "b").write_text("benchmarks: {b: {seeds: [1, 2]}}")
    (tmp_path / "c").write_text("benchmarks: {b: {seeds: [3], model: mlp}}")
    paths = [tmp_path / name for name in files]
    if merged is None:
        with pytest.raises(ConfigError, match="--config: "):
            read_merged(paths, options, default)
    else:
        assert read_merged(paths, options, default) == merged
