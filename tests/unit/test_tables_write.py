"""A small table as CSV, Markdown and LaTeX, exactly."""

import math
import re

import pytest

from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.write import (
    FIT,
    escape_latex,
    to_csv,
    to_latex,
    to_markdown,
    write_table,
)

NUMBERS = Grid(
    "Method",
    ["UA (%)", "Chosen", "Gap"],
    [
        [Line("Retrain", [Field("50.0 ± 1.0", 0.5), Field(""), Field("0.0", 0)])],
        [
            Line("FT & Co", [Field("60.0 ± 2.0", 0.1, "(+10.0)"), Field("lr 0.1"), Field("–")]),
            Line(
                "GA",
                [
                    Field("45.0", 0.05, "(−5.0)", True, True),
                    Field("x_y|z"),
                    Field("2.5", 1, "", True),
                ],
                note="diverged (1 of 3 seeds)",
            ),
        ],
        [Line("Original", [Field("", deviation="(1.2)"), Field(""), Field("0.7")], is_aside=True)],
    ],
)
PROSE = Grid("Run", ["Phases (s)"], [[Line("FT", [Field("train 1.00", 1.0)])]], is_prose=True)
RECORDS = [
    {"run": "ft", "mean": 1 / 3, "std": math.nan, "best": True},
    {"run": "ga", "mean": 2.0, "best": False, "status": "ok"},
]
CAPTION = "RA > 70 % of digit_3. Means over 3 seeds, by Avg. Gap. Nothing else."
CONVENTIONS = "“Bold”: best. †: chance."
TABLE = Table("small", "Small", [NUMBERS, PROSE], CAPTION, CONVENTIONS, RECORDS)


def test_markdown():
    assert to_markdown(TABLE).splitlines() == [
        "| Method | UA (%) | Chosen | Gap |",
        "| --- | ---: | --- | ---: |",
        "| Retrain | 50.0 ± 1.0 |  | 0.0 |",
        "| FT & Co | 60.0 ± 2.0 (+10.0) | lr 0.1 | – |",
        r"| GA, diverged (1 of 3 seeds) | 45.0 **(−5.0)**† | x_y\|z | **2.5** |",
        "| *Original* | (1.2) |  | 0.7 |",
        "",
        "| Run | Phases (s) |",
        "| --- | --- |",
        "| FT | train 1.00 |",
        "",
        f"{CAPTION} {CONVENTIONS}",
    ]


def test_latex():
    assert to_latex(TABLE, "small-a_cell").splitlines() == [
        r"% needs \usepackage{booktabs,graphicx}",
        r"% note: ``Bold'': best.",
        r"\begin{table}[t]",
        r"\caption{RA $>$ 70 \% of digit\_3.}",
        r"\label{tab:small-a_cell}",
        r"\centering",
        r"\footnotesize",
        r"\setlength{\tabcolsep}{4pt}",
        FIT,
        r"\begin{tabular}{lrlr}",
        r"\toprule",
        r"Method & UA (\%) & Chosen & Gap \\",
        r"\midrule",
        r"Retrain & 50.0{\scriptsize\,$\pm$\,1.0} &  & 0.0 \\",
        r"\midrule",
        r"FT \& Co & 60.0{\scriptsize\,$\pm$\,2.0} (+10.0) & lr 0.1 & -- \\",
        r"GA & 45.0 \textbf{($-$5.0)}\rlap{$^\dagger$} & x\_y\textbar{}z & \textbf{2.5} \\",
        r"\multicolumn{4}{l}{\quad\emph{diverged (1 of 3 seeds)}} \\",
        r"\midrule",
        r"Original & (1.2) &  & 0.7 \\",
        r"\bottomrule",
        r"\end{tabular}}",
        r"\par\medskip",
        r"\begin{tabular}{lp{0.75\linewidth}}",
        r"\toprule",
        r"Run & Phases (s) \\",
        r"\midrule",
        r"FT & \raggedright train 1.00 \tabularnewline",
        r"\bottomrule",
        r"\end{tabular}",
        r"\par\smallskip",
        r"\parbox{\linewidth}{\scriptsize Means over 3 seeds, by Avg. Gap. Nothing else. "
        r"$^\dagger$: chance.}",
        r"\end{table}",
    ]


def test_a_long_heading_of_numbers_has_two_lines_and_long_sentences_are_wide():
    lines = [Line("FT", [Field("1.0", 1.0), Field("a", 2.0)])]
    text = to_latex(Table("t", "T", [Grid("x", ["RA affected (%)", "UA (%)"], [lines])]), "t")
    assert r"x & \shortstack[r]{RA affected\\(\%)} & UA (\%) \\" in text
    verdict = [Line("FT", [Field("like Retrain"), Field("a" * 200)])]
    text = to_latex(Table("t", "T", [Grid("x", ["one", "two"], [verdict], is_prose=True)]), "t")
    short, long = (float(share) for share in re.findall(r"p{(0\.\d+)", text))
    assert 0.15 <= short <= 0.3 and long >= 0.5 and short + long == pytest.approx(0.75, abs=0.02)


def test_the_dagger_is_explained_only_where_it_stands():
    grid = Grid("x", ["UA"], [[Line("FT", [Field("1.0", 1.0, is_chance=False)])]])
    text = to_latex(Table("t", "T", [grid], "One sentence.", "†: chance."), "t")
    assert r"% note: $^\dagger$: chance." in text and "parbox" not in text


def test_csv_is_unrounded_with_all_columns():
    assert to_csv(TABLE).splitlines() == [
        "run,mean,std,best,status",
        f"ft,{1 / 3!r},,1,",
        "ga,2.0,,0,ok",
    ]


def test_three_files_and_a_label_by_cell(tmp_path):
    write_table(TABLE, tmp_path / "here", "digit_3-50")
    assert sorted(path.name for path in tmp_path.glob("here/*")) == [
        "small.csv",
        "small.md",
        "small.tex",
    ]
    assert r"\label{tab:small-digit_3-50}" in (tmp_path / "here/small.tex").read_text()
    write_table(TABLE, tmp_path)
    assert r"\label{tab:small}" in (tmp_path / "small.tex").read_text()


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        (r"a_b^{\}~", r"a\_b\textasciicircum{}\{\textbackslash{}\}\textasciitilde{}"),
        ("1 < 2 > 0", "1 $<$ 2 $>$ 0"),
        ("50 % & $5 #1", r"50 \% \& \$5 \#1"),
        ("−1.0 ± 0.5 – Δ†", r"$-$1.0 $\pm$ 0.5 -- $\Delta$$^\dagger$"),
        ("[5, 10] *", "{[}5, 10{]} {*}"),
    ],
)
def test_special_characters_of_latex_are_escaped_once(text, escaped):
    assert escape_latex(text) == escaped


def test_braces_are_balanced_whatever_the_label():
    text = to_latex(Table("t", "T", [Grid("}{", ["%"], [[Line("{[", [Field("}", 1.0)])]])]), "t")
    bare = re.sub(r"\\[{}]", "", text)
    assert bare.count("{") == bare.count("}")


def test_a_column_without_order_is_of_words():
    assert NUMBERS.are_words == [False, True, False]
    assert PROSE.are_words == [True]


@pytest.mark.parametrize("count", [1, 3])
def test_a_row_that_does_not_fit_its_headings_is_refused(count):
    grid = Grid("x", ["one", "two"], [[Line("a", [Field("1", 1.0)] * count)]])
    with pytest.raises(ValueError, match="zip"):
        to_markdown(Table("t", "T", [grid]))
