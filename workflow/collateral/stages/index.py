"""The pages of benchmarks in, also those of other configs; the index over all of them out."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from collateral.report.index import list_pages, render_index
from collateral.results import layout
from collateral.results.chain import sealed_page
from collateral.results.files import atomic


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what goes in and comes out."""
    parser.add_argument("--results", type=Path, required=True, help="folder of benchmarks")
    parser.add_argument("--first", nargs="*", default=[], help="benchmarks, in this order")
    parser.add_argument("--theory", type=Path, help="folder of the theory's figures")
    parser.add_argument("--out", type=Path, required=True, help="the index")


def run(args: Namespace) -> None:
    """Render the index and write it."""
    pages = list_pages(args.results, args.first)
    inputs = [args.results / page.name / layout.GLANCE for page in pages]
    inputs += [args.theory / layout.RECORD] if args.theory else []
    page = sealed_page(render_index(pages, args.theory), inputs, args.out.parent)
    with atomic(args.out) as temporary:
        temporary.write_text(page, encoding="utf-8")
