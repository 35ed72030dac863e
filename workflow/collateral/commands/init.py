"""Write a first config for a folder of images, a model and a forget set."""

import shlex
from argparse import ArgumentTypeError
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from collateral.commands._proposal import (
    InitRequest,
    Proposal,
    TrainedModel,
    find_typical_size,
    find_unreadable,
    propose,
)
from collateral.commands._proposal_text import format_yaml
from collateral.commands.estimate import default_device
from collateral.config.names import slug
from collateral.config.weights import SEED
from collateral.contract.messages import looked_for
from collateral.contract.work import count_cores
from collateral.data._readers.table import find_tables
from collateral.data.forget import where
from collateral.plan import paths
from collateral.plan.estimate import SHIPPED, duration
from collateral.results.files import atomic

MOST_LISTED = 20  # classes


def _column_and_values(text: str) -> where.Params:
    """Parse `subject=17,23` into a column and its values; 017 stays text and keeps its zero."""
    column, _, values = text.partition("=")
    listed = tuple(value.strip() for value in values.split(","))
    if not column.strip() or not all(listed):
        raise ArgumentTypeError(f"{text!r}: should be COLUMN=VALUE,VALUE")
    return where.Params.model_validate({"column": column.strip(), "is": listed})


def init(
    folder: Annotated[Path, "images: a folder a class, or train/ and test/"],
    *,
    model: Annotated[str, "as in the config"] = "timm/resnet18",
    forget: Annotated[Path | None, "a list of files to forget, one a line"] = None,
    forget_where: Annotated[
        where.Params | None,
        "forget all images with these values in the table, such as subject=17,23",
        {"type": _column_and_values, "metavar": "COLUMN=VALUE,VALUE"},
    ] = None,
    table: Annotated[
        Path | None, "a CSV file with a column `file`; else looked for at the folder"
    ] = None,
    test: Annotated[Path | None, "the test set: a folder of classes, or a list of files"] = None,
    test_share: Annotated[float | None, "draw the test set from the folder"] = None,
    weights: Annotated[str | None, "your trained model: .safetensors, or .pt"] = None,
    size: Annotated[int | None, "height and width that the model sees, in pixels"] = None,
    mean: Annotated[Sequence[float], "mean that it was trained with", {"nargs": "+"}] = (),
    std: Annotated[Sequence[float], "std that it was trained with", {"nargs": "+"}] = (),
    minutes: Annotated[float, "how long it may take"] = 60,
    name: Annotated[str, "the benchmark's; by default the folder's"] = "",
    out: Annotated[Path | None, "the config; by default named as the folder"] = None,
    plugins: Annotated[Sequence[Path], "folders as under `plugins:`"] = (),
) -> None:
    """Inspect the folder, write the config, and print the next steps."""
    out = out or Path(f"{slug(folder.resolve().name)}.yaml")
    if out.exists():
        raise ValueError(f"--out: {out} is there already; delete it, or give another name")
    if not minutes > 0:
        raise ValueError(f"--minutes: {minutes:g}: should be above 0")
    _check_sets(forget, forget_where, test, test_share)
    _check_trained(weights, [*mean, *std])
    _refuse_working_folder(folder)
    rates = SHIPPED[default_device()]
    wish = InitRequest(
        folder,
        model,
        forget,
        TrainedModel(weights, list(mean), list(std)) if weights else None,
        size,
        minutes,
        rates,
        1 if rates.is_gpu else count_cores(),
        tuple(map(str, plugins)),
        name,
        table or _find_table(folder, forget_where),
        forget_where,
        test,
        test_share,
    )
    if missing := list(_find_missing(wish)):
        raise ValueError("\n".join(missing))
    found = propose(wish)
    with atomic(out) as temporary:
        temporary.write_text(format_yaml(found))
    print("\n".join([*_describe_folder(found), "", *_describe_result(found, out)]))


def _find_table(folder: Path, forget_where: where.Params | None) -> Path | None:
    """Return the table in or beside the folder that has the column of `--forget-where`."""
    if not forget_where or not folder.is_dir():
        return None
    found = find_tables(folder, forget_where.column)
    if len(found) == 1:
        return found[0]
    listed = f": {', '.join(map(str, found))}" if found else ""
    count = f"{len(found)} CSV files with a column `file` in {folder} and beside it{listed}"
    raise ValueError(f"--table: missing; {count}; say which with --table FILE")


def _find_missing(wish: InitRequest) -> Iterator[str]:
    """Yield what a trained model needs besides its weights: its image size, and unseen images."""
    if wish.trained and wish.size is None:
        yield "--size: missing; with --weights, say at which size your model was trained"
    # Without these options, the test set would be drawn from the model's training images.
    if wish.trained and not wish.has_own_test and wish.test is None and wish.test_share is None:
        yield (
            f"--test: missing; your model may have been trained on every image in {wish.folder}, "
            "and its accuracy on those is no test accuracy. Give images that it never saw: --test "
            "FOLDER (a folder a class) or --test LIST (paths below the folder, one a line). If "
            "there are none: --test-share 0.2 draws some, and a check says not to trust TA"
        )


def _check_trained(weights: str | None, normalisation: list[float]) -> None:
    """Raise if options of a trained model contradict each other."""
    if not weights and normalisation:
        raise ValueError("--mean, --std: of a trained model; give its --weights as well")
    if weights and SEED not in weights and not Path(weights).expanduser().is_file():
        message = f"--weights: there is no file {weights}"
        raise ValueError(f"{message}{looked_for(Path(weights))}")


def _check_sets(
    forget: Path | None,
    forget_where: where.Params | None,
    test: Path | None,
    test_share: float | None,
) -> None:
    """Raise if options of the forget set and the test set contradict each other."""
    if forget and forget_where:
        raise ValueError("--forget-where: not with --forget; leave one of them out")
    if forget and not forget.expanduser().is_file():
        raise ValueError(f"--forget: there is no file {forget}{looked_for(forget)}")
    if test and test_share:
        raise ValueError("--test-share: not with --test; leave one of them out")
    if test_share is not None and not 0 < test_share < 1:
        raise ValueError(f"--test-share: {test_share:g}: should be between 0 and 1")


def _refuse_working_folder(folder: Path) -> None:
    """Raise if the results would be written into the folder of images."""
    here, images = Path.cwd(), folder.resolve()
    if images in (here, here / paths.RESULTS) or here.is_relative_to(images):
        raise ValueError(f"folder: {folder}: results would lie among the images; start elsewhere")


def _describe_folder(found: Proposal) -> list[str]:
    tree = found.tree
    width, height = find_typical_size(tree)
    num_train, num_test = (tree.examples.count(test=test) for test in (False, True))
    counts = [*zip(tree.class_names, num_train, num_test, strict=True)]
    longest = max(len(name) for name, *_ in counts[:MOST_LISTED])
    more = len(counts) - MOST_LISTED
    return [
        f"{tree.folder}: {len(counts)} classes, images of about {width}x{height} pixels",
        *(f"  {name:{longest}}  {a:>7,} train {b:>7,} test" for name, a, b in counts[:MOST_LISTED]),
        *([f"  and {more} more"] if more > 0 else []),
        *_describe_ignored(found),
        *_describe_table(found),
        f"to forget: {found.num_forget:,} of {len(tree.train):,} train images",
    ]


def _describe_ignored(found: Proposal) -> list[str]:
    names = found.tree.left_out
    lines = [f"left out: {name}, as another folder is the test set" for name in found.tree.unused]
    if names:
        more = ", ..." if len(names) > 1 else ""
        lines += [f"left out: {len(names):,} files, by name no images ({names[0]}{more})"]
    if hidden := found.tree.hidden:
        more = ", ..." if len(hidden) > 1 else ""
        lines += [f"left out: {len(hidden):,} hidden files and folders ({hidden[0]}{more})"]
    return lines + [
        f"cannot be read: {file}: {why}" for file, why in find_unreadable(found.tree).items()
    ]


def _describe_table(found: Proposal) -> list[str]:
    tree, by = found.tree, found.request.source.test_by
    if not found.request.table:
        return []
    lines = f"table: {found.request.table}, columns {', '.join(tree.column_names) or 'none'}"
    return [lines, *([f"test set: no {by} is in both train and test set"] if by else [])]


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
        *([f"record: collateral evidence {found.name}/withdrawn RUN"] if is_request else []),
    ]
