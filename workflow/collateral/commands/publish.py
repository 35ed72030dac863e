"""Write a folder from which others compute the numbers of benchmarks again.

It has the outputs of every model on every example, forget sets, numbers, configs and records, with
croissant.json, a datasheet, model cards, licences and citations. It has no images without --images,
no weights, and no path or name of a file of yours. Damaged or unfinished results are refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import yaml

from collateral.commands.cite import (
    OWN_USE,
    collect_entries,
    find_recorded_uses,
    format_entries,
)
from collateral.config.load import read
from collateral.config.yaml import read_file
from collateral.contract.terminal import hang
from collateral.jobs import parse_job
from collateral.jobs.metrics import MetricsJob
from collateral.plan.diff import compare
from collateral.plan.grid import build_grid
from collateral.plan.report_plan import FILES as OPTIONS
from collateral.plugins.find import STAGE
from collateral.report import datasheet
from collateral.report.datasheet import Benchmark, Publication, read_source
from collateral.report.published import LONG, Published, write_long_table, write_table
from collateral.results import layout
from collateral.results.address import RESULTS
from collateral.results.cell import CellResults
from collateral.results.files import InvalidResultError, read_json, write_json, write_rows
from collateral.results.plan import BenchmarkPlan
from collateral.results.provenance import (
    CODE,
    JOB,
    SEAL,
    content_hash,
    read_record,
    read_signed,
    verify,
)
from collateral.results.verification import verify_results

CROISSANT, SUMS, CONFIG = "croissant.json", "SHA256SUMS", "config.yaml"
# Files of a benchmark that are copied below results/, besides the records of runs.
COPIED = {
    *(layout.RECORD, layout.DATA_RECORD, layout.PLAN, layout.METRICS_RECORD, layout.GATES),
    *(Path(layout.SPLIT).name, Path(layout.NEIGHBOURS_RECORD).name),
    *(layout.TRIALS, layout.SELECTED),
}
NOT_COPIED = {layout.TABLES, layout.FIGURES, layout.PREPARED}
# Keys of JSON files and configs that hold paths, or say by what examples were chosen.
PRIVATE = {*OPTIONS, "column", "is"}
LEFT_OUT = "left out"


def publish(
    benchmarks: Annotated[Sequence[str], "benchmarks, such as digits, or their folders"],
    *,
    out: Annotated[Path, "new folder"],
    images: Annotated[bool, "with the images, where the licence of the data set allows it"] = False,
    logits: Annotated[bool, "with the float16 logits of all classes"] = False,
    creator: Annotated[str, "who publishes; default: nobody is named"] = "",
    licence: Annotated[str, "licence of what the folder adds: SPDX name or address"] = "CC-BY-4.0",
    url: Annotated[str, "where the folder will be found"] = "",
    release: Annotated[str, "version of the folder; default: 1.0.0"] = "1.0.0",
) -> None:
    """Check the results, write the folder, and print its size and what it leaves out."""
    folders = [_find_folder(name) for name in dict.fromkeys(benchmarks)]
    _check_out(out, folders)
    found = read_benchmarks(folders)
    if images:
        for one in found:
            check_images(one)
    for one in found:
        for line in _warnings(one):
            print(hang(f"{one.name}: ", line))
    stated = {"creator": creator, "licence": licence, "url": url, "version": release}
    out.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".publish-", dir=out.parent) as name:
        folder = Path(name) / "folder"
        write_folder(folder, found, stated, images=images, logits=logits)
        if out.exists():
            out.rmdir()  # an empty folder
        folder.rename(out)
    files = [path for path in out.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files) / 2**20
    print(f"{out}: {len(files)} files, {size:.1f} MB")
    if missing := [f"--{key}" for key in ("creator", "url") if not stated[key]]:
        print(f"not stated in {CROISSANT}: {', '.join(missing)}")


def _find_folder(name: str) -> Path:
    folder = Path(name) if Path(name).is_dir() else RESULTS / name
    if not (folder / layout.DATA_RECORD).is_file():
        known = sorted(path.parent.name for path in RESULTS.glob(f"*/{layout.DATA_RECORD}"))
        raise ValueError(f"{name}: no benchmark's folder; there are: {', '.join(known) or 'none'}")
    return folder


def _check_out(out: Path, folders: Sequence[Path]) -> None:
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ValueError(f"--out: {out}: is not empty; name a new folder")
    if any(out.resolve().is_relative_to(folder.resolve().parent) for folder in folders):
        raise ValueError(f"--out: {out}: lies in the results; choose a place outside of them")
    if len({folder.name for folder in folders}) < len(folders):
        raise ValueError("two of the benchmarks have the same name; publish them apart")


def read_benchmarks(folders: Sequence[Path]) -> list[Benchmark]:
    """Read benchmarks; raise if their results are damaged, unfinished or not what they seem."""
    cells = {folder: tuple(_read_cells(folder)) for folder in folders}
    names = [folder.name for folder in folders]
    cell_names = sorted({cell.name for found in cells.values() for cell in found})
    return [
        Benchmark.read(Published(folder, found, names, cell_names), _read_source(folder))
        for folder, found in cells.items()
    ]


def _read_cells(folder: Path) -> Iterator[CellResults]:
    """Yield the results of the cells of the plan, all of which have been verified."""
    if faults := verify_results(folder).faults:
        more = f" (and {len(faults) - 1} more: collateral verify)" if len(faults) > 1 else ""
        raise ValueError(f"{faults[0]}{more}")
    verify(folder / layout.METRICS, folder)  # made last; missing if a run has not ended
    for cell in BenchmarkPlan.load(folder / layout.PLAN).cells:
        record = folder / cell / layout.METRICS_RECORD
        try:
            job = parse_job(read_signed(record, folder)[JOB])
        except KeyError:
            raise InvalidResultError(record, "written by an older version") from None
        assert isinstance(job, MetricsJob)
        results: CellResults = STAGE.load("metrics").read_results(job, folder)
        results.check()
        yield results


def _read_source(folder: Path) -> datasheet.Source:
    job = read_record(folder / layout.DATA_RECORD, folder)
    return read_source(job["name"], job["options"])


def check_images(one: Benchmark) -> None:
    """Raise if the images of a benchmark must not be passed on, or are not here."""
    if not one.source.images:
        raise ValueError(
            f"--images: {one.name}: the licence of {one.source.name} does not allow it: "
            f"{one.source.licence}; publish without --images"
        )
    if one.withheld:
        raise ValueError(
            f"--images: {one.name}: its key `pictures` keeps images back; publish without --images"
        )


def _warnings(one: Benchmark) -> Iterator[str]:
    if one.withheld or not one.source.is_known:
        yield (
            "made from data that is not public, or from examples that somebody withdrew. Published "
            "are labels, which examples were to be forgotten, predictions and confidences of all "
            "examples, and the names of classes, cells and groups; not images, file names, columns "
            "or paths. Pass it on only if you may."
        )
    if one.red_gates:
        yield f"{len(one.red_gates)} checks are red; README.md and the model cards say so"
    if not read_config(one):
        yield f"its config is not here, or has changed: {layout.PLAN} and the records stand for it"


def write_folder(
    folder: Path,
    found: Sequence[Benchmark],
    stated: Mapping[str, str],
    *,
    images: bool = False,
    logits: bool = False,
) -> None:
    """Write all files of a published folder; the hashes come last."""
    (folder / "results").mkdir(parents=True)
    files = write_tables(folder, [one.published for one in found], images=images, logits=logits)
    for one in found:
        copy_results(one, folder / "results" / one.name)
    uses = (use for one in found for use in find_recorded_uses(one.published.folder))
    citation = format_entries(*collect_entries([OWN_USE, *uses])).strip()
    of = Publication(
        found,
        f"Outputs of {', '.join(one.name for one in found)}, a benchmark of machine unlearning",
        date.today().isoformat(),
        citation=citation,
        files=files,
        **stated,
    )
    texts = {
        "cite.bib": f"{citation}\n",
        "LICENSES.md": datasheet.render("LICENSES.md.j2", of=of),
        "README.md": datasheet.readme(of),
        **dict(datasheet.cards(of)),
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    write_json(folder / CROISSANT, datasheet.croissant(of), sort_keys=False)
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    sums = [f"{content_hash(path)}  {path.relative_to(folder).as_posix()}\n" for path in paths]
    (folder / SUMS).write_text("".join(sums), encoding="utf-8")


def write_tables(
    folder: Path, found: Sequence[Published], *, images: bool, logits: bool
) -> dict[str, Mapping[str, str] | str]:
    """Write the tables; return the hashes of the files of each, or their pattern."""
    by_cell = ["outputs", *(["logits"] if logits else [])]
    for name in by_cell:
        for one in found:
            for cell in one.cells:
                rows = one.outputs(cell, logits=name == "logits")
                write_table(folder / name / one.name / f"{cell.name}.parquet", rows)
    together = ["examples", "similarity", "attack", *(["images"] if images else [])]
    for name in together:
        write_table(
            folder / f"{name}.parquet",
            (table for one in found for table in getattr(one, name)()),
        )
    runs = [row for one in found for row in one.runs()]
    write_rows(folder / "runs.csv", list(runs[0]), runs)
    for name, file in LONG.items():
        write_long_table(folder / f"{name}.csv", found, file)
    single = [*(f"{name}.parquet" for name in together), "runs.csv", "metrics.csv"]
    return {name: f"{name}/*/*.parquet" for name in by_cell} | {
        Path(name).stem: {name: content_hash(folder / name)} for name in single
    }


def copy_results(one: Benchmark, target: Path) -> None:
    """Copy config, forget sets, trials and records, without paths and what chose examples."""
    folder = one.published.folder
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        if path.name not in COPIED or not NOT_COPIED.isdisjoint(place.parts):
            continue
        (target / place).parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".json":
            copy_json(path, target / place)
        else:
            (target / place).write_bytes(path.read_bytes())
    if config := read_config(one):
        text = yaml.safe_dump({"benchmarks": {one.name: config}}, sort_keys=False)
        (target / CONFIG).write_text(text, encoding="utf-8")


def copy_json(path: Path, target: Path) -> None:
    """Copy a JSON file; if something private is left out, without its own hash, and named."""
    content = read_json(path)
    left_out: list[str] = []
    public = remove_private(content, left_out)
    if not left_out:
        target.write_bytes(path.read_bytes())
        return
    public.pop(SEAL, None)
    about = {LEFT_OUT: sorted({*left_out}), "copy_of_sha256": content_hash(path)}
    write_json(target, {**public, **about}, sort_keys=False)


def remove_private(content: Any, left_out: list[str], place: str = "") -> Any:
    """Return a copy without private keys and absolute paths; add their places to `left_out`."""
    if isinstance(content, list):
        paths = [one for one in content if isinstance(one, str) and _is_path(one)]
        left_out += [place for _ in paths]
        return [remove_private(one, left_out, place) for one in content if one not in paths]
    if not isinstance(content, dict):
        return content
    kept = {}
    for key, value in content.items():
        here = f"{place}.{key}".lstrip(".")
        is_path = any(isinstance(one, str) and _is_path(one) for one in (key, value))
        if is_path or (key in PRIVATE and value not in (None, [])):
            left_out.append(here if not _is_path(key) else place)
        else:
            kept[key] = remove_private(value, left_out, here)
    return kept


def _is_path(text: str) -> bool:
    return text.startswith(("/", "~", "../")) or Path(text).is_absolute()


def read_config(one: Benchmark) -> dict[str, Any]:
    """Return a benchmark's entry of its config; empty if the file is not here, or has changed."""
    folder = one.published.folder
    file = folder.parent.parent / one.plan.config
    if not one.plan.config or not file.is_file():
        return {}
    planned = build_grid(read(file)).get(one.name)
    if planned is None:
        return {}
    lines = [line for found in compare(planned, folder).different.values() for line in found]
    if any(not line.startswith(f"{CODE}:") for line in lines):
        return {}
    entry: dict[str, Any] = remove_private(read_file(file)["benchmarks"][one.name], [])
    return entry
