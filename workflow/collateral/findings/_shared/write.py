"""Write a table to files: unrounded CSV, Markdown, and LaTeX with booktabs."""

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
        # Characters that LaTeX would read as options of a line break.
        **{mark: f"{{{mark}}}" for mark in "[]*"},
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
# Class names may contain any character, so these patterns find what must be escaped or replaced.
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
TAG = re.compile(r"<(?=[a-zA-Z/!?])")
ENTITY = re.compile(r"&(?=#?\w+;)")
MARK = re.compile(r"[\\*|~$]|](?=[\[(:])|(?<![^\W_])_|_(?![^\W_])")
NO_LABEL = re.compile(r"[^\w.:@=-]", re.ASCII)
# Matches the space between two sentences, but not a space after an abbreviation.
SENTENCE_END = re.compile(
    r"(?<=[.?!])(?<!\bAvg\.)(?<!\bvs\.)(?<!\bSt\.)(?<!\bDr\.)(?<!\bMt\.) (?=\S)"
)
# Total width of the columns that contain sentences, as a fraction of the line width.
PROSE_SHARE = 0.75
# Maximum number of characters of a heading on one line; longer headings are broken into two lines.
LONGEST_HEADING = 12
PACKAGES = r"% needs \usepackage{booktabs,graphicx}"
# A table of numbers that is wider than the text line is scaled down to the width of the line.
FIT = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"


def write_table(table: Table, folder: Path, cell: str = "") -> None:
    """Write a table to a CSV, a Markdown and a LaTeX file; `cell` makes the LaTeX label unique."""
    label = f"{table.name}-{cell}" if cell else table.name
    texts = {"csv": to_csv(table), "md": to_markdown(table), "tex": to_latex(table, label)}
    for suffix, text in texts.items():
        with atomic(folder / f"{table.name}.{suffix}") as temporary:
            temporary.write_text(text, encoding="utf-8")


def to_csv(table: Table) -> str:
    """Return the unrounded numbers of a table as CSV."""
    columns = list(dict.fromkeys(key for record in table.records for key in record))
    exact = ({key: _exact(value) for key, value in record.items()} for record in table.records)
    return csv_text(columns, exact)


def _exact(value: Any) -> Any:
    """Return a value in the form written to CSV: NaN becomes empty text, a boolean 0 or 1."""
    if isinstance(value, bool):
        return int(value)
    return "" if isinstance(value, float) and math.isnan(value) else value


def to_markdown(table: Table) -> str:
    """Return a table as Markdown text: first all grids, then the caption."""
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
    if field.is_best:  # print the deviation in bold; if there is none, the value
        value, deviation = (value, f"**{deviation}**") if deviation else (f"**{value}**", "")
    mark = "†" if field.is_chance else ""
    return f"{value} {deviation}".strip() + mark


def to_latex(table: Table, label: str) -> str:
    """Return a table as a LaTeX `table` environment: a caption of one sentence, and notes below.

    The table's `conventions` become comments of the file, except the explanation of a † it shows.
    """
    caption, *notes = SENTENCE_END.split(table.caption)
    comments = SENTENCE_END.split(table.conventions) if table.conventions else []
    marks = [text for text in comments if text.startswith("†") and _has_dagger(table)]
    lines = [
        PACKAGES,
        *(f"% note: {escape_latex(text)}" for text in comments if text not in marks),
        r"\begin{table}[t]",
        rf"\caption{{{escape_latex(caption)}}}",
        rf"\label{{tab:{NO_LABEL.sub('-', label)}}}",
        r"\centering",
        r"\footnotesize",
        r"\setlength{\tabcolsep}{4pt}",
    ]
    for place, grid in enumerate(table.grids):
        if place > 0:
            lines.append(r"\par\medskip")
        lines += _latex_grid(grid)
    if below := " ".join([*notes, *marks]):
        lines += [r"\par\smallskip", rf"\parbox{{\linewidth}}{{\scriptsize {escape_latex(below)}}}"]
    return "\n".join([*lines, r"\end{table}", ""])


def _has_dagger(table: Table) -> bool:
    lines = [line for grid in table.grids for group in grid.groups for line in group]
    return any(field.is_chance for line in lines for field in line.fields)


def _latex_grid(grid: Grid) -> Iterator[str]:
    if grid.is_prose:
        columns = [rf"p{{{share:.2f}\linewidth}}" for share in _prose_shares(grid)]
        headings = map(escape_latex, grid.headings)
    else:
        columns = ["l" if words else "r" for words in grid.are_words]
        headings = map(_two_lines, grid.headings, columns)
        yield FIT
    yield rf"\begin{{tabular}}{{l{''.join(columns)}}}"
    yield r"\toprule"
    yield _latex_line([escape_latex(grid.corner), *headings])
    for group in grid.groups:
        yield r"\midrule"
        for line in group:
            yield _latex_line([escape_latex(line.label), *map(_latex, line.fields)], grid.is_prose)
            if line.note:  # the note is printed in a separate row
                note = rf"\quad\emph{{{escape_latex(line.note)}}}"
                yield rf"\multicolumn{{{len(columns) + 1}}}{{l}}{{{note}}} \\"
    yield r"\bottomrule"
    yield r"\end{tabular}" + ("" if grid.is_prose else "}")


def _two_lines(heading: str, column: str) -> str:
    """Return a column heading; a long heading is broken at the space nearest to its middle."""
    middle = len(heading) / 2
    spaces = [place for place, letter in enumerate(heading) if letter == " "]
    if len(heading) <= LONGEST_HEADING or not spaces:
        return escape_latex(heading)
    at = min(spaces, key=lambda place: abs(place - middle))
    upper, lower = escape_latex(heading[:at]), escape_latex(heading[at + 1 :])
    return rf"\shortstack[{column}]{{{upper}\\{lower}}}"


def _prose_shares(grid: Grid) -> list[float]:
    """Return the width of each column as a fraction of the line; longer texts get wider columns."""
    lines = [line for group in grid.groups for line in group]
    columns = zip(grid.headings, *([f.value for f in line.fields] for line in lines), strict=True)
    weights = [max(map(len, column)) ** 0.4 for column in columns]
    return [PROSE_SHARE * weight / sum(weights) for weight in weights]


def _latex_line(texts: list[str], is_prose: bool = False) -> str:
    """Return a table row in LaTeX; entries that are sentences (`is_prose`) are left-aligned."""
    between, end = (r" & \raggedright ", r" \tabularnewline") if is_prose else (" & ", r" \\")
    return between.join(texts) + end


def _latex(field: Field) -> str:
    center, plus_minus, spread = field.value.partition(" ± ")
    # The standard deviation is set in a smaller font, so that six columns fit on a page.
    small = rf"{{\scriptsize\,$\pm$\,{escape_latex(spread)}}}" if plus_minus else ""
    value, deviation = escape_latex(center) + small, escape_latex(field.deviation)
    if field.is_best:
        bold = rf"\textbf{{{deviation or value}}}"
        value, deviation = (value, bold) if deviation else (bold, "")
    # The dagger takes no width, so that numbers with and without it are aligned.
    mark = r"\rlap{$^\dagger$}" if field.is_chance else ""
    return f"{value} {deviation}".strip() + mark


def escape_latex(text: str) -> str:
    """Return `text` with the special characters of LaTeX escaped."""
    return CONTROL.sub(" ", text).translate(LATEX)


def escape_markdown(text: str) -> str:
    """Return `text` with the special characters of Markdown and HTML escaped."""
    text = MARK.sub(r"\\\g<0>", CONTROL.sub(" ", text))
    return TAG.sub("&lt;", ENTITY.sub("&amp;", text))
