"""Judge submissions: compute every number from their outputs, and name what looks copied.

Nothing that a submission says about itself is believed: labels, forget sets, similarities, base
models and Retrains are those in results/. The exit code is 1 if a submission is refused.
--weights also computes the outputs of submitted weights again; --rerun compares one submission with
a run of its config. For each submission that is not refused, a folder below --out gets its numbers,
for `collateral board`; that of another submission is not overwritten without --replace.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

from collateral.commands._judging import Judge, Judgement
from collateral.commands._rerun import Rerun
from collateral.contract.messages import printable
from collateral.findings.registry import read_problems
from collateral.findings.verdict.sentences import find_verdicts
from collateral.results import layout
from collateral.results.provenance import read_signed
from collateral.results.submission import JUDGED, Submission, open_submission
from collateral.results.table import read_benchmark


def judge(
    submissions: Annotated[
        Sequence[Path], "folders or tar files of `collateral submit`", {"metavar": "SUBMISSION"}
    ],
    *,
    results: Annotated[Path, "folder of the published benchmarks"] = Path("results"),
    out: Annotated[Path, "folder for the numbers of each submission"] = Path("judged"),
    weights: Annotated[bool, "compute the outputs of submitted weights again (torch)"] = False,
    rerun: Annotated[
        str | None, "run in results/ that the submitted config made here", {"metavar": "RUN"}
    ] = None,
    plugins: Annotated[
        Sequence[Path], "with --rerun: folders of the config's plug-ins, which you have read"
    ] = (),
    replace: Annotated[bool, "overwrite another judged submission of the same name"] = False,
) -> None:
    """Print what was found about each submission, and write the numbers of those not refused."""
    if rerun and len(submissions) > 1:
        raise ValueError("--rerun: it is for one submission; judge the others apart")
    again = Rerun(rerun, tuple(plugins)) if rerun else None
    with ExitStack() as stack:
        opened = {path: stack.enter_context(open_submission(path)) for path in submissions}
        _check_names(opened)
        judges: dict[str, Judge] = {}
        is_refused = False
        for path, one in opened.items():
            name = one.stated.benchmark
            if name not in judges:
                judges[name] = Judge.open(results / name)
            others = [other for other in opened.values() if other is not one]
            rivals = [other for other in others if other.stated.benchmark == name]
            folder = out / name / one.stated.run
            _check_folder(folder, one, replace=replace)
            found = judges[name].judge(one, rivals, weights=weights, rerun=again)
            is_refused |= bool(found.faults)
            if not found.faults:
                shutil.rmtree(folder, ignore_errors=True)
                judges[name].write(found, folder)
            print(*describe(path, found, folder), sep="\n")
    if is_refused:
        raise SystemExit(1)


def _check_names(opened: dict[Path, Submission]) -> None:
    """Raise if two submissions would have the same folder."""
    owners: dict[tuple[str, str], Path] = {}
    for path, one in opened.items():
        first = owners.setdefault((one.stated.benchmark, one.stated.run), path)
        if first != path:
            raise ValueError(f"{path}: `run` is {one.stated.run}, as in {first}; rename one")


def _check_folder(folder: Path, submission: Submission, *, replace: bool) -> None:
    """Raise if a folder is there that is not of this submission."""
    if not folder.exists():
        return
    if not (folder / JUDGED).is_file():
        raise ValueError(
            f"{folder}: has no {JUDGED}, so it is not overwritten; choose another --out"
        )
    stated = read_signed(folder / JUDGED, folder)["statement"]
    if not replace and stated != submission.stated.model_dump(mode="json"):
        raise ValueError(
            f"{folder}: is of another submission, {printable(stated['method'])} of "
            f"{printable(stated['by']) or 'nobody named'}; --replace overwrites it"
        )


def describe(path: Path, found: Judgement, folder: Path) -> list[str]:
    """Return what is printed about a submission: refusal, or verdicts and what is named."""
    stated = found.submission.stated
    if found.faults:
        return [f"{path}: {stated.method}: refused", *(f"  {text}" for text in found.faults)]
    table = read_benchmark(folder)
    lines = [f"{path}: {stated.method}: level of evidence {found.level}; numbers: {folder}"]
    for cell in table.cells:
        verdicts = {one.run: one for one in find_verdicts(cell)}
        one = verdicts.get(stated.run)
        failed = "; ".join(f"{gate.name}: {gate.text}" for gate in cell.red_gates)
        text = f"{one.title}. {one.sentence}" if one else f"no verdict: {failed or 'not tested'}"
        lines.append(f"  {cell.name}: {text}")
    problems = read_problems([folder / layout.PROBLEMS])
    return [*lines, *(f"  {text}" for text in (*found.names, *problems))]
