"""Outcomes of a benchmark's sanity checks (gates.json): a gate with a colour per check and cell."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from collateral.results.files import read_json, report_broken_file, write_json
from collateral.results.provenance import verify

# A check that was not made is grey: it neither passed nor warns.
Colour = Literal["green", "amber", "red", "grey"]


@dataclass(frozen=True)
class Gate:
    """The outcome of one sanity check in one cell."""

    name: str
    cell: str
    colour: Colour
    text: str  # one sentence with the numbers that the check compares

    def __str__(self) -> str:
        """Return the line of text that a run prints for this gate at its end."""
        return f"{self.colour}: {self.cell}: {self.name}: {self.text}"


def write_gates(path: Path, gates: Iterable[Gate]) -> None:
    """Write the gates (outcomes of sanity checks) of a benchmark."""
    write_json(path, {"gates": [asdict(gate) for gate in gates]})


def read_gates(path: Path) -> list[Gate]:
    """Read the gates (outcomes of sanity checks) of a benchmark."""
    with report_broken_file(path, KeyError, TypeError):
        return [Gate(**one) for one in read_json(path)["gates"]]


def describe_red_gates(path: Path) -> list[str]:
    """Return one line of text per red gate, which is a failed sanity check."""
    return [f"{path}: {gate}" for gate in _verified(path) if gate.colour == "red"]


def count_amber_gates(path: Path) -> int:
    """Return the number of amber gates, which are warnings."""
    return sum(gate.colour == "amber" for gate in _verified(path))


def _verified(path: Path) -> list[Gate]:
    """Read and verify the checks in gates.json; older results have no such file, and no checks."""
    return read_gates(verify(path, path.parent)) if path.exists() else []
