"""Print BibTeX entries for what a config or a benchmark uses: its data, models and methods.

The first two entries are Collateral and the paper that it implements. A comment above each entry
says what it is cited for; what has no publication is listed at the end.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from collateral.config.load import read
from collateral.config.schema import BenchmarkConfig
from collateral.contract.terminal import hang
from collateral.plugins.find import CONTROL, DATA, METHOD, MODEL, Kind, params_class
from collateral.results import layout
from collateral.results.address import RESULTS
from collateral.results.provenance import read_record

ENTRIES = "citation.bib"  # file in the folder of a method, and in that of the package
KEY = re.compile(r"@\w+\s*\{\s*([^\s{},]+)\s*,")  # beginning of an entry, with its key
OWN = Path(__file__).parents[1] / ENTRIES


class Use(NamedTuple):
    """Something that a config uses, and where its entries are."""

    what: str  # such as "method ltd"
    file: Path  # the file need not exist
    keys: Collection[str] | None = None  # keys of the entries to print; None for all in the file


OWN_USE = Use("Collateral and its paper", OWN)


def cite(
    config: Annotated[
        Path, "a config, such as config.yaml; or a benchmark with results, such as digits"
    ],
    *,
    format: Annotated[Literal["bibtex", "json"], "format of what is printed"] = "bibtex",
) -> None:
    """Print every entry once, and say what it is cited for."""
    cited, uncited = collect_entries(_list_uses(config))
    if format == "json":
        entries = [{"entry": entry, "cited for": users} for entry, users in cited.items()]
        print(json.dumps({"entries": entries, "without publication": uncited}, indent=2))
    else:
        print(format_entries(cited, uncited))


def _list_uses(config: Path) -> Iterator[Use]:
    """Yield what is cited for a config, or for the results of a benchmark."""
    yield OWN_USE
    folder = config if config.is_dir() else RESULTS / config
    if (folder / layout.DATA_RECORD).is_file() and not config.is_file():
        yield from find_recorded_uses(folder)
        return
    for benchmark in read(config, "config").benchmarks.values():
        yield from find_uses(benchmark)


def collect_entries(uses: Iterable[Use]) -> tuple[dict[str, list[str]], list[str]]:
    """Return what each entry is cited for, and what has no entry."""
    cited: dict[str, list[str]] = {}
    uncited = []
    for use in dict.fromkeys(uses):
        entries = find_entries(use)
        for entry in entries:
            cited.setdefault(entry, []).append(use.what)
        if not entries:
            uncited.append(use.what)
    return cited, uncited


def format_entries(cited: Mapping[str, Sequence[str]], uncited: Sequence[str]) -> str:
    """Return the entries as BibTeX, with comments that say what each is cited for."""
    parts = [f"{_comment(', '.join(users))}\n{entry}\n" for entry, users in cited.items()]
    if uncited:
        parts.append(_comment(f"No publication is known of: {', '.join(uncited)}"))
    return "\n".join(parts)


def find_uses(benchmark: BenchmarkConfig) -> Iterator[Use]:
    """Yield the data set, the models, the methods and the controls of a benchmark."""
    yield _data_use(str(benchmark.data["name"]), benchmark.data_options)
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


def find_recorded_uses(folder: Path) -> Iterator[Use]:
    """Yield what the records of a benchmark name: data set, models, methods and controls."""
    data = read_record(folder / layout.DATA_RECORD, folder)
    yield _data_use(data["name"], data["options"])
    for path in sorted(folder.rglob(layout.RECORD)):
        record = read_record(path, folder)
        params = record.get("params") or {}
        for model in (record.get("model"), params.get("teacher")):
            if MODEL.has(model):
                yield Use(f"model {model}", entries_file(MODEL, str(model)))
        for kind in (METHOD, CONTROL):
            if kind.has(name := record.get("method")):
                yield Use(f"{kind.what} {name}", entries_file(kind, str(name)))


def _data_use(name: str, options: Mapping[str, Any]) -> Use:
    cited = getattr(DATA.load(name), "cited", None)
    keys = tuple(cited(options)) if cited else None
    return Use(f"data set {name}", entries_file(DATA, name), keys)


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
