"""Write the board: one page of all methods, of kept benchmarks and of judged submissions.

Kept benchmarks are the folders below --results with plan.json, metrics.csv and costs.csv; judged
submissions are folders that `collateral judge` wrote. --settings names configs whose benchmarks are
listed even without results. The page needs no other file and no network.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from collateral.config.yaml import read_file
from collateral.report.board import build_board, list_kept, name_data, render_board
from collateral.results.files import atomic
from collateral.results.submission import JUDGED


def board(
    judged: Annotated[
        Sequence[Path],
        "folders of judged submissions, or folders above them",
        {"metavar": "JUDGED", "nargs": "*"},
    ] = (),
    *,
    results: Annotated[Path | None, "folder of kept benchmarks, such as docs/data"] = None,
    settings: Annotated[Path | None, "folder of configs, such as configs/suite"] = None,
    out: Annotated[Path, "file of the page"] = Path("board.html"),
) -> None:
    """Write the page; print how many entries it has, and what is left out."""
    folders = list_kept(results) if results else []
    if results and not folders:
        raise ValueError(f"--results: {results}: no folder below it has metrics.csv")
    submissions = sorted({path.parent for one in judged for path in one.rglob(JUDGED)})
    if judged and not submissions:
        raise ValueError(f"{judged[0]}: no {JUDGED} there; `collateral judge` writes it")
    if settings and not any(settings.glob("*.yaml")):
        raise ValueError(f"--settings: {settings}: no .yaml file there")
    found = build_board(folders, submissions, list_settings(settings) if settings else None)
    if not found.entries:
        raise ValueError("nothing to show: name judged submissions, or kept benchmarks (--results)")
    with atomic(out) as temporary:
        temporary.write_text(render_board(found), encoding="utf-8")
    for reason in found.left_out:
        print(f"left out: {reason}")
    print(f"{out}: {len(found.entries)} entries in {len(found.cells)} cells")


def list_settings(folder: Path) -> dict[str, dict[str, str]]:
    """Return data set and model of each benchmark of a folder of configs, by file name."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted(folder.glob("*.yaml")):
        benchmarks = read_file(path)["benchmarks"]
        found[path.stem] = {
            name: f"{name_data(name, one['data'])}, {one['model']}"
            for name, one in benchmarks.items()
        }
    return found
