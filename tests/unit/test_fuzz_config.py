"""Whatever stands in a config, it is refused in lines that name a key, or every job is planned."""

import copy
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collateral.config.errors import ConfigError, format_key
from collateral.config.load import load
from collateral.config.yaml import parse
from collateral.jobs import list_jobs, read_job
from collateral.plan.estimate import data_mb, memory_mb, minutes
from collateral.plan.grid import Benchmark, build_grid
from collateral.plan.preflight import check_plan
from collateral.plan.report_plan import plan_hash
from collateral.plugins.find import DATA, FORGET, METHOD, MODEL

# Every key of the schema stands in one of them.
VALID = [
    """
benchmarks:
  a:
    data: {name: digits, classes: [digit_3, digit_5, 8], per_class: 60, test_per_class: 30}
    model: resnet8
    base: &base {epochs: 8, batch_size: 32, lr: 0.1, sharing: shared, schedule: cosine}
    seeds: [0, 1]
    classes: [digit_3]
    fractions: [0.5, 0.9]
    order: random
    methods:
      ft: {epochs: 2, batch_size: 32, lr: [0.01, 0.05]}
      ltd: {k: 60, teacher_lr: 0.05, teacher: mlp, epochs: 2, lr: [3e-4, 1e-3], beta: 2, top: all}
      near: {uses: ltd, support_by: example, k_each: 5}
      rl:
    controls: [original, ideal]
    sweeps:
      beta: {method: ltd, vary: {beta: [1, 2]}, cells: [digit_3-50]}
      rate: {method: ft, vary: {optimizer: [sgd, adamw]}, along: {lr: [0.05, 1.0e-3]}}
    track: [ltd]
    attacks: [confidence, entropy]
    support_size: {k: [20, 60], method: ltd, cells: [digit_3-90]}
    probe: {relearn: {steps: 3, lr: 0.1}, residual: {count: 5}, zrf: {}}
    shadows: {count: 12, share: 0.75}
""",
    """
benchmarks:
  b:
    data: {name: synthetic, families: 3, size: 8, channels: 1, noise: 0.5, seed: 3}
    model: mlp
    base: {epochs: 2, checkpoint: best_validation, validation_share: 0.2, augment: false}
    seeds: [7]
    cells:
      part:
        forget: {kind: class_part, class: 0, fraction: 0.5, split_seed: 3}
        methods: {neighbor: {k: 5}}
      two: {forget: {kind: classes_part, classes: {family_0_class_0: 0.5, 3: 0.2}, order: first}}
      some: {forget: {kind: random_part, fraction: 0.1}}
    methods: {neighbor: {k: 10, within: support}, iu: {alpha: [1, 5], samples: 50}, amun: {}}
  c:
    data: {name: arrays, path: mine.npz, test_path: other.npz, flip: true, padding: 2}
    model: vit_tiny
    seeds: [0, 1, 2]
    classes: [cat, 3]
    fractions: [1]
    methods: {ga: {steps: 12}, salun: {ratio: 0.3}}
plugins: []
""",
]


@pytest.fixture(autouse=True)
def _own_arrays(tmp_path, monkeypatch):
    """Let the files of the last benchmark be there."""
    monkeypatch.chdir(tmp_path)
    arrays = {"images": np.zeros((40, 8, 8), np.uint8), "labels": np.arange(40) % 4}
    np.savez("mine.npz", class_names=["ant", "bee", "cat", "dog"], **arrays)
    np.savez("other.npz", **arrays)


NUMBERS = [0, -1, 1, 0.5, -0.0, 1e308, -1e308, 1e-308, 10**9, 10**12, 10**29, 10**400, 2**63]
WORDS = [
    "", " ", "a", "é", "名", "\n", "a\nb", "\x00", "\ud800", "😀", "a" * 300, "../..", "/", "~",
    "~nobody-here/x", "*", "{seed}", "$(id)", "; ls", "'", '"', "%s", "nan", "1e5", "auto", "all",
    "retrain", "original", "digit_3", "ft", "ltd", "mlp", "class_part", "x.npz", "x.txt", "true",
]  # fmt: skip
ODD = [None, True, False, float("nan"), float("inf"), [], {}, [[]], [None], {1: 2}, {None: None}]
ODD += [[1] * 3, ["a", "a"], {"name": "mnist"}, {"kind": "random_part"}, {"a": {"a": {"a": []}}}]
NAMES = [
    *METHOD.names(), *MODEL.names(), *DATA.names(), *FORGET.names(), "digit_3", "digit_5", "first",
    "random", "digit_3-50", "part", "adam", "closest", "cluster", "exact", "approximate", "auto",
    "all", "1e-3", "7", "matched", "constant", "best_test", "mlp_frozen", "per_cluster", "wrong",
]  # fmt: skip
values = st.one_of(
    st.sampled_from([*NUMBERS, *WORDS, *ODD]),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.lists(st.sampled_from([*NUMBERS, *WORDS]), max_size=4),
)
keys = st.one_of(st.sampled_from([*WORDS, 1, True, None, 0.5]), st.text(max_size=8))


OTHER_CHANGES = ["leave out", "put in", "wrap", "copy"]


def nudged(value: Any) -> st.SearchStrategy:
    """Return values of the same type, which may well be right."""
    if isinstance(value, bool):
        return st.booleans()
    if isinstance(value, int | float):
        return st.sampled_from([2, 3, 5, 1e-3, 0.25, 1, 100, 1e5, str(value), value * 2, value + 1])
    if isinstance(value, str):
        return st.sampled_from(NAMES)
    return st.just(value)


@st.composite
def configs(draw: st.DrawFn) -> dict:
    """Return a valid config with some things changed, left out, or put in."""
    raw = copy.deepcopy(yaml.safe_load(draw(st.sampled_from(VALID))))
    for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3]))):
        if places := [*_places(raw)]:
            _change(draw, *draw(st.sampled_from(places)), places)
    return raw


def _change(draw: st.DrawFn, holder: Any, key: Any, places: list[tuple[Any, Any]]) -> None:
    """Change what stands in a place."""
    match draw(st.sampled_from(["nudge"] * 5 + ["change"] * 2 + OTHER_CHANGES)):
        case "nudge":
            holder[key] = draw(nudged(holder[key]))
        case "change":
            holder[key] = draw(values)
        case "leave out":
            del holder[key]
        case "put in" if isinstance(holder, list):
            holder.insert(key, draw(values))
        case "put in":
            holder[draw(keys)] = draw(values)
        case "wrap":
            holder[key] = [holder[key]]
        case "copy":
            other, place = draw(st.sampled_from(places))
            holder[key] = copy.deepcopy(other[place])


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container below a value, and a key or index of it."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield value, key
        if isinstance(inner, dict | list) and inner:
            yield from _places(inner)


# Pieces of YAML, to be put anywhere into a text.
PIECES = [
    "&a ", "*a", "*base", "&base ", "<<: *base", "<<: 3", "!!python/object:os.system ", "!!int ",
    "!!set ", "!mine ", "!!bool ", "!!binary ", "- ", ": ", "? ", "{", "}", "[", "]", ",", "|\n",
    ">\n", "\t", "\n", "\n\n", "---\n", "...\n", "%YAML 9.9\n", "#", "'", '"', "\x07",
    "=", "2001-01-01", "2001-99-99", "0xff", "0b1", "1:30", ".nan", "-.inf",
    "~", "yes", "[" * 60, "benchmarks: {}\n", "seeds: [1]\n", "name: x", "\ufeff",
    "__use_yte__: true\n", "{k: 1, k: 2}", "? [1]\n: 2\n",
]  # fmt: skip

# And what may stand before a value, or in its place.
PREFIXES = ["&b ", "!!str ", "!!float ", "  ", "# a remark\n      "]
VALUES = ["3", "0.5", "mlp", "'ft'", "[2, 3]", "&c 1e-3", "1_000", "{}", "null"]


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Return the text of a valid config with pieces put in, and parts taken out."""
    text = draw(st.sampled_from(VALID))
    for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3]))):
        spans = [match.span() for match in re.finditer(r"(?<=[:,{\[] )[\w.-]+|(?<=\n) *", text)]
        start, end = draw(st.sampled_from(spans))
        match draw(st.sampled_from(["before", "instead", "anything", "anywhere"])):
            case "before":
                piece, end = draw(st.sampled_from(PREFIXES)), start
            case "instead":
                piece = draw(st.sampled_from(VALUES))
            case "anything":
                piece, end = draw(st.sampled_from(PIECES)), draw(st.sampled_from([start, end]))
            case "anywhere":
                piece, start = draw(st.sampled_from(PIECES)), draw(st.integers(0, len(text)))
                end = start
        text = text[:start] + piece + text[end:]
    return text


def planned(config: Any) -> int:
    """Ask of every job of a config what the rules ask; return how many there are."""
    grid = build_grid(config)
    check_plan(grid)
    return sum(len([*_asked(benchmark)]) for benchmark in grid.values())


def _asked(benchmark: Benchmark) -> Iterator[Any]:
    yield plan_hash(benchmark), benchmark.labels(), data_mb(benchmark, 3)
    for job in list_jobs(benchmark):
        assert read_job(job.text) == job.job
        yield job.inputs, job.code, job.beside, getattr(job, "own", None)
        yield minutes(job, 1), job.rule, job.files, job.own_file
        yield [memory_mb(job, 3, has_gpu=has_gpu) for has_gpu in (True, False)]


def outcome(raw: Any) -> str:
    """Return what comes of a config: refused in lines that each name a key, or planned."""
    try:
        assert planned(load(raw)) > 5
    except ConfigError as error:
        written = map(str, raw) if isinstance(raw, dict) else ()
        tops = tuple(format_key([key]) for key in ("config", "benchmarks", "plugins", *written))
        for line in lines_of(error):
            assert line.startswith(tops) and ": " in line, line
        return "refused"
    return "planned"


def lines_of(error: ConfigError) -> list[str]:
    """Return the lines of an error, which a person can read."""
    lines = str(error).split("\n")
    assert all(line.isprintable() and len(line) < 1000 for line in lines), lines
    return lines


def outcome_of_text(text: str) -> str:
    """Return what comes of a text; what is no YAML is refused by its line."""
    try:
        raw = parse(text)
    except ConfigError as error:
        assert lines_of(error)
        return "unreadable"
    return outcome(raw or {})


def tally(strategy: st.SearchStrategy, look: Any, examples: int) -> Counter:
    """Look at so many examples, the same every time; return how often which came of them."""
    found: Counter = Counter()

    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=[*HealthCheck],
    )
    @given(strategy)
    def try_one(example: Any) -> None:
        found[look(example)] += 1

    try_one()
    return found


def test_the_configs_that_are_changed_are_valid():
    assert [outcome_of_text(text) for text in VALID] == ["planned", "planned"]


def test_any_config_is_refused_by_key_or_planned():
    found = tally(configs(), outcome, 600)
    assert found["refused"] > 200
    assert found["planned"] > 100


def test_any_text_is_refused_by_line_or_by_key_or_planned():
    found = tally(texts(), outcome_of_text, 400)
    assert found["unreadable"] > 100
    assert found["refused"] > 40
    assert found["planned"] > 20
