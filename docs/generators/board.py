"""The board of the site: all rows of docs/results.md, judged submissions, and settings of papers.

    python -m generators.board --out build/board.html        (in docs/; `make board`)

Judged submissions are kept in docs/data/judged, as `collateral judge --out` writes them.
"""

from argparse import ArgumentParser
from dataclasses import replace
from pathlib import Path

from collateral.commands.board import list_settings
from collateral.report.board import Board, build_board, render_board
from collateral.results.submission import JUDGED
from generators.results import DATA, ROOT, find_results

SUITE = ROOT / "configs" / "suite"


def find_board() -> Board:
    """Return the rows of docs/results.md and the judged submissions."""
    submissions = sorted({path.parent for path in (DATA / "judged").rglob(JUDGED)})
    judged = build_board((), submissions, list_settings(SUITE))
    return replace(judged, entries=[*find_results(), *judged.entries])


def main() -> None:
    """Write the page, and print how many entries it has."""
    parser = ArgumentParser(description="Write the board of the site.")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "board.html")
    out = parser.parse_args().out
    board = find_board()
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(render_board(board), encoding="utf-8")
    print(f"{out}: {len(board.entries)} entries in {len(board.cells)} cells")


if __name__ == "__main__":
    main()
