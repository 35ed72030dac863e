"""Which cells of a benchmark a claim is about.

What the paper says of couch is asked of couch where there is one, else of every cell with that
share of one class forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from collateral.claims.claim import Where
from collateral.claims.evidence import Theory
from collateral.results.table import BenchmarkTable, CellTable

FIVE = ("oak_tree", "apple", "hamster", "road", "shark")
TOLERANCE = 0.02  # of a share: small classes cannot be halved

Source = BenchmarkTable | Theory
Cases = Mapping[str, tuple[CellTable, ...]]


def share_of(cell: CellTable) -> tuple[str, float] | None:
    """Return the one class that is forgotten, and how much of it."""
    if len(cell.forgotten) != 1:
        return None
    ((name, (count, size)),) = cell.forgotten.items()
    return name, count / size


def _at(source: Source, fraction: float) -> Iterator[tuple[str, CellTable]]:
    """Yield the cells with this share of one class forgotten, by class."""
    for cell in source.cells if isinstance(source, BenchmarkTable) else ():
        share = share_of(cell)
        if share and abs(share[1] - fraction) < TOLERANCE:
            yield share[0], cell


def is_svhn(source: Source) -> bool:
    """Tell whether a benchmark is of SVHN."""
    return isinstance(source, BenchmarkTable) and source.plan.data.get("name") == "svhn"


def _one(source: Source, fraction: float) -> Cases:
    cells = [] if is_svhn(source) else list(_at(source, fraction))
    couch = [cell for name, cell in cells if name == "couch"]
    return {cell.name: (cell,) for cell in couch or [cell for _, cell in cells]}


def _svhn(source: Source, fraction: float) -> Cases:
    cells = _at(source, fraction) if is_svhn(source) else ()
    return {cell.name: (cell,) for _, cell in cells}


def _pairs(source: Source) -> Cases:
    """Return half and nine tenths of the same class."""
    halves, mosts = dict(_at(source, 0.5)), dict(_at(source, 0.9))
    if is_svhn(source):
        return {}
    return {
        f"{half.name}, {mosts[name].name}": (half, mosts[name])
        for name, half in halves.items()
        if name in mosts
    }


def _named(source: Source, *names: str) -> Cases:
    found = [cell for name, cell in _at(source, 0.5) if name in names]
    return {", ".join(cell.name for cell in found): tuple(found)} if found else {}


def _all(source: Source, *fractions: float) -> Cases:
    """Return all cells of these shares, but of SVHN, as one case."""
    found = [cell for fraction in fractions for _, cell in _at(source, fraction)]
    is_asked = found and not is_svhn(source)
    return {", ".join(cell.name for cell in found): tuple(found)} if is_asked else {}


def _whole(source: Source) -> Cases:
    return {cell.name: (cell,) for _, cell in _at(source, 1.0)}


def _propositions(source: Source) -> Mapping[str, tuple[Theory]]:
    return {"": (source,)} if isinstance(source, Theory) else {}


HALF = Where(lambda source: _one(source, 0.5), "no cell with half of a class forgotten")
MOST = Where(lambda source: _one(source, 0.9), "no cell with 90 % of a class forgotten")
PAIRS = Where(_pairs, "no class of which half and, apart, 90 % are forgotten")
CLASSES = Where(lambda source: _named(source, *FIVE), f"no cell of {', '.join(FIVE)}")
ALL_HALVES = Where(lambda source: _all(source, 0.5), "no cell with half of a class forgotten")
ALL = Where(lambda source: _all(source, 0.5, 0.9), "no cell with a part of a class forgotten")
WHOLE = Where(_whole, "no cell with a whole class forgotten")
SVHN_HALF = Where(lambda source: _svhn(source, 0.5), "no SVHN with half of a class forgotten")
SVHN_MOST = Where(lambda source: _svhn(source, 0.9), "no SVHN with 90 % of a class forgotten")
SVHN = Where(lambda s: {**_svhn(s, 0.5), **_svhn(s, 0.9)}, "no SVHN")
PROPOSITIONS = Where(_propositions, "no theory")


def named(name: str) -> Where:
    """Return half of one class."""
    return Where(lambda source: _named(source, name), f"no cell with half of {name} forgotten")
