"""Write a first config for a folder of images, a model and a forget set."""

import shlex
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Annotated

from collateral.commands._proposal import (
    TEMPLATES,
    InitRequest,
    Proposal,
    find_typical_size,
    propose,
)
from collateral.config.cells import slug
from collateral.config.errors import format_key
from collateral.config.load import load
from collateral.config.weights import SEED
from collateral.config.yaml import parse
from collateral.contract.messages import listed, looked_for
from collateral.data._readers.file_list import find_tables
from collateral.jobs import list_jobs
from collateral.plan import paths
from collateral.plan.estimate import duration
from collateral.plan.grid import build_grid
from collateral.plan.preflight import find_weights_errors
from collateral.results.files import atomic

MOST_LISTED = 20  # maximum number of classes that are listed


def init(
    request: InitRequest,
    *,
    out: Annotated[Path | None, "file to write; default: the name of the folder, .yaml"] = None,
) -> None:
    """Inspect the folder, write the config, and print the next steps."""
    out = out or Path(f"{slug(request.folder.resolve().name)}.yaml")
    if out.exists():
        raise ValueError(f"--out: {out} is there already; delete it, or give another name")
    if problems := [*_option_errors(request), *_model_errors(request)]:
        raise ValueError("\n".join(problems))
    found = propose(replace(request, table=request.table or _find_table(request)))
    if problems := _find_misfits(found):
        raise ValueError("\n".join(problems))
    with atomic(out) as temporary:
        temporary.write_text(found.text)
    print(_describe(found, out), end="")
    if line := _likely_hurt(found.name, out):
        print(f"\n{line}")


def _likely_hurt(name: str, config: Path) -> str:
    """Return a line on who is likely to be hurt, if a base model is there and an atlas; else ""."""
    if not Path(paths.BASE.format(benchmark=name, seed=0)).parent.is_dir():
        return ""
    # Imported only if there are results, because numpy may be missing where a config is written.
    line: str = import_module("collateral.commands.forecast").likely_hurt(config)
    return line


def _option_errors(wish: InitRequest) -> Iterator[str]:
    """Yield an error for each wrong option on time, forget set, test set or output folder."""
    if not wish.minutes > 0:  # This includes nan.
        yield f"--minutes: {wish.minutes:g}: should be above 0"
    if wish.forget and wish.forget_where:
        yield "--forget-where: not with --forget; leave one of them out"
    if wish.test_share is not None and not 0 < wish.test_share < 1:
        yield f"--test-share: {wish.test_share:g}: should be between 0 and 1"
    paths_of = {f"--{name}": getattr(wish, name) for name in ("forget", "table", "test")}
    for option, path in {"folder": wish.folder, **paths_of}.items():
        if path and path.exists() and not (path.is_file() or path.is_dir()):
            yield f"{option}: {path}: is a pipe or a device, whose reading may not end"
    here, images = Path.cwd(), wish.folder.resolve()
    if images in (here, here / paths.RESULTS) or here.is_relative_to(images):
        yield f"folder: {wish.folder}: results would lie among the images; start elsewhere"


def _model_errors(wish: InitRequest) -> Iterator[str]:
    """Yield an error for each wrong or missing option of the trained model."""
    if wish.weights and wish.size is None:
        yield "--size: missing; with --weights, say at which size your model was trained"
    if bool(wish.mean) != bool(wish.std):
        yield "--mean, --std: go together; give both, or neither"
    path = Path(wish.weights or "")
    if wish.weights and SEED not in wish.weights and not path.expanduser().is_file():
        yield f"--weights: there is no file {wish.weights}{looked_for(path)}"
    # Without --test and --test-share, test images may be among the model's train images.
    if wish.weights and not (wish.has_own_test or wish.test) and wish.test_share is None:
        yield (
            f"--test: missing; your model may have been trained on every image in {wish.folder}, "
            "and its accuracy on those is no test accuracy. Give images that it never saw: --test "
            "FOLDER (a folder a class) or --test LIST (paths below the folder, one a line). If "
            "there are none: --test-share 0.2 draws some, and a check says not to trust TA"
        )


def _find_misfits(found: Proposal) -> list[str]:
    """Return an error for each file of the trained model that is missing or does not fit."""
    if not found.request.weights:
        return []
    (benchmark,) = build_grid(load(parse(found.text))).values()
    key = format_key(("benchmarks", benchmark.name, "base", "weights"))
    errors = find_weights_errors(benchmark, list_jobs(benchmark))
    return [f"--weights{error.removeprefix(key)}" for error in errors]


def _find_table(wish: InitRequest) -> Path | None:
    """Return the CSV file, in or beside the folder, that has the column of `--forget-where`.

    Return None if that option is not given.
    """
    if not wish.forget_where or not wish.folder.is_dir():
        return None
    found = find_tables(wish.folder, wish.forget_where.column)
    if len(found) == 1:
        return found[0]
    tables = listed("CSV files with a column `file`", [*map(str, found)])
    raise ValueError(f"--table: missing; {tables}; say which with --table FILE")


def _describe(found: Proposal, out: Path) -> str:
    """Return what was found in the folder, the choices in the config, and the next steps."""
    request, examples, left_out = found.request, found.index.examples, found.index.left_out
    width, height = find_typical_size(found.headers)
    num_train, num_test = (examples.count(test=test) for test in (False, True))
    is_here = Path("Snakefile").exists()
    return TEMPLATES.get_template("init.txt.j2").render(
        found=found,
        request=request,
        width=width,
        height=height,
        counts=[*zip(examples.class_names, num_train, num_test, strict=True)],
        most=MOST_LISTED,
        longest=max(map(len, examples.class_names[:MOST_LISTED])),
        left_out=left_out and listed(f"left out {len(left_out):,} files and folders", left_out),
        broken={path: one for path, one in found.headers.items() if isinstance(one, str)},
        columns=listed("columns", [*examples.columns]),
        tested=_count_tested(found),
        unknown=_list_unknown(found),
        time=duration(found.minutes / 60),
        snakefile="" if is_here else '--snakefile "$(collateral where)" ',
        config=shlex.quote(str(out)),
        out=out,
        earlier=Path(paths.SPLIT.format(benchmark=found.name, cell="withdrawn")).parent,
    )


def _list_unknown(found: Proposal) -> str:
    """Return the number and names of images without a value in the column of `--forget-where`."""
    wanted, examples = found.request.forget_where, found.index.examples
    if wanted is None:
        return ""
    values = examples.columns[wanted.column]
    names = [name for name, value in zip(examples.names, values, strict=True) if value == ""]
    return listed(f"{len(names):,} of {len(values):,} images", names) if names else ""


def _count_tested(found: Proposal) -> int | None:
    """Return how many test images match `--forget-where`; None if they lack its column."""
    wanted = found.request.forget_where
    if wanted is None:
        return 0
    values = found.index.examples.read_part(test=True)[1].get(wanted.column)
    return None if values is None else sum(value in wanted.is_ for value in values)
