"""Write a first config for a folder of images, a model and a forget set."""

import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from collateral.commands._proposal import InitRequest, Proposal, find_typical_size, propose
from collateral.config.cells import slug
from collateral.contract.messages import listed
from collateral.data._readers.file_list import find_tables
from collateral.plan import paths
from collateral.plan.estimate import duration
from collateral.results.files import atomic

MOST_LISTED = 20  # maximum number of classes that are listed
RUN = "RUN   (the method that you use, or retrain)"


def init(
    request: InitRequest,
    *,
    out: Annotated[Path | None, "the config; by default named as the folder"] = None,
) -> None:
    """Inspect the folder, write the config, and print the next steps."""
    out = out or Path(f"{slug(request.folder.resolve().name)}.yaml")
    if out.exists():
        raise ValueError(f"--out: {out} is there already; delete it, or give another name")
    if problems := [*_option_errors(request)]:
        raise ValueError("\n".join(problems))
    found = propose(replace(request, table=request.table or _find_table(request)))
    with atomic(out) as temporary:
        temporary.write_text(found.text)
    print("\n".join([*_describe_folder(found), "", *_describe_result(found, out)]))


def _option_errors(wish: InitRequest) -> Iterator[str]:
    """Yield an error for each wrong or missing option."""
    if wish.forget and wish.forget_where:
        yield "--forget-where: not with --forget; leave one of them out"
    if wish.test_share is not None and not 0 < wish.test_share < 1:
        yield f"--test-share: {wish.test_share:g}: should be between 0 and 1"
    if wish.weights and wish.size is None:
        yield "--size: missing; with --weights, say at which size your model was trained"
    here, images = Path.cwd(), wish.folder.resolve()
    if images in (here, here / paths.RESULTS) or here.is_relative_to(images):
        yield f"folder: {wish.folder}: results would lie among the images; start elsewhere"
    # Without --test and --test-share, test images may be among the model's train images.
    if wish.weights and not (wish.has_own_test or wish.test) and wish.test_share is None:
        yield (
            f"--test: missing; your model may have been trained on every image in {wish.folder}, "
            "and its accuracy on those is no test accuracy. Give images that it never saw: --test "
            "FOLDER (a folder a class) or --test LIST (paths below the folder, one a line). If "
            "there are none: --test-share 0.2 draws some, and a check says not to trust TA"
        )


def _find_table(wish: InitRequest) -> Path | None:
    """Return the table in or beside the folder that has the column of `--forget-where`."""
    if not wish.forget_where or not wish.folder.is_dir():
        return None
    found = find_tables(wish.folder, wish.forget_where.column)
    if len(found) == 1:
        return found[0]
    tables = listed("CSV files with a column `file`", [*map(str, found)])
    raise ValueError(f"--table: missing; {tables}; say which with --table FILE")


def _describe_folder(found: Proposal) -> list[str]:
    examples, left_out = found.index.examples, found.index.left_out
    width, height = find_typical_size(found.headers)
    num_train, num_test = (examples.count(test=test) for test in (False, True))
    counts = [*zip(examples.class_names, num_train, num_test, strict=True)]
    longest = max(len(name) for name, *_ in counts[:MOST_LISTED])
    broken = {path: error for path, error in found.headers.items() if isinstance(error, str)}
    return [
        f"{found.request.folder}: {len(counts)} classes, images of about {width}x{height} pixels",
        *(f"  {name:{longest}}  {a:>7,} train {b:>7,} test" for name, a, b in counts[:MOST_LISTED]),
        *(["  ..."] if len(counts) > MOST_LISTED else []),
        *([listed(f"left out {len(left_out):,} files and folders", left_out)] if left_out else []),
        *(f"cannot be read: {path}: {error}" for path, error in broken.items()),
        *_describe_table(found),
        f"to forget: {found.num_forget:,} of {found.num_train:,} train images",
    ]


def _describe_table(found: Proposal) -> Iterator[str]:
    """Describe the table, and say whether the same persons are in the train and the test set."""
    request, examples = found.request, found.index.examples
    if request.table:
        yield f"table: {request.table}, {listed('columns', [*examples.columns])}"
    if request.source.test_by:
        yield f"test set: no {request.source.test_by} is in both train and test set"
    elif wanted := request.forget_where:
        tested = examples.read_part(test=True)[1].get(wanted.column)
        if tested is None:
            yield "test set: not in the table; whether it has images of the same persons is unknown"
        elif count := sum(value in wanted.is_ for value in tested):
            same = f"have a {wanted.column} that is to be forgotten, and count in TA and MIA"
            yield f"test set: {count:,} of {found.num_test:,} images {same}"


def _describe_result(found: Proposal, out: Path) -> list[str]:
    chosen = f"{found.size} pixels, {found.epochs} epochs, {found.seeds} seeds"
    where = "a GPU" if found.request.rates.is_gpu else f"{found.request.cores} CPU cores"
    late = (
        "" if found.minutes <= found.request.minutes else ", more than asked for: nothing is less"
    )
    is_request = found.request.forget or found.request.forget_where
    snakefile = "" if Path("Snakefile").exists() else '--snakefile "$(collateral where)" '
    return [
        f"wrote {out}: {chosen}; about {duration(found.minutes / 60)} on {where}{late}",
        f"next:   snakemake --cores all {snakefile}--configfile {shlex.quote(str(out))}",
        f"then:   open results/{found.name}/report.html",
        *([f"record: collateral evidence {found.name}/withdrawn {RUN}"] if is_request else []),
        *_describe_earlier(found.name, out),
    ]


def _describe_earlier(name: str, out: Path) -> list[str]:
    """Warn if a run of the config would replace the results of an earlier request."""
    folder = Path(paths.SPLIT.format(benchmark=name, cell="withdrawn")).parent
    if not folder.exists():
        return []
    return [
        f"note:   {folder} has the results of an earlier request, which a run replaces; to keep "
        f"them, write another name than {name} below `benchmarks:` in {out}"
    ]
