"""Write a first config for a folder of images, a model and a list of what to forget."""

import argparse
import shlex
from pathlib import Path

from collateral.config.names import slug
from collateral.config.weights import SEED
from collateral.contract.cores import num_cores
from collateral.contract.spelling import looked_for
from collateral.data._reading.table import find_tables
from collateral.data.forget import where
from collateral.plan import paths
from collateral.plan.estimate.words import duration
from collateral.plan.proposal import Proposal, Trained, Wish, looks, propose, unreadable
from collateral.plan.proposal_text import as_yaml
from collateral.plan.rates import SHIPPED
from collateral.results.files import atomic
from collateral.stages.estimate import default_device

MOST_LISTED = 20  # classes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("folder", type=Path, help="images: a folder a class, or train/ and test/")
    parser.add_argument("--model", default="timm/resnet18", help="as in the config")
    parser.add_argument("--forget", type=Path, help="a list of files to forget, one a line")
    parser.add_argument(
        "--forget-where",
        type=_column_and_values,
        metavar="COLUMN=VALUE,VALUE",
        help="forget all images with these values in the table, such as subject=17,23",
    )
    parser.add_argument(
        "--table", type=Path, help="a CSV file with a column `file`; else looked for at the folder"
    )
    parser.add_argument(
        "--test", type=Path, help="the test set: a folder of classes, or a list of files"
    )
    parser.add_argument("--test-share", type=float, help="draw the test set from the folder")
    parser.add_argument("--weights", help="your trained model: .safetensors, or .pt")
    parser.add_argument("--size", type=int, help="height and width that the model sees, in pixels")
    for name in ("mean", "std"):
        parser.add_argument(
            f"--{name}", type=float, nargs="+", default=[], help=f"{name} that it was trained with"
        )
    parser.add_argument("--minutes", type=float, default=60, help="how long it may take")
    parser.add_argument("--name", default="", help="the benchmark's; by default the folder's")
    parser.add_argument("--out", type=Path, help="the config; by default named as the folder")


def run(args: argparse.Namespace) -> None:
    """Look at the folder, write the config, and say what comes next."""
    out = args.out or Path(f"{slug(args.folder.resolve().name)}.yaml")
    if out.exists():
        raise ValueError(f"--out: {out} is there already; give another name")
    _check_options(args)
    _refuse_working_folder(args.folder)
    rates = SHIPPED[default_device()]
    wish = Wish(
        args.folder,
        args.model,
        args.forget,
        Trained(args.weights, args.mean, args.std) if args.weights else None,
        args.size,
        args.minutes,
        rates,
        1 if rates.is_gpu else num_cores(),
        tuple(map(str, args.plugins)),
        args.name,
        _table(args),
        args.forget_where,
        args.test,
        args.test_share,
    )
    _refuse_seen_test_set(wish)
    found = propose(wish)
    with atomic(out) as temporary:
        temporary.write_text(as_yaml(found))
    print("\n".join([*_seen(found), "", *_written(found, out)]))


def _column_and_values(text: str) -> where.Params:
    """Read `subject=17,23`; values stay text, so that 017 keeps its zero."""
    column, _, values = text.partition("=")
    listed = tuple(value.strip() for value in values.split(","))
    if not column.strip() or not all(listed):
        raise argparse.ArgumentTypeError(f"{text!r}: should be COLUMN=VALUE,VALUE")
    return where.Params.model_validate({"column": column.strip(), "is": listed})


def _table(args: argparse.Namespace) -> Path | None:
    """Return the table that is given, or the one at the folder that `--forget-where` needs."""
    given: Path | None = args.table
    if given or not args.forget_where or not args.folder.is_dir():
        return given
    found = find_tables(args.folder, args.forget_where.column)
    if len(found) == 1:
        return found[0]
    listed = f": {', '.join(map(str, found))}" if found else ""
    said = f"{len(found)} CSV files with a column `file` in {args.folder} and beside it{listed}"
    raise ValueError(f"--table: missing; {said}; say which with --table FILE")


def _refuse_seen_test_set(wish: Wish) -> None:
    """Ask for a test set where a share would be drawn from images the model was trained on."""
    if wish.trained and not wish.has_own_test and wish.test is None and wish.test_share is None:
        raise ValueError(
            f"--test: missing; your model may have been trained on every image in {wish.folder}, "
            "and its accuracy on those is no test accuracy. Give images that it never saw: --test "
            "FOLDER (a folder a class) or --test LIST (paths below the folder, one a line). If "
            "there are none: --test-share 0.2 draws some, and a check says not to trust TA"
        )


def _check_options(args: argparse.Namespace) -> None:
    """Refuse what cannot be meant; the config's own keys are checked when it is proposed."""
    _check_sets(args)
    if not args.minutes > 0:
        raise ValueError(f"--minutes: {args.minutes:g}: should be above 0")
    if not args.weights and (args.mean or args.std):
        raise ValueError("--mean, --std: of a trained model; give its --weights as well")
    if args.weights and args.size is None:
        raise ValueError(
            "--size: missing; with --weights, say at which size your model was trained"
        )
    if args.weights and SEED not in args.weights and not Path(args.weights).expanduser().is_file():
        said = f"--weights: there is no file {args.weights}"
        raise ValueError(f"{said}{looked_for(Path(args.weights))}")


def _check_sets(args: argparse.Namespace) -> None:
    """Refuse options of the forget set and the test set that cannot be meant."""
    if args.forget and args.forget_where:
        raise ValueError("--forget-where: not with --forget; leave one of them out")
    if args.forget and not args.forget.expanduser().is_file():
        raise ValueError(f"--forget: there is no file {args.forget}{looked_for(args.forget)}")
    if args.test and args.test_share:
        raise ValueError("--test-share: not with --test; leave one of them out")
    if args.test_share is not None and not 0 < args.test_share < 1:
        raise ValueError(f"--test-share: {args.test_share:g}: should be between 0 and 1")


def _refuse_working_folder(folder: Path) -> None:
    """Stop where results would lie among the images."""
    here, images = Path.cwd(), folder.resolve()
    if images in (here, here / paths.RESULTS) or here.is_relative_to(images):
        raise ValueError(f"folder: {folder}: results would lie among the images; start elsewhere")


def _seen(found: Proposal) -> list[str]:
    tree = found.tree
    width, height = looks(tree)
    counts = [*zip(tree.class_names, tree.counts(tree.train), tree.counts(tree.test), strict=True)]
    longest = max(len(name) for name, *_ in counts[:MOST_LISTED])
    more = len(counts) - MOST_LISTED
    return [
        f"{tree.folder}: {len(counts)} classes, images of about {width}x{height} pixels",
        *(f"  {name:{longest}}  {a:>7,} train {b:>7,} test" for name, a, b in counts[:MOST_LISTED]),
        *([f"  and {more} more"] if more > 0 else []),
        *_left_out(found),
        *_about_table(found),
        f"to forget: {found.num_forget:,} of {len(tree.train):,} train images",
    ]


def _left_out(found: Proposal) -> list[str]:
    names = found.tree.left_out
    said = [f"left out: {name}, as another folder is the test set" for name in found.tree.unused]
    if names:
        more = ", ..." if len(names) > 1 else ""
        said += [f"left out: {len(names):,} files, by name no images ({names[0]}{more})"]
    if hidden := found.tree.hidden:
        more = ", ..." if len(hidden) > 1 else ""
        said += [f"left out: {len(hidden):,} hidden files and folders ({hidden[0]}{more})"]
    return said + [f"cannot be read: {file}: {why}" for file, why in unreadable(found.tree).items()]


def _about_table(found: Proposal) -> list[str]:
    tree, by = found.tree, found.wish.source.test_by
    if not found.wish.table:
        return []
    said = f"table: {found.wish.table}, columns {', '.join(tree.column_names) or 'none'}"
    return [said, *([f"test set: no {by} is in both train and test set"] if by else [])]


def _written(found: Proposal, out: Path) -> list[str]:
    chosen = f"{found.size} pixels, {found.epochs} epochs, {found.seeds} seeds"
    where = "a GPU" if found.wish.rates.is_gpu else f"{found.wish.cores} CPU cores"
    late = "" if found.minutes <= found.wish.minutes else ", more than asked for: nothing is less"
    snakefile = "" if Path("Snakefile").exists() else '--snakefile "$(collateral where)" '
    return [
        f"wrote {out}: {chosen}; about {duration(found.minutes / 60)} on {where}{late}",
        f"next:   snakemake --cores all {snakefile}--configfile {shlex.quote(str(out))}",
        f"then:   open results/{found.name}/report.html",
    ]
