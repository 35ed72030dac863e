"""Print BibTeX entries for what a config uses: its data, models and methods.

The first two entries are Collateral and the paper that it implements. A comment above each entry
says what it is cited for; what has no publication is listed at the end.
"""

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

from collateral.config.load import read
from collateral.config.schema import BenchmarkConfig
from collateral.contract.terminal import hang
from collateral.plugins.find import CONTROL, DATA, METHOD, MODEL, Kind, params_class

ENTRIES = "citation.bib"  # file in the folder of a method, and in that of the package
KEY = re.compile(r"@\w+\s*\{\s*([^\s{},]+)\s*,")  # beginning of an entry, with its key
OWN = Path(__file__).parents[1] / ENTRIES


class Use(NamedTuple):
    """Something that a config uses, and where its entries are."""

    what: str  # such as "method ltd"
    file: Path  # the file need not exist
    keys: Collection[str] | None = None  # keys of the entries to print; None for all in the file


def cite(config: Annotated[Path, "a config, such as config.yaml"]) -> None:
    """Print every entry once, with comments that say what it is cited for."""
    cited: dict[str, list[str]] = {}  # by entry: what it is cited for
    uncited = []
    benchmarks = read(config, "config").benchmarks.values()
    uses = [
        Use("Collateral and its paper", OWN),
        *(use for one in benchmarks for use in find_uses(one)),
    ]
    for use in dict.fromkeys(uses):
        entries = find_entries(use)
        for entry in entries:
            cited.setdefault(entry, []).append(use.what)
        if not entries:
            uncited.append(use.what)
    for entry, users in cited.items():
        print(f"{_comment(', '.join(users))}\n{entry}\n")
    if uncited:
        print(_comment(f"No publication is known of: {', '.join(uncited)}"))


def find_uses(benchmark: BenchmarkConfig) -> Iterator[Use]:
    """Yield the data set, the models, the methods and the controls of a benchmark."""
    data = str(benchmark.data["name"])
    cited = getattr(DATA.load(data), "cited", None)
    keys = tuple(cited(benchmark.data_options)) if cited else None
    yield Use(f"data set {data}", entries_file(DATA, data), keys)
    yield Use(f"model {benchmark.model}", entries_file(MODEL, benchmark.model))
    for key, params in benchmark.methods.items():
        name = str(params.get("uses", key))
        yield Use(f"method {name}", entries_file(METHOD, name))
        if teacher := params_class(name).model_fields.get("teacher"):
            given = params.get("teacher", teacher.default)
            for model in given if isinstance(given, list) else [given]:
                if MODEL.has(model):
                    yield Use(f"model {model}", entries_file(MODEL, model))
    for sweep in benchmark.sweeps.values():
        for model in filter(MODEL.has, sweep.vary.get("teacher", ())):
            yield Use(f"model {model}", entries_file(MODEL, model))
    for name in benchmark.controls:
        yield Use(f"control {name}", entries_file(CONTROL, name))


def entries_file(kind: Kind, name: str) -> Path:
    """Return the file of a plug-in's entries: in its folder, or beside its file."""
    file = kind.file(name)
    return file.with_name(ENTRIES) if "/" in kind.pattern else file.with_suffix(".bib")


def find_entries(use: Use) -> list[str]:
    """Return the BibTeX entries of something that a config uses."""
    if not use.file.is_file():
        return []
    entries = read_entries(use.file)
    return [text for key, text in entries.items() if use.keys is None or key in use.keys]


def read_entries(file: Path) -> dict[str, str]:
    """Return the entries of a BibTeX file by key; text between entries is a comment."""
    text, found = file.read_text(encoding="utf-8"), dict[str, str]()
    start = text.find("@")
    while start >= 0:
        end = _find_end(text, start)
        match = KEY.match(text[start:end])
        if end < 0 or not match:
            line = text.count("\n", 0, start) + 1
            raise ValueError(f"{file}: line {line}: no BibTeX entry: @type{{key, ...}} is expected")
        found[match[1]] = text[start:end]
        start = text.find("@", end)
    return found


def _find_end(text: str, start: int) -> int:
    """Return the position after the brace that closes the entry at `start`; -1 if none does."""
    depth = 0
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0 and text[place] == "}":
            return place + 1
    return -1


def _comment(text: str) -> str:
    return hang("% ", text).replace("\n  ", "\n% ")
