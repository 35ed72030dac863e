"""Write every file that is made from the code: pages of docs/, schemas, conda files, rule graph.

    python docs/generate.py               # write the stale files and print their names
    python docs/generate.py methods.md    # only files whose path contains one of these texts
    python docs/generate.py --check       # print the stale files, write nothing, exit with 1

tests/unit/test_generated_files.py makes the same check.
"""

import json
from argparse import ArgumentParser
from collections.abc import Callable
from functools import partial
from pathlib import Path

from generators import (
    atlas,
    borders,
    captions,
    claims,
    config,
    defaults,
    findings,
    plugins,
    reproduction,
    results,
    rule_graph,
    settings,
    snakemake_files,
    statistics,
    trust,
)
from generators.snakemake_files import RULES
from generators.tables import fill_marks
from generators.troubleshooting import fill_messages

from collateral.config.json_schema import SCHEMA_FILE, json_schema

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
# Contents between the marks of each page.
MARKED: dict[str, Callable[[], dict[str, str]]] = {
    "atlas": atlas.atlas_tables,
    "config": config.config_tables,
    "data-sets": lambda: {
        "contents": plugins.table_of_data(),
        "data": plugins.data_sets(),
        "models": plugins.models(),
    },
    "findings": lambda: {"findings": findings.findings()},
    "limitations": lambda: {"settings": results.list_of_settings()},
    "methods": lambda: {
        "shared": plugins.shared_keys(),
        "methods": plugins.methods(),
        "controls": plugins.table_of_controls(),
    },
    "reading": lambda: {
        **captions.sentences(("tour-page", "tour-similarity", "tour-verdict")),
        "borders": borders.borders_table(),
    },
    "results": lambda: {"benchmarks": results.results_table()} | reproduction.result_tables(),
    "settings": settings.miniatures,
    "statistics": statistics.calibration_tables,
    "which-number": trust.which_number_tables,
}


def schema_text() -> str:
    """Return the JSON schema that editors use for configs."""
    return json.dumps(json_schema(), indent=2, sort_keys=True) + "\n"


def marked_page(name: str) -> str:
    """Return a page with new contents between its marks."""
    return fill_marks(DOCS / f"{name}.md", MARKED[name]())


# Function that returns the current text of each generated file, by path in the repository.
FILES: dict[str, Callable[[], str]] = {
    str(SCHEMA_FILE.relative_to(ROOT)): schema_text,
    "workflow/schemas/config.schema.yaml": snakemake_files.catalog_schema,
    **{f"envs/{name}.yaml": partial(snakemake_files.conda_file, name) for name in RULES},
    "environment.yml": snakemake_files.whole_environment,
    **{f"docs/{name}.md": partial(marked_page, name) for name in MARKED},
    "docs/troubleshooting.md": partial(fill_messages, DOCS / "troubleshooting.md"),
    "workflow/collateral/report/doubts.csv": trust.doubts,
    "docs/claims.csv": claims.claims_file,
    "docs/published.csv": defaults.published,
    "docs/images/workflow.svg": rule_graph.rule_graph,
    "README.md": lambda: fill_marks(ROOT / "README.md", captions.sentences(("tour-page",))),
}


def main() -> None:
    """Write or check the files that the command line names; all by default."""
    parser = ArgumentParser(description="Write the files that are made from the code.")
    parser.add_argument("names", nargs="*", default=[""])
    parser.add_argument("--check", action="store_true", help="write nothing")
    args = parser.parse_args()
    names = [file for file in FILES if any(name in file for name in args.names)]
    texts = {file: FILES[file]() for file in names}
    stale = [file for file in names if (ROOT / file).read_text(encoding="utf-8") != texts[file]]
    for file in stale:
        print(f"{file}: stale" if args.check else f"{file}: written")
        if not args.check:
            (ROOT / file).write_text(texts[file], encoding="utf-8")
    print(f"{len(names) - len(stale)} of {len(names)} files were up to date")
    raise SystemExit(1 if stale and args.check else 0)


if __name__ == "__main__":
    main()
