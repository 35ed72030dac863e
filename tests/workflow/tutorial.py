"""What docs/tutorial.md shows of the tests' own runs: where it stands, and how it is held.

Words are exact. Numbers that were measured depend on the machine, as processors add in different
orders: they are masked, or, in the table of results, may be so many points apart.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import REPOSITORY
from markdown_reading import prose

PAGE = REPOSITORY / "docs/tutorial.md"
MARKED = re.compile(r"(?<=<!-- )(\w+: \w+)( -->\n)(.*?)(?=<!-- end -->)", re.S)
NUMBER = re.compile(r"[−+±-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
OTHER_RUN = ("## 7.", "## 8.")  # begin and end of the section of which no test is made
MOST_POINTS = 10.0  # that a number of the table of results may differ by


def shown() -> dict[str, str]:
    """Return what stands on the page between marks, by their names."""
    return {name: text for name, _, text in MARKED.findall(PAGE.read_text())}


def prose_of_walk() -> str:
    """Return the sentences about what the tests ran."""
    before, begin, rest = prose(PAGE).partition(OTHER_RUN[0])
    _, end, after = rest.partition(OTHER_RUN[1])
    assert begin and end
    return MARKED.sub("", before + after)


def hold(
    name: str, made: str, config: pytest.Config, alike: Callable[[str], str] = str
) -> tuple[str, str]:
    """Compare what was made with what the page shows, both as `alike` sees them; or write it."""
    if config.getoption("--fix"):
        write(name, made)
    old = shown().get(name)
    assert old is not None, f"docs/tutorial.md has no <!-- {name} -->"
    if alike(old) != alike(made):
        pytest.fail(
            f"docs/tutorial.md shows another {name}: pytest tests/workflow/test_walk.py --fix\n"
            f"the page:\n{old}\nthis run:\n{made}"
        )
    return old, made


def write(name: str, made: str) -> None:
    """Put what was made onto the page."""

    def put(match: re.Match[str]) -> str:
        return match[1] + match[2] + (made if match[1] == name else match[3])

    PAGE.write_text(MARKED.sub(put, PAGE.read_text()))


def hold_nearly(name: str, made: str, config: pytest.Config) -> None:
    """The same, and no number may be far from the one that is shown."""
    old, new = (numbers(text) for text in hold(name, made, config, masked))
    far = [(a, b) for a, b in zip(old, new, strict=True) if abs(a - b) > MOST_POINTS]
    assert not far, f"docs/tutorial.md, {name}: shown and made now: {far}"


def masked(text: str) -> str:
    """Return a text without its numbers."""
    return re.sub(r"p [<=] #", "p #", NUMBER.sub("#", text))


def numbers(text: str) -> list[float]:
    """Return all numbers of a text."""
    return [
        float(found.replace(",", "").replace("−", "-").replace("±", ""))
        for found in NUMBER.findall(text)
    ]


# Files of results, as the page shows them.


def fenced(text: str, language: str = "text") -> str:
    """Return a block."""
    return f"```{language}\n{text.rstrip()}\n```\n"


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def rows_of(file: Path) -> list[list[str]]:
    """Read the first table of a file, its head too, without marks of chance and of the best."""
    lines = [line for line in file.read_text().split("\n\n")[0].splitlines() if line]
    plain = [re.sub(r"\*\*|†", "", line).strip("| ").split(" | ") for line in lines]
    return [plain[0], *plain[2:]]


def columns(rows: list[list[str]], *names: str) -> list[list[str]]:
    """Return some columns of a table."""
    places = [rows[0].index(name) for name in names]
    return [[row[place] for place in places] for row in rows]


def checks(results: Path, *names: str) -> str:
    """Return the checks of a benchmark with one cell; all, or those of these names."""
    gates = json.loads((results / "gates.json").read_text())["gates"]
    some = [gate for gate in gates if not names or gate["name"] in names]
    return table(["colour", "check", "found"], [[g["colour"], g["name"], g["text"]] for g in some])


STRIP = "<figcaption>Hurt by {}, retained examples</figcaption>(.*?)</ol>"
HURT = r'<span>([^<]* %)</span>\s*<span class="seen">(.*?)</span>\s*<span class="file">(.*?)</span>'
NUM_HURT = 2


def hurt(page: str, *methods: str) -> str:
    """Return the first pictures in the gallery of the page that each method hurt."""
    rows = []
    for method in methods:
        (strip,) = re.findall(STRIP.format(method), page, re.S)
        found = re.findall(HURT, strip, re.S)[:NUM_HURT]
        rows += [[method, f"`{file}`", change, said] for change, said, file in found]
    return table(["hurt by", "picture", "confidence in three: Retrain → unlearned", "now"], rows)
