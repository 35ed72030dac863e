"""A small table as CSV, Markdown and LaTeX, exactly."""

import math
import re

import pytest

from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.write import escape, latex, markdown, unrounded, write

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
TABLE = Table("small", "Small", [NUMBERS, PROSE], "RA > 70 % of digit_3.", "“Bold”: best.", RECORDS)


def test_markdown():
    assert markdown(TABLE).splitlines() == [
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
        "RA > 70 % of digit_3. “Bold”: best.",
    ]


def test_latex():
    assert latex(TABLE, "small-a_cell").splitlines() == [
        r"\begin{table}[t]",
        r"\caption{RA $>$ 70 \% of digit\_3. ``Bold'': best.}",
        r"\label{tab:small-a_cell}",
        r"\centering",
        r"\footnotesize",
        r"\setlength{\tabcolsep}{3pt}",
        r"\begin{tabular}{lrlr}",
        r"\toprule",
        r"Method & UA (\%) & Chosen & Gap \\",
        r"\midrule",
        r"Retrain & 50.0{\scriptsize\,$\pm$\,1.0} &  & 0.0 \\",
        r"\midrule",
        r"FT \& Co & 60.0{\scriptsize\,$\pm$\,2.0} (+10.0) & lr 0.1 & -- \\",
        r"GA & 45.0 \textbf{($-$5.0)}$^\dagger$ & x\_y\textbar{}z & \textbf{2.5} \\",
        r"\multicolumn{4}{l}{\quad\emph{diverged (1 of 3 seeds)}} \\",
        r"\midrule",
        r"Original & (1.2) &  & 0.7 \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\par\medskip",
        r"\begin{tabular}{lp{0.70\linewidth}}",
        r"\toprule",
        r"Run & Phases (s) \\",
        r"\midrule",
        r"FT & train 1.00 \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]


def test_csv_is_unrounded_with_all_columns():
    assert unrounded(TABLE).splitlines() == [
        "run,mean,std,best,status",
        f"ft,{1 / 3!r},,1,",
        "ga,2.0,,0,ok",
    ]


def test_three_files_and_a_label_by_cell(tmp_path):
    write(TABLE, tmp_path / "here", "digit_3-50")
    assert sorted(path.name for path in tmp_path.glob("here/*")) == [
        "small.csv",
        "small.md",
        "small.tex",
    ]
    assert r"\label{tab:small-digit_3-50}" in (tmp_path / "here/small.tex").read_text()
    write(TABLE, tmp_path)
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
def test_what_is_special_to_latex_is_escaped_once(text, escaped):
    assert escape(text) == escaped


def test_braces_are_balanced_whatever_the_label():
    text = latex(Table("t", "T", [Grid("}{", ["%"], [[Line("{[", [Field("}", 1.0)])]])]), "t")
    bare = re.sub(r"\\[{}]", "", text)
    assert bare.count("{") == bare.count("}")


def test_a_column_without_order_is_of_words():
    assert NUMBERS.are_words == [False, True, False]
    assert PROSE.are_words == [True]


@pytest.mark.parametrize("count", [1, 3])
def test_a_row_that_does_not_fit_its_headings_is_refused(count):
    grid = Grid("x", ["one", "two"], [[Line("a", [Field("1", 1.0)] * count)]])
    with pytest.raises(ValueError, match="zip"):
        markdown(Table("t", "T", [grid]))
