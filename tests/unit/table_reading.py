"""Fields of a table by the names of their row and column."""

from collateral.contract.tables import Field, Grid, Line, Table


def lines_of(grid: Grid) -> dict[str, Line]:
    """Return the rows of a grid by label."""
    lines = [line for group in grid.groups for line in group]
    found = {line.label: line for line in lines}
    assert len(found) == len(lines)
    return found


def field_at(table: Table, label: str, heading: str) -> Field:
    """Return a field; headings are told apart over all grids."""
    [grid] = [grid for grid in table.grids if heading in grid.headings]
    return lines_of(grid)[label].fields[grid.headings.index(heading)]


def texts_of(grid: Grid) -> dict[str, list[str]]:
    """Return the values of each row, by its label."""
    return {label: [f.value for f in line.fields] for label, line in lines_of(grid).items()}


def marked(table: Table, mark: str, metric: str) -> list[str]:
    """Return the runs that have a mark, `best` or `chance`, at a metric."""
    return [r["run"] for r in table.records if r["metric"] == metric and r[mark]]
