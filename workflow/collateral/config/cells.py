"""The cells of a benchmark: a dict from name to forget set."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from collateral.config.errors import Place
from collateral.config.names import slug
from collateral.config.schema import BenchmarkConfig
from collateral.data._metadata import find_class_names
from collateral.plugins.find import DATA, FORGET


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

    @property
    def entry(self) -> str:
        """Key under `cells:`; empty for a cell from `classes` and `fractions`."""
        return str(self.place[1]) if self.place else ""

    @property
    def needs(self) -> str:
        """Models that are needed to choose the forget set: "base" or "shadows"; empty if none."""
        return str(getattr(FORGET.load(self.kind), "NEEDS", ""))


def list_cells(benchmark: BenchmarkConfig) -> dict[str, ForgetSpec]:
    """Return all cells: one per class and fraction, one per entry of `cells:`, one per round."""
    cells = class_cells(benchmark)
    for name, cell in benchmark.cells.items():
        if not cell.rounds:
            cells[name] = _forget_spec(cell.forget, ("cells", name, "forget"))
    for name in streams(benchmark):
        cells |= _list_rounds(benchmark, name, cells)
    return cells


def streams(benchmark: BenchmarkConfig) -> list[str]:
    """Return the entries of `cells:` that are a sequence of requests."""
    return [name for name, cell in benchmark.cells.items() if cell.rounds]


def round_names(benchmark: BenchmarkConfig, stream: str) -> list[str]:
    """Return the names of the cells of all rounds, such as `stream-01`; the 0 keeps them sorted."""
    return [f"{stream}-{index + 1:02d}" for index in range(len(benchmark.cells[stream].rounds))]


def _list_rounds(
    benchmark: BenchmarkConfig, stream: str, others: Mapping[str, ForgetSpec]
) -> dict[str, ForgetSpec]:
    """Return a dict from name to cell of each round; round 1 may be an existing, equal cell."""
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
    """Tell whether cell `one` has no earlier round, and `other`'s forget set and parameters."""
    if one.earlier or one.kind != other.kind or not FORGET.has(one.kind):
        return False
    params = FORGET.load(one.kind).Params
    try:
        is_same = params.model_validate(one.params) == params.model_validate(other.params)
    except ValueError:
        return False  # invalid parameters of a forget set are reported by another check
    return bool(is_same and cell_methods(benchmark, one) == cell_methods(benchmark, other))


def cell_methods(benchmark: BenchmarkConfig, forget: ForgetSpec) -> dict[str, dict[str, Any]]:
    """Return the parameters that the cell's entry under `cells:` sets for methods, by method."""
    return benchmark.cells[forget.entry].methods if forget.entry else {}


def _forget_spec(forget: Mapping[str, Any], place: Place) -> ForgetSpec:
    params = {key: _as_json(value) for key, value in forget.items() if key != "kind"}
    return ForgetSpec(str(forget.get("kind")), params, place)


def class_cells(benchmark: BenchmarkConfig) -> dict[str, ForgetSpec]:
    """Return a dict from name to cell: class couch and fraction 0.5 give `couch-50`."""
    cells = {}
    for label in benchmark.classes:
        name = class_name(benchmark, label)
        for fraction in benchmark.fractions:
            params = {"class": name, "fraction": fraction, "order": benchmark.order}
            cell = f"{slug(str(name))}-{format(100 * fraction, 'g')}"
            cells[cell] = ForgetSpec("class_part", params)
    return cells


def class_name(benchmark: BenchmarkConfig, label: str | int) -> str | int:
    """Return the name of a class that is given by index; the index if the name is unknown."""
    if isinstance(label, str):
        return label
    name = str(benchmark.data.get("name"))
    try:
        options = DATA.load(name).Options.model_validate(benchmark.data_options)
        known = find_class_names(name, options)
    except ValueError:
        return label  # invalid options of the data set are reported by another check
    return known[label] if known is not None and 0 <= label < len(known) else label


def _as_json(value: Any) -> Any:
    """Return a mapping with text keys, as JSON requires; keys in YAML may be numbers."""
    return {str(key): item for key, item in value.items()} if isinstance(value, dict) else value
