"""Texts of a published folder: croissant.json, README.md, model cards and licences."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

import collateral
from collateral.findings.metric_index import find_metric
from collateral.metrics.statistics import mean, std
from collateral.plugins.find import DATA
from collateral.report.published import COLUMNS, Published
from collateral.results import layout
from collateral.results.cell import CellResults
from collateral.results.gates import Gate, read_gates
from collateral.results.outputs import MANY_CLASSES
from collateral.results.plan import About, BenchmarkPlan
from collateral.results.provenance import read_record, verify
from collateral.results.table import CellTable, read_tables

FOLDER = "publication"  # folder of the templates
SPDX = "https://spdx.org/licenses/"
# Types of Croissant by column; all other columns are texts.
TYPES = {
    **dict.fromkeys(("seed", "example", "label", "prediction", "order", "base_seed"), "sc:Integer"),
    **dict.fromkeys(("confidence", "similarity", "value", "fraction", "logits"), "sc:Float"),
    "image": "sc:ImageObject",
}
PARQUET, CSV = "application/x-parquet", "text/csv"  # mlcroissant reads no other type of parquet
UNKNOWN = "Not stated: the images are the publisher's own, or those of a plug-in."
SHOWN = ("ua", "ra", "ta", "mia")  # metrics of the model cards, besides near loss and gap
FILE_SETS = ("outputs", "logits")  # tables in a file per cell
# What a row of each table is.
ROWS = {
    "outputs": "example of a model",
    "logits": "example of a model",
    "examples": "example of a cell",
    "similarity": "example of a seed",
    "attack": "member or non-member that an attack learns from",
    "images": "image",
    "runs": "run and seed",
    "metrics": "number",
}
# What models that are no method's were trained on.
TRAINED = {
    layout.RETRAIN: "All train images but those of the forget set, and of earlier requests.",
    layout.ORIGINAL: "All train images; weights that somebody gave, as their owner says.",
}
NEAR_LOSS = (("near_loss", "retain"), ("near_loss", "test"))


@dataclass(frozen=True)
class Source:
    """A data set: where it comes from, its licence, and what is known of its images.

    All but source and licence stand in a .toml file beside the file of the data set.
    """

    name: str
    source: str
    licence: str
    url: str = ""
    licence_url: str = ""
    images: bool = False  # whether the licence allows to pass the images on
    synthetic: bool = False
    people: str = UNKNOWN  # whether the images show or come from people
    biases: str = UNKNOWN
    limits: str = UNKNOWN

    @property
    def is_known(self) -> bool:
        """Whether the data set is a published one, and not the user's own."""
        return bool(self.url) or self.synthetic


def read_source(name: str, options: Mapping[str, Any]) -> Source:
    """Return what is known of a data set with these options."""
    info, file = DATA.load(name).INFO, DATA.file(name).with_suffix(".toml")
    facts = tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    member = str(options.get("dataset", ""))
    facts |= facts.pop("sets", {}).get(member, {})
    known = {"name": member or name, "source": info.source, "licence": info.licence}
    return Source(**{**known, **facts})


@dataclass(frozen=True)
class Benchmark:
    """What the texts say of one published benchmark."""

    published: Published
    plan: BenchmarkPlan
    source: Source
    withheld: bool  # whether the config keeps images of some examples back
    tables: Mapping[str, CellTable]
    gates: Sequence[Gate]
    made: Mapping[str, Any]  # of the record of the first reference: versions and device

    @staticmethod
    def read(published: Published, source: Source) -> Benchmark:
        """Read the numbers and the checks of a benchmark."""
        folder, cells = published.folder, published.cells
        plan = BenchmarkPlan.load(folder / layout.PLAN)
        tables = read_tables(plan, verify(folder / layout.METRICS, folder)).cells
        records = [folder / layout.PICTURES_RECORD.format(cell=cell.name) for cell in cells]
        keeps = [read_record(one, folder)["keep"] for one in records if one.exists()]
        return Benchmark(
            published,
            plan,
            source,
            any(keep != "all" for keep in keeps),
            {table.name: table for table in tables},
            read_gates(verify(folder / layout.GATES, folder)),
            cells[0].reference_result(cells[0].seeds[0]).record,
        )

    @property
    def name(self) -> str:
        """Name of the benchmark."""
        return self.published.name

    @property
    def cells(self) -> tuple[CellResults, ...]:
        """Results of the cells."""
        return self.published.cells

    @property
    def size(self) -> dict[str, int]:
        """Numbers of classes, train and test examples, cells, seeds and models."""
        cell = self.cells[0]
        models = {r.folder for c in self.cells for r in c.all_results() if not r.is_diverged}
        return {
            "classes": self.published.num_classes,
            "train": len(cell.labels.train),
            "test": len(cell.labels.test),
            "cells": len(self.cells),
            "seeds": len(cell.seeds),
            "models": len(models),
        }

    @property
    def red_gates(self) -> list[Gate]:
        """Checks that failed."""
        return [gate for gate in self.gates if gate.colour == "red"]

    @property
    def device(self) -> str:
        """Devices and versions of the first reference, in one line."""
        versions = [f"{name} {value}" for name, value in self.made.get("versions", {}).items()]
        device = self.made.get("numerics", {}).get("device", "")
        return ", ".join([*([device] if device else []), *versions]) or "not recorded"


@dataclass(frozen=True)
class Publication:
    """What the texts say of the folder as a whole."""

    benchmarks: Sequence[Benchmark]
    title: str
    date: str
    version: str
    licence: str
    creator: str
    url: str
    citation: str  # BibTeX entries
    # For each record set: hash by path, or a pattern of paths.
    files: Mapping[str, Mapping[str, str] | str]

    @property
    def tool(self) -> str:
        """Name and version of the program that made the folder."""
        return f"Collateral {collateral.__version__}"

    @property
    def licence_url(self) -> str:
        """Address of the licence of what this folder adds."""
        return self.licence if "://" in self.licence else f"{SPDX}{self.licence}"

    @property
    def sources(self) -> list[Source]:
        """The data sets, each once."""
        return list(dict.fromkeys(one.source for one in self.benchmarks))

    @property
    def is_short(self) -> bool:
        """Whether only the largest logits of each example are known."""
        return any(one.published.num_classes > MANY_CLASSES for one in self.benchmarks)


def croissant(of: Publication) -> dict[str, Any]:
    """Return croissant.json: what the files are, and the eight responsible-AI fields."""
    stated = {"url": of.url, "creator": of.creator and {"@type": "Person", "name": of.creator}}
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": [
            "http://mlcommons.org/croissant/1.0",
            "http://mlcommons.org/croissant/RAI/1.0",
        ],
        "name": "-".join(one.name for one in of.benchmarks),
        "description": describe(of),
        "license": of.licence_url,
        **{key: value for key, value in stated.items() if value},
        "datePublished": of.date,
        "version": of.version,
        "citeAs": of.citation,
        **responsible(of),
        "distribution": [one for name in of.files for one in _distribution(name, of.files[name])],
        "recordSet": [_record_set(name) for name in of.files],
    }


def responsible(of: Publication) -> dict[str, Any]:
    """Return the eight responsible-AI fields, each from what is known of these benchmarks."""
    texts = {
        name: [f"{source.name}: {getattr(source, name)}" for source in of.sources]
        for name in ("people", "biases", "limits")
    }
    words = render("responsible.txt.j2", of=of).strip().split("\n\n")
    limits, biases, personal, uses, impact = (" ".join(text.split()) for text in words)
    return {
        "rai:dataLimitations": [limits, *texts["limits"]],
        "rai:dataBiases": [biases, *texts["biases"]],
        "rai:personalSensitiveInformation": [personal, *texts["people"]],
        "rai:dataUseCases": uses,
        "rai:dataSocialImpact": impact,
        "rai:hasSyntheticData": any(source.synthetic for source in of.sources),
        "prov:wasDerivedFrom": [
            {"@type": "prov:Entity", **({"@id": s.url} if s.url else {}), "name": s.source}
            for s in of.sources
        ],
        "prov:wasGeneratedBy": [
            {"@type": "prov:Activity", "name": f"{of.tool}: {one.name}", "description": one.device}
            for one in of.benchmarks
        ],
    }


def _distribution(name: str, files: Mapping[str, str] | str) -> Iterator[dict[str, Any]]:
    if isinstance(files, str):
        about = {"@type": "cr:FileSet", "@id": f"files-{name}", "name": name}
        yield {**about, "encodingFormat": PARQUET, "includes": files}
        return
    for path, digest in files.items():
        about = {"@type": "cr:FileObject", "@id": f"files-{name}", "name": path}
        kind = CSV if path.endswith(".csv") else PARQUET
        yield {**about, "contentUrl": path, "encodingFormat": kind, "sha256": digest}


def _record_set(name: str) -> dict[str, Any]:
    key = "fileSet" if name in FILE_SETS else "fileObject"
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{name}/{column}",
            "name": column,
            "description": text,
            "dataType": TYPES.get(column, "sc:Text"),
            **({"repeated": True} if column == "logits" else {}),
            "source": {key: {"@id": f"files-{name}"}, "extract": {"column": column}},
        }
        for column, text in COLUMNS[name].items()
    ]
    return {"@type": "cr:RecordSet", "@id": name, "name": name, "field": fields}


def cards(of: Publication) -> Iterator[tuple[str, str]]:
    """Yield path and text of a model card per run and cell; sweeps are left out."""
    for one in of.benchmarks:
        for cell in one.cells:
            for run in (cell.reference, *cell.runs):
                if not layout.is_sweep(run):
                    yield f"cards/{one.name}/{cell.name}/{run}.md", _card(of, one, cell, run)


def _card(of: Publication, one: Benchmark, cell: CellResults, run: str) -> str:
    results = [cell.result(run, seed) for seed in cell.seeds]
    sound = next((result for result in results if not result.is_diverged), results[0])
    table = one.tables[cell.name]
    return render(
        "card.md.j2",
        of=of,
        one=one,
        cell=cell,
        run=run,
        about=one.plan.about.get(run, About()),
        label=table.labels.get(run, run),
        title=table.title,
        statuses={result.seed: result.status for result in results},
        record=sound.record,
        rows=list(_numbers(table, run)),
        red=[gate for gate in one.red_gates if gate.cell == cell.name],
    )


def _numbers(table: CellTable, run: str) -> Iterator[dict[str, Any]]:
    """Yield the numbers of a run with those of the reference: mean and standard deviation."""
    for metric, subset in (*((name, "") for name in SHOWN), *NEAR_LOSS):
        own, other = (table.values(one, metric, subset) for one in (run, table.reference))
        if not math.isnan(mean(own)):
            label = f"{find_metric(metric).label}{f', {subset}' if subset else ''}"
            found = {"mean": mean(own), "std": std(own), "reference": mean(other)}
            yield {"metric": metric, "set": subset, "label": label, **found}
    if not math.isnan(gap := table.number(run, "avg_gap")):
        yield {"metric": "avg_gap", "set": "", "label": "Avg. Gap", "mean": gap, "std": math.nan}


def readme(of: Publication) -> str:
    """Return README.md: the files, and a datasheet."""
    meanings: dict[str, str] = {}
    for name in of.files:  # of a column of several tables, the first meaning
        meanings = {**COLUMNS[name], **meanings}
    return render("README.md.j2", of=of, rai=responsible(of), meanings=meanings)


def render(template: str, **content: Any) -> str:
    """Return a text made from a template."""
    return TEMPLATES.get_template(template).render(content)


def describe(of: Publication) -> str:
    """Return the description of the folder in one paragraph."""
    return render("description.txt.j2", of=of).strip()


def number(value: float) -> str:
    """Return a number with four decimals, or a dash if it is undefined."""
    return "–" if math.isnan(value) else f"{value:.4f}"


TEMPLATES = Environment(
    loader=PackageLoader("collateral.report", FOLDER),
    autoescape=False,  # texts of Markdown and JSON
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
TEMPLATES.filters |= {"number": number, "description": describe}
TEMPLATES.globals |= {"COLUMNS": COLUMNS, "ROWS": ROWS, "TRAINED": TRAINED}
# Official context of Croissant 1.0, with the namespaces of responsible-AI fields and of provenance.
CONTEXT = json.loads((Path(__file__).parent / FOLDER / "context.json").read_text(encoding="utf-8"))
