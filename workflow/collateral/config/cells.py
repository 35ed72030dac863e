"""The cells of a benchmark: its forget sets, by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from collateral.config.names import slug
from collateral.config.schema import BenchmarkConfig
from collateral.data._metadata import find_class_names
from collateral.plugins.find import DATA, FORGET


@dataclass(frozen=True)
class ForgetSpec:
    """A kind of forget set and its parameters, as they are passed to the split job."""

    kind: str
    params: Mapping[str, Any]

    @property
    def needs(self) -> str:
        """Models by which examples are chosen: "base", "shadows", or empty."""
        return str(getattr(FORGET.load(self.kind), "NEEDS", ""))


def list_cells(benchmark: BenchmarkConfig) -> dict[str, ForgetSpec]:
    """Return all cells: classes x fractions, then the entries of `cells:`."""
    cells = class_cells(benchmark)
    for name, cell in benchmark.cells.items():
        params = {key: _as_json(value) for key, value in cell.forget.items() if key != "kind"}
        cells[name] = ForgetSpec(str(cell.forget.get("kind")), params)
    return cells


def class_cells(benchmark: BenchmarkConfig) -> dict[str, ForgetSpec]:
    """Return the cells of classes x fractions; couch and 0.5 give the name `couch-50`."""
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
        return label  # the check of `data:` reports this error
    return known[label] if known is not None and 0 <= label < len(known) else label


def _as_json(value: Any) -> Any:
    """Return a mapping with text keys, as JSON requires; keys in YAML may be numbers."""
    return {str(key): item for key, item in value.items()} if isinstance(value, dict) else value
