"""Gather what the page shows, and render it with the template beside this file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from collateral.results.dataset import Labels
from collateral.results.files import read_json
from collateral.figures import affected, classes, epochs, similarity, support, sweeps
from collateral.report.grids import (
    Grid,
    of_costs,
    of_csv,
    of_locality,
    of_records,
    of_reported,
    of_summary,
    of_table,
    of_tuning,
)
from collateral.report.images import Strip, data_uri, strips
from collateral.findings.locality.words import finding
from collateral.findings.support_size.table import of_auto, of_retrain, of_sizes
from collateral.findings._shared.compare import Protocol, tables
from collateral.results.table import REFERENCE, Cell, Runs, cells, read
from collateral.findings.support_size.words import auto_in_words, supports_of
from collateral.findings.sweeps.table import sweep_cell, sweep_table, sweeps_of

CAPTIONS = {
    "similarity": similarity.CAPTION,
    "classes": classes.CAPTION,
    "affected": affected.CAPTION,
}
EPOCHS = {"epochs": epochs.CAPTION}


@dataclass(frozen=True)
class Source:
    """A benchmark's folder, and what its config says that its files do not."""

    folder: Path
    runs: Runs
    protocol: Protocol | None = None
    sweeps: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # of each cell, by name


@dataclass(frozen=True)
class Picture:
    """A figure of the page."""

    name: str
    image: str  # a data URI
    caption: str


@dataclass(frozen=True)
class Ablation:
    """A sweep, the course of training, or support sizes: tables, figures and words."""

    title: str
    tables: list[Grid]
    pictures: list[Picture]
    words: str = ""


@dataclass(frozen=True)
class CellSection:
    """What the page says of one cell."""

    anchor: str
    title: str
    finding: str
    near: Grid
    tables: list[Grid]
    pictures: list[Picture]
    strips: list[Strip]
    ablations: list[Ablation]
    details: list[Grid]


@dataclass(frozen=True)
class BenchmarkSection:
    """What the page says of one benchmark."""

    name: str
    summary: list[Grid]  # over all cells; empty for a single one
    cells: list[CellSection]
    versions: str


def render(sources: Mapping[str, Source], theory: Path | None = None) -> str:
    """Return the page over all benchmarks, with the theory's figures where there are some."""
    environment = Environment(
        loader=PackageLoader("collateral", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.j2").render(
        benchmarks=[_benchmark(name, source) for name, source in sources.items()],
        theory=_theory(theory) if theory else None,
    )


def _benchmark(name: str, source: Source) -> BenchmarkSection:
    frame = read(source.folder / "metrics.csv", source.folder / "costs.csv")
    found = cells(frame, source.runs)
    sections = [_cell(f"{name}-{cell.name}", source, cell, frame) for cell in found]
    return BenchmarkSection(name, of_summary(found), sections, _versions(source.folder, found[0]))


def _cell(anchor: str, source: Source, cell: Cell, frame: pd.DataFrame) -> CellSection:
    folder = source.folder / cell.name
    ablations = [*_ablations(source, cell.name, frame), *_support_sizes(source, cell)]
    shown_there = {picture.name for ablation in ablations for picture in ablation.pictures}
    figures = source.folder / "figures" / cell.name
    details = [
        of_costs(cell),
        of_tuning(folder / "tuning.csv", cell),
        of_reported(cell),
        of_records(folder, cell),
    ]
    return CellSection(
        anchor=anchor,
        title=cell.title,
        finding=finding(cell),
        near=of_locality(cell),
        tables=[grid for table in tables(cell, source.protocol) for grid in of_table(table)],
        pictures=_pictures(figures, CAPTIONS, shown_there),
        strips=_strips(source.folder, cell),
        ablations=ablations,
        details=[grid for grid in details if grid.groups],
    )


def _ablations(source: Source, cell: str, frame: pd.DataFrame) -> Iterator[Ablation]:
    """Yield the sweeps of a cell in the config's order, and then the course of training."""
    folder = source.folder / "figures" / cell
    for sweep in sweeps_of(source.sweeps.get(cell, {})):
        table = sweep_table(sweep_cell(frame, cell, sweep), sweep, source.protocol)
        yield Ablation(sweep.title, of_table(table), _captioned(folder, sweeps.captions(sweep)))
    if course := _captioned(folder, EPOCHS):
        yield Ablation("Epochs", [], course)


def _support_sizes(source: Source, cell: Cell) -> Iterator[Ablation]:
    """Yield how large the support should be: without Retrain, and then after the fact."""
    supports = supports_of(cell)
    if supports is None:
        return
    pictures = _captioned(source.folder / "figures" / cell.name, support.CAPTIONS)
    free = [picture for picture in pictures if picture.name != support.AFTER_THE_FACT]
    after = [picture for picture in pictures if picture.name == support.AFTER_THE_FACT]
    tables = [of_sizes(supports), of_auto(supports)]
    yield Ablation("Support size, without Retrain", tables, free, auto_in_words(supports))
    title = "Support size after the fact: this uses Retrain"
    yield Ablation(title, [of_retrain(supports)], after)


def _pictures(
    folder: Path, captions: Mapping[str, str], hidden: Collection[str] = ()
) -> list[Picture]:
    """Return the figures of a folder, those with a caption first and in its order."""
    names = sorted({path.stem for path in folder.glob("*.png")}.difference(hidden))
    others = {name: "" for name in names if name not in captions}
    return _captioned(folder, {**captions, **others})


def _captioned(folder: Path, captions: Mapping[str, str]) -> list[Picture]:
    """Return the figures with these captions, as far as they are there."""
    files = {name: folder / f"{name}.png" for name in captions}
    return [
        Picture(name, data_uri(file.read_bytes()), captions[name])
        for name, file in files.items()
        if file.exists()
    ]


def _strips(folder: Path, cell: Cell) -> list[Strip]:
    """Return the images, where the cache has them."""
    runs = [run for run in cell.labels if cell.kinds[run] != "control"]
    outputs = [
        folder / cell.name / f"seed-{seed}" / run / "outputs.npz"
        for seed in cell.seeds
        for run in runs
    ]
    needed = [folder / "labels.npz", folder / cell.name / "neighbours.npz", *outputs]
    if not all(path.exists() for path in needed):
        return []
    return strips(folder / cell.name, cell, Labels.load(folder / "labels.npz"))


def _versions(folder: Path, cell: Cell) -> str:
    path = folder / cell.name / f"seed-{cell.seeds[0]}" / REFERENCE / "record.json"
    versions = read_json(path).get("versions", {}) if path.exists() else {}
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _theory(folder: Path) -> dict[str, Any]:
    captions = read_json(folder / "figures" / "captions.json")
    names = {"findings": "Findings", "checks": "Checks"}
    paths = {title: folder / f"{name}.csv" for name, title in names.items()}
    return {
        "pictures": _pictures(folder / "figures", captions),
        "grids": [of_csv(title, path) for title, path in paths.items() if path.exists()],
    }
