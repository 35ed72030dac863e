"""Messages of docs/troubleshooting.md: below each YAML snippet stands the error that it causes."""

import re
import tempfile
from contextlib import chdir
from pathlib import Path

from collateral.config.errors import ConfigError
from collateral.config.load import load
from collateral.config.yaml import parse
from collateral.plan.grid import build_grid
from collateral.plan.preflight import check_plan

PRODUCED = re.compile(r"```yaml\n(.*?)```\n\n```text\n(.*?)```", re.S)
# A valid benchmark; snippets of the docs replace some of its keys.
FRAME = {
    "data": {"name": "digits"},
    "model": "resnet8",
    "seeds": [0],
    "classes": ["digit_3"],
    "fractions": [0.5],
    "methods": {"ft": {}},
}


def fill_messages(page: Path) -> str:
    """Return the page with the error message of every snippet."""
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as empty, chdir(empty):
        return PRODUCED.sub(
            lambda match: f"```yaml\n{match[1]}```\n\n```text\n{error_message(match[1])}```", text
        )


def error_message(snippet: str) -> str:
    """Return the error of a config with these keys in the benchmark `mine`, or outside it."""
    try:
        given = parse(snippet)
        inside = {key: value for key, value in given.items() if key != "plugins"}
        outside = {key: given[key] for key in given if key not in inside}
        config = load({**outside, "benchmarks": {"mine": {**FRAME, **inside}}})
        check_plan(build_grid(config), runs_here=False)
    except ConfigError as error:
        return f"{error}\n"
    raise AssertionError(f"this snippet is a valid config:\n{snippet}")
