"""Test the paper's 62 claims on the results: each holds, fails, or cannot be decided."""

from pathlib import Path
from typing import Annotated

from paper.claims.evaluate import choose, count_verdicts, evaluate, markdown_table, text_lines
from paper.claims.results import read_all


def claims(
    results: Annotated[Path, "folder of all results, or of one benchmark; default: results"] = Path(
        "results"
    ),
    *,
    only: Annotated[
        str | None, "numbers of the claims to test, such as 1-11,19; default: all"
    ] = None,
    markdown: Annotated[bool, "print a Markdown table, for a page of the docs"] = False,
) -> None:
    """Print every claim with its result, from means over seeds, and the number of each verdict."""
    answers = choose(evaluate(read_all(results)), only)
    if markdown:
        print(markdown_table(answers), end="")
        return
    for line in text_lines(answers):
        print(line)
    print(count_verdicts(answers))
