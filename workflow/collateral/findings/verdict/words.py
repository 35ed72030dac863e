"""A cell in a sentence: which methods got which verdict, or which check forbids one."""

from collateral.findings.checks import red_gates
from collateral.findings.verdict import VERDICTS
from collateral.findings.verdict.sentences import said_of
from collateral.results.table import CellTable


def words(cell: CellTable) -> str:
    """Name the methods of each verdict, the worst first; with a red check, the check alone."""
    if red := red_gates(cell):
        return f"No verdict: {'; '.join(f'{gate.name}: {gate.text}' for gate in red)}."
    said = list(said_of(cell))
    groups = {v: [one.label for one in said if one.verdict == v] for v in VERDICTS}
    parts = [f"{v}: {', '.join(labels)}" for v, labels in groups.items() if labels]
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if text else ""
