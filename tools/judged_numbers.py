"""Keep what a run of configs/trust.yaml found: the evidence, and every judged number of each model.

    python tools/judged_numbers.py results/trust --out docs/data/trust

evidence.csv is the file tables/trust.csv. metrics.csv has one row per cell, run and seed, and one
column per number that claims something, from which the evidence can be computed again. Numbers
over several seeds (average gaps) are left out, because they follow from the others.
"""

import csv
import shutil
from argparse import ArgumentParser
from collections.abc import Iterable, Mapping
from pathlib import Path

from collateral.contract.claims import LAST, Claim
from collateral.findings.trust.judged import list_claims
from collateral.results import layout

KEY = ("cell", "run", "seed")
Table = dict[tuple[str, ...], dict[str, str]]  # by cell, run and seed: the value of each number


def main() -> None:
    """Write both files."""
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="results of the benchmark")
    parser.add_argument("--out", type=Path, required=True)
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    shutil.copy(chosen.folder / layout.TABLES / "trust.csv", chosen.out / "evidence.csv")
    with (chosen.folder / layout.METRICS).open(newline="", encoding="utf-8") as rows:
        found = pick(csv.DictReader(rows), list_claims())
    write(found, chosen.out / "metrics.csv")


def pick(rows: Iterable[Mapping[str, str]], claims: Iterable[Claim]) -> Table:
    """Return the judged numbers of each model; of a curve, those of its last step."""
    known = {(claim.metric, claim.set): claim for claim in claims}
    found: Table = {}
    steps: dict[tuple[str, ...], int] = {}
    for row in rows:
        claim = known.get((row["metric"], row["set"]))
        if claim is None or not row["seed"] or not _is_at(claim, row["at"]):
            continue
        model, name = tuple(row[key] for key in KEY), f"{claim.name} {claim.set}".strip()
        step = int(row["at"]) if claim.at == LAST else 0
        if step >= steps.get((*model, name), 0):
            steps[(*model, name)] = step
            value = row["value"]
            found.setdefault(model, {})[name] = f"{float(value):.6g}" if value else ""
    return found


def _is_at(claim: Claim, at: str) -> bool:
    if claim.at == LAST:
        return at.isdigit()
    return at == ("" if claim.at is None else str(claim.at))


def write(found: Table, file: Path) -> None:
    """Write one row per model."""
    names = sorted({name for values in found.values() for name in values})
    with file.open("w", newline="", encoding="utf-8") as opened:
        rows = csv.DictWriter(opened, [*KEY, *names], restval="", lineterminator="\n")
        rows.writeheader()
        rows.writerows(
            {**dict(zip(KEY, model, strict=True)), **values} for model, values in found.items()
        )


if __name__ == "__main__":
    main()
