"""The cells of a benchmark, as a dict from name to forget set; and names that fit in a path."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from collateral.config.errors import Place
from collateral.config.schema import CLASS, BenchmarkConfig
from collateral.data._metadata import find_class_names, find_size
from collateral.plugins.find import DATA, FORGET

LONGEST = 100  # maximum length of a name


def is_slug(name: str) -> bool:
    """Tell whether `name` can be used in a path and on a command line without changes."""
    return re.fullmatch(rf"[a-z0-9_][a-z0-9_.-]{{0,{LONGEST - 1}}}", name) is not None


def slug(name: str) -> str:
    """Convert any name to one that can be used in a path."""
    return re.sub(r"[^a-z0-9_.-]+", "-", name.lower()).strip("-.") or "x"


def format_value(value: Any) -> str:
    """Format a parameter value for the name of a sweep's run."""
    return format(value, "g") if isinstance(value, float) else str(value).lower()


def format_varied(values: Mapping[str, Any]) -> list[str]:
    """Return the parameter values in the name of a sweep's run, such as `support=random`."""
    return [f"{key}={format_value(value)}" for key, value in values.items()]


@dataclass(frozen=True)
class ForgetSpec:
    """A kind of forget set and its parameters, as they are passed to the split job."""

    kind: str
    params: Mapping[str, Any]
    # Config keys that lead to the forget set; empty for a cell from `classes` and `fractions`.
    place: Place = ()
    # Names of the cells of earlier rounds; empty if there are no rounds.
    earlier: tuple[str, ...] = ()
    is_last: bool = False  # whether the cell is the last of several rounds
    # Place in the atlas: `each` (class or a column), `part` (percent forgotten) and `emitter` (the
    # class or group that is forgotten); empty for other cells.
    atlas: Mapping[str, str] = field(default_factory=dict)

    @property
    def entry(self) -> str:
        """Key under `cells:`; empty for a cell from `classes` and `fractions`."""
        return str(self.place[1]) if self.place else ""

    @property
    def needs(self) -> str:
        """What the choice depends on besides labels: "base", "shadows" or "images"; or nothing."""
        return str(getattr(FORGET.load(self.kind), "NEEDS", ""))


def list_cells(benchmark: BenchmarkConfig) -> dict[str, ForgetSpec]:
    """Return all cells: one per class and fraction, one per entry of `cells:`, one per round."""
    cells = class_cells(benchmark) | atlas_cells(benchmark)
    for name, cell in benchmark.cells.items():
        if not cell.rounds:
            cells[name] = _forget_spec(cell.forget, ("cells", name, "forget"))
    for name in streams(benchmark):
        cells |= _list_rounds(benchmark, name, cells)
    return cells


def streams(benchmark: BenchmarkConfig) -> list[str]:
    """Return the entries of `cells:` that are a sequence of deletion requests (`rounds:`)."""
    return [name for name, cell in benchmark.cells.items() if cell.rounds]


def round_names(benchmark: BenchmarkConfig, stream: str) -> list[str]:
    """Return the names of the cells of all rounds: `stream-01`, `stream-02` and so on."""
    return [f"{stream}-{index + 1:02d}" for index in range(len(benchmark.cells[stream].rounds))]


def _list_rounds(
    benchmark: BenchmarkConfig, stream: str, others: Mapping[str, ForgetSpec]
) -> dict[str, ForgetSpec]:
    """Return a dict from name to cell, one per round; an existing cell may serve as round 1."""
    names, rounds = round_names(benchmark, stream), benchmark.cells[stream].rounds
    places = [("cells", stream, *place) for place in benchmark.cells[stream].places]
    specs = [_forget_spec(one.forget, at) for one, at in zip(rounds, places, strict=True)]
    same = (name for name, one in others.items() if _is_same(benchmark, one, specs[0]))
    names[0] = next(same, names[0])
    return {names[0]: others.get(names[0], specs[0])} | {
        name: replace(spec, earlier=tuple(names[:index]), is_last=index == len(rounds) - 1)
        for index, (name, spec) in enumerate(zip(names, specs, strict=True))
        if index
    }


def _is_same(benchmark: BenchmarkConfig, one: ForgetSpec, other: ForgetSpec) -> bool:
    """Tell whether a cell equals round 1 of a sequence: same forget set and method parameters."""
    if one.earlier or one.kind != other.kind or not FORGET.has(one.kind):
        return False
    params = FORGET.load(one.kind).Params
    try:
        is_same = params.model_validate(one.params) == params.model_validate(other.params)
    except ValueError:
        return False  # invalid parameters of a forget set are reported by another check
    return bool(is_same and cell_methods(benchmark, one) == cell_methods(benchmark, other))


def cell_methods(benchmark: BenchmarkConfig, forget: ForgetSpec) -> dict[str, dict[str, Any]]:
    """Return a dict from method to the parameters that the cell's entry under `cells:` sets."""
    return benchmark.cells[forget.entry].methods if forget.entry else {}


def _forget_spec(forget: Mapping[str, Any], place: Place) -> ForgetSpec:
    params = {key: value for key, value in forget.items() if key != "kind"}
    return ForgetSpec(str(forget.get("kind")), params, place)


def class_cells(benchmark: BenchmarkConfig) -> dict[str, ForgetSpec]:
    """Return a dict from name to cell, one per class and fraction, such as `couch-50`."""
    cells = {}
    for label in benchmark.classes:
        name = class_name(benchmark, label)
        for fraction in benchmark.fractions:
            params = {"class": name, "fraction": fraction, "order": benchmark.order}
            cell = f"{slug(str(name))}-{format(100 * fraction, 'g')}"
            cells[cell] = ForgetSpec("class_part", params)
    return cells


def atlas_cells(benchmark: BenchmarkConfig) -> dict[str, ForgetSpec]:
    """Return a dict from name to cell of the atlas: one per class and share, or one per group."""
    atlas, cells = benchmark.atlas, {}
    if atlas is None:
        return {}
    for value in list_emitters(benchmark):
        for fraction in atlas.fractions:
            part = format(100 * fraction, "g")
            place = {"each": atlas.each, "part": part, "emitter": str(value)}
            if atlas.each == CLASS:
                params = {"class": value, "fraction": fraction, "order": benchmark.order}
                cells[f"{slug(str(value))}-{part}"] = ForgetSpec("class_part", params, atlas=place)
            else:
                params = {"column": atlas.each, "is": value}
                name = slug(f"{atlas.each}-{value}")
                cells[name] = ForgetSpec("where", params, atlas=place)
    return cells


def list_emitters(benchmark: BenchmarkConfig) -> list[str | int]:
    """Return the classes or groups that the atlas forgets; empty if they cannot be known."""
    atlas = benchmark.atlas
    if atlas is None:
        return []
    if atlas.each == CLASS:
        return [
            class_name(benchmark, label) for label in atlas.only or known_classes(benchmark) or ()
        ]
    return [*atlas.only] or _known_values(benchmark, atlas.each)


def _known_values(benchmark: BenchmarkConfig, column: str) -> list[str | int]:
    """Return the sorted values of a metadata column of train examples; empty if it is unknown."""
    name = str(benchmark.data.get("name"))
    try:
        options = DATA.load(name).Options.model_validate(benchmark.data_options)
        values = find_size(name, options).columns().get(column, [])
    except (ValueError, OSError):
        return []  # an unknown data set, wrong options and missing files are reported elsewhere
    return sorted({str(value) for value in values if str(value).strip()})


def class_name(benchmark: BenchmarkConfig, label: str | int) -> str | int:
    """Return the class name for an index; return a name, or an unknown index, unchanged."""
    known = known_classes(benchmark) if isinstance(label, int) else None
    return known[int(label)] if known is not None and 0 <= int(label) < len(known) else label


def known_classes(benchmark: BenchmarkConfig) -> tuple[str, ...] | None:
    """Return the class names; None if they are unknown until the user's files are read."""
    name = str(benchmark.data.get("name"))
    try:
        options = DATA.load(name).Options.model_validate(benchmark.data_options)
        return find_class_names(name, options)
    except ValueError:
        return None  # an unknown data set and invalid options are reported by another check
