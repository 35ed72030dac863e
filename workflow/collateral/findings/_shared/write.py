"""A table as a file: unrounded CSV, Markdown, and LaTeX with booktabs."""

import math
from collections.abc import Iterator
from pathlib import Path

from collateral.results.files import atomic, write_rows
from collateral.findings._shared.compare import Part, Row, Table
from collateral.findings._shared.display import Shown, heading, show

COLUMNS = (
    "run",
    "label",
    "kind",
    "metric",
    "mean",
    "std",
    "deviation",
    "n",
    "status",
    "best",
    "chance",
)
GROUPS = (("reference",), ("method",), ("control", "floor"))

LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        **{special: "\\" + special for special in "&%$#_{}"},
        "±": r"$\pm$",
        "−": "$-$",
        "–": "--",
        "†": r"$^\dagger$",
        "“": "``",
        "”": "''",
    }
)


def write(table: Table, folder: Path) -> None:
    """Write the table's three files into `folder`."""
    name = table.layout.name
    write_rows(folder / f"{name}.csv", COLUMNS, numbers(table))
    for suffix, text in (("md", markdown(table)), ("tex", latex(table))):
        with atomic(folder / f"{name}.{suffix}") as temporary:
            temporary.write_text(text)


def numbers(table: Table) -> Iterator[dict[str, object]]:
    """Yield one record a number, unrounded."""
    for row in table.rows:
        for metric, entry in row.entries.items():
            yield {
                "run": row.run,
                "label": row.label,
                "kind": row.kind,
                "metric": metric,
                **{part: _exact(getattr(entry, part)) for part in ("mean", "std", "deviation")},
                "n": entry.n or "",
                "status": row.status or "ok",
                "best": int(entry.best),
                "chance": int(entry.chance),
            }


def _exact(number: float) -> str:
    return "" if math.isnan(number) else repr(number)


def markdown(table: Table) -> str:
    """Return the table in Markdown, its parts below each other and the caption below them."""
    lines = [text for part in table.layout.parts for text in (*_markdown_part(table, part), "")]
    return "\n".join([*lines, f"{table.caption} {table.conventions}", ""])


def _markdown_part(table: Table, part: Part) -> Iterator[str]:
    yield line([table.layout.corner, *map(heading, part.columns)])
    yield line(["---", *("---:" for _ in part.columns)])
    for kinds in GROUPS:
        for row in table.rows_of(*kinds):
            name = f"*{_label(row)}*" if row.kind in GROUPS[-1] else _label(row)
            yield line([name, *(_markdown(show(row, metric)) for metric in part.columns)])


def line(parts: list[str]) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(parts)} |"


def _label(row: Row) -> str:
    return f"{row.label}, {row.status}" if row.status else row.label


def _markdown(shown: Shown) -> str:
    value, deviation = shown.value, shown.deviation
    if shown.best:  # what made it best: the deviation, or the gap itself
        value, deviation = (value, f"**{deviation}**") if deviation else (f"**{value}**", "")
    return f"{value} {deviation}{'†' if shown.chance else ''}".strip()


def latex(table: Table) -> str:
    """Return a `table` environment; it needs the package booktabs and nothing else."""
    lines = [
        r"\begin{table}[t]",
        rf"\caption{{{escape(f'{table.caption} {table.conventions}')}}}",
        rf"\label{{tab:{table.layout.name}-{table.cell}}}",
        r"\centering",
        r"\footnotesize",
        r"\setlength{\tabcolsep}{3pt}",
    ]
    for part in table.layout.parts:
        lines += _latex_part(table, part)
        lines += [r"\par\medskip"] * (part is not table.layout.parts[-1])
    return "\n".join([*lines, r"\end{table}", ""])


def _latex_part(table: Table, part: Part) -> Iterator[str]:
    yield rf"\begin{{tabular}}{{l{'r' * len(part.columns)}}}"
    yield r"\toprule"
    heads = [table.layout.corner, *map(heading, part.columns)]
    yield _latex_line([escape(text) for text in heads])
    for kinds in GROUPS:
        rows = table.rows_of(*kinds)
        yield from [r"\midrule"] * bool(rows)
        for row in rows:
            texts = [_latex(show(row, metric)) for metric in part.columns]
            yield _latex_line([escape(row.label), *texts])
            if row.status:  # on a line of its own, or the first column would fill the page
                status = rf"\quad\emph{{{escape(row.status)}}}"
                yield rf"\multicolumn{{{len(part.columns) + 1}}}{{l}}{{{status}}} \\"
    yield r"\bottomrule"
    yield r"\end{tabular}"


def write_texts(
    path: Path, label: str, caption: str, heads: list[str], rows: list[list[str]], words: int = 1
) -> None:
    """Write a table of texts as `path`.md and .tex; all columns but the first `words` are numbers.

    `label` is what LaTeX refers to it by.
    """
    marks = ["---" if place < words else "---:" for place in range(len(heads))]
    contents = {
        "md": "\n".join([line(heads), line(marks), *map(line, rows), "", caption, ""]),
        "tex": latex_table(label, caption, heads, rows),
    }
    for suffix, content in contents.items():
        with atomic(path.with_name(f"{path.name}.{suffix}")) as temporary:
            temporary.write_text(content)


def latex_table(name: str, caption: str, heads: list[str], rows: list[list[str]]) -> str:
    """Return a plain `table` environment of texts."""
    lines = [
        r"\begin{table}[t]",
        rf"\caption{{{escape(caption)}}}",
        rf"\label{{tab:{name}}}",
        r"\centering",
        r"\footnotesize",
        rf"\begin{{tabular}}{{{'l' * len(heads)}}}",
        r"\toprule",
        *(_latex_line([escape(text) for text in row]) for row in [heads, *rows]),
    ]
    lines.insert(-len(rows) or len(lines), r"\midrule")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def _latex_line(parts: list[str]) -> str:
    return " & ".join(parts) + r" \\"


def _latex(shown: Shown) -> str:
    center, plus_minus, spread = shown.value.partition(" ± ")
    # The spread is set smaller, so that six columns fit the width of a page.
    value = escape(center) + (rf"{{\scriptsize\,$\pm$\,{spread}}}" if plus_minus else "")
    deviation = escape(shown.deviation)
    if shown.best:
        bold = rf"\textbf{{{deviation or value}}}"
        value, deviation = (value, bold) if deviation else (bold, "")
    return f"{value} {deviation}{escape('†') if shown.chance else ''}".strip()


def escape(text: str) -> str:
    """Return `text` with everything special to LaTeX written out."""
    return text.translate(LATEX)
