"""A table as files: unrounded CSV, Markdown, and LaTeX with booktabs."""

import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from collateral.contract.tables import Field, Grid, Line, Table
from collateral.results.files import atomic, csv_text

LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "|": r"\textbar{}",
        **{special: "\\" + special for special in "&%$#_{}"},
        **{mark: f"{{{mark}}}" for mark in "[]*"},  # at the start of a row they are the last one's
        **{relation: f"${relation}$" for relation in "<>"},
        "±": r"$\pm$",
        "−": "$-$",
        "Δ": r"$\Delta$",
        "–": "--",
        "†": r"$^\dagger$",
        "“": "``",
        "”": "''",
    }
)
# A class may be called anything: what no line of text has, what would begin a tag or an entity, and
# what Markdown takes for a mark. An _ between letters is none; ` stays, for captions use it.
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
TAG = re.compile(r"<(?=[a-zA-Z/!?])")
ENTITY = re.compile(r"&(?=#?\w+;)")
MARK = re.compile(r"[\\*|~$]|](?=[\[(:])|(?<![^\W_])_|_(?![^\W_])")
NO_LABEL = re.compile(r"[^\w.:@=-]", re.ASCII)


def write(table: Table, folder: Path, cell: str = "") -> None:
    """Write the table's three files into `folder`; `cell` tells LaTeX's labels apart."""
    label = f"{table.name}-{cell}" if cell else table.name
    texts = {"csv": unrounded(table), "md": markdown(table), "tex": latex(table, label)}
    for suffix, text in texts.items():
        with atomic(folder / f"{table.name}.{suffix}") as temporary:
            temporary.write_text(text, encoding="utf-8")


def unrounded(table: Table) -> str:
    """Return the table's records as CSV."""
    columns = list(dict.fromkeys(key for record in table.records for key in record))
    exact = ({key: _exact(value) for key, value in record.items()} for record in table.records)
    return csv_text(columns, exact)


def _exact(value: Any) -> Any:
    """Leave an undefined number empty, and write a mark as 0 or 1."""
    if isinstance(value, bool):
        return int(value)
    return "" if isinstance(value, float) and math.isnan(value) else value


def markdown(table: Table) -> str:
    """Return the table in Markdown, its grids below each other and the caption below them."""
    lines = [text for grid in table.grids for text in (*_markdown_grid(grid), "")]
    return "\n".join([*lines, escape_markdown(_caption(table)), ""])


def _caption(table: Table) -> str:
    return f"{table.caption} {table.conventions}".strip()


def _markdown_grid(grid: Grid) -> Iterator[str]:
    yield _markdown_line(map(escape_markdown, [grid.corner, *grid.headings]))
    yield _markdown_line(["---", *("---" if words else "---:" for words in grid.are_words)])
    for group in grid.groups:
        for line in group:
            yield _markdown_line([_label(line), *map(_markdown, line.fields)])


def _markdown_line(texts: Iterable[str]) -> str:
    return f"| {' | '.join(texts)} |"


def _label(line: Line) -> str:
    name = escape_markdown(f"{line.label}, {line.note}" if line.note else line.label)
    return f"*{name}*" if line.is_aside else name


def _markdown(field: Field) -> str:
    value, deviation = escape_markdown(field.value), escape_markdown(field.deviation)
    if field.is_best:  # what made it best: the deviation, or the value itself
        value, deviation = (value, f"**{deviation}**") if deviation else (f"**{value}**", "")
    return f"{value} {deviation}".strip() + "†" * field.is_chance


def latex(table: Table, label: str) -> str:
    """Return a `table` environment; it needs the package booktabs and nothing else."""
    lines = [
        r"\begin{table}[t]",
        rf"\caption{{{escape(_caption(table))}}}",
        rf"\label{{tab:{NO_LABEL.sub('-', label)}}}",
        r"\centering",
        r"\footnotesize",
        r"\setlength{\tabcolsep}{3pt}",
    ]
    for place, grid in enumerate(table.grids):
        lines += [r"\par\medskip"] * bool(place)
        lines += _latex_grid(grid)
    return "\n".join([*lines, r"\end{table}", ""])


def _latex_grid(grid: Grid) -> Iterator[str]:
    wrapped = rf"p{{{0.7 / len(grid.headings):.2f}\linewidth}}"
    columns = [wrapped if grid.is_prose else "l" if words else "r" for words in grid.are_words]
    yield rf"\begin{{tabular}}{{l{''.join(columns)}}}"
    yield r"\toprule"
    yield _latex_line([escape(text) for text in (grid.corner, *grid.headings)])
    for group in grid.groups:
        yield r"\midrule"
        for line in group:
            yield _latex_line([escape(line.label), *map(_latex, line.fields)])
            if line.note:  # on a line of its own, or the first column would fill the page
                note = rf"\quad\emph{{{escape(line.note)}}}"
                yield rf"\multicolumn{{{len(columns) + 1}}}{{l}}{{{note}}} \\"
    yield r"\bottomrule"
    yield r"\end{tabular}"


def _latex_line(texts: list[str]) -> str:
    return " & ".join(texts) + r" \\"


def _latex(field: Field) -> str:
    center, plus_minus, spread = field.value.partition(" ± ")
    # The spread is set smaller, so that six columns fit the width of a page.
    small = rf"{{\scriptsize\,$\pm$\,{escape(spread)}}}" if plus_minus else ""
    value, deviation = escape(center) + small, escape(field.deviation)
    if field.is_best:
        bold = rf"\textbf{{{deviation or value}}}"
        value, deviation = (value, bold) if deviation else (bold, "")
    return f"{value} {deviation}".strip() + escape("†") * field.is_chance


def escape(text: str) -> str:
    """Return `text` with everything special to LaTeX written out."""
    return CONTROL.sub(" ", text).translate(LATEX)


def escape_markdown(text: str) -> str:
    """Return `text` so that Markdown shows it as it is: no mark, no cell's end and no HTML."""
    text = MARK.sub(r"\\\g<0>", CONTROL.sub(" ", text))
    return TAG.sub("&lt;", ENTITY.sub("&amp;", text))
