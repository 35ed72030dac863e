"""Propose a config for a folder of images: as many seeds, epochs and pixels as the time allows."""

from __future__ import annotations

import json
from argparse import ArgumentTypeError
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cache
from pathlib import Path
from statistics import median
from typing import Annotated, Any

from collateral.commands.estimate import default_device
from collateral.config.cells import slug
from collateral.config.errors import ConfigError
from collateral.config.load import load
from collateral.config.weights import BaseParams
from collateral.config.yaml import parse
from collateral.contract.work import count_cores
from collateral.data._readers.decoding import ImageHeader, read_image_header, take_evenly
from collateral.data._readers.image_folder import TESTS, TRAIN, FolderIndex, index_folder
from collateral.data._readers.test_set import FolderOptions
from collateral.data.forget import files, where
from collateral.plan.estimate import SHIPPED, Rates, estimate

# Pairs (seeds, epochs) from best to worst: enough seeds for significant differences come first.
SEEDS_AND_EPOCHS = ((5, 30), (5, 20), (3, 30), (3, 20), (3, 12), (2, 10), (1, 10))
SIZES = (224, 160, 128, 96, 64, 48, 32)  # height and width of the images in pixels
# Smaller images or fewer seeds than these are proposed only if nothing else fits the time limit.
FAIR_SIZE, FEW_SEEDS = 64, 3
TEST_SHARE = 0.2  # fraction of every class for the test set
FRACTION = 0.5  # fraction of the first class to forget, if the user names no forget set
NUM_HEADERS = 64  # number of image files whose headers are read
SUPPORT_SHARE = 0.1  # size of LTD's support, as a fraction of the retained examples
BATCH_SIZES = (64, 60, 56, 48)  # batch sizes to choose from, best first
# Larger number of seeds at which verdicts may be tested again, by the proposed number of seeds.
MORE_SEEDS = {5: 10, 3: 5, 2: 5}
# Training parameters whose default values are listed in a comment of the proposed config.
RECIPE = ("optimizer", "momentum", "nesterov", "weight_decay", "schedule", "warmup")
# Command-line option that replaces each config key at the beginning of an error message.
OPTIONS = {
    "data.path": "folder",
    "data.table": "--table",
    "data.test_path": "--test",
    "data.test_share": "--test-share",
    "data.train_list": "--forget",
    "data.train_where": "--forget-where",
}


def _column_and_values(text: str) -> where.Params:
    """Parse `subject=17,23` into a column and its values; values stay text (017 is not 17)."""
    column, _, values = text.partition("=")
    listed = tuple(value.strip() for value in values.split(","))
    if not column.strip() or not all(listed):
        raise ArgumentTypeError(f"{text!r}: should be COLUMN=VALUE,VALUE")
    return where.Params.model_validate({"column": column.strip(), "is": listed})


@dataclass(frozen=True)
class InitRequest:
    """The user's request: data, model, forget set and time limit."""

    folder: Annotated[Path, "images: a folder a class, or train/ and test/"]
    _: KW_ONLY
    model: Annotated[str, "as in the config"] = "timm/resnet18"
    forget: Annotated[Path | None, "a list of files to forget, one a line"] = None
    forget_where: Annotated[
        where.Params | None,
        "forget all images with these values in the table, such as subject=17,23",
        {"type": _column_and_values, "metavar": "COLUMN=VALUE,VALUE"},
    ] = None
    table: Annotated[
        Path | None, "a CSV file with a column `file`; else looked for at the folder"
    ] = None
    test: Annotated[Path | None, "the test set: a folder of classes, or a list of files"] = None
    test_share: Annotated[float | None, "draw the test set from the folder"] = None
    weights: Annotated[str | None, "your trained model: .safetensors, or .pt"] = None
    size: Annotated[int | None, "height and width that the model sees, in pixels"] = None
    mean: Annotated[Sequence[float], "mean that it was trained with", {"nargs": "+"}] = ()
    std: Annotated[Sequence[float], "std that it was trained with", {"nargs": "+"}] = ()
    minutes: Annotated[float, "how long it may take"] = 60
    name: Annotated[str, "the benchmark's; by default the folder's"] = ""
    plugins: Annotated[Sequence[Path], "folders as under `plugins:`"] = ()

    @property
    def rates(self) -> Rates:
        """Assumed training speed of models on this machine; that of an A100 if it has a GPU."""
        return SHIPPED[default_device()]

    @property
    def cores(self) -> int:
        """Number of processor cores that run jobs in parallel; 1 for a GPU."""
        return 1 if self.rates.is_gpu else count_cores()

    @property
    def has_own_test(self) -> bool:
        """Whether the folder contains train/ and either test/ or val/."""
        parts = [(self.folder / name).is_dir() for name in TESTS]
        return (self.folder / TRAIN).is_dir() and any(parts)

    @property
    def source(self) -> FolderOptions:
        """Options for reading the image folder; a random test set contains no image to forget."""
        named = {"path": self.folder, "table": self.table, "test_path": self.test}
        if self.has_own_test or self.test:
            return FolderOptions(**named, test_share=self.test_share)
        stay = self.forget_where
        return FolderOptions(
            **named,
            test_share=self.test_share or TEST_SHARE,
            test_by=stay.column if stay else None,
            train_list=self.forget,
            train_where={stay.column: stay.is_} if stay else None,
        )


@dataclass(frozen=True)
class Proposal:
    """A proposed config, and its estimated time."""

    request: InitRequest
    tree: FolderIndex
    num_forget: int
    size: int
    seeds: int
    epochs: int
    minutes: float = 0.0

    @property
    def name(self) -> str:
        """The name of the benchmark; by default the name of the folder."""
        return self.request.name or slug(self.request.folder.resolve().name)

    @property
    def batch_size(self) -> int:
        """Batch size for which the last batch has more than one example, as batch norm requires."""
        num_train = len(self.tree.train)
        parts = (num_train, num_train - self.num_forget, self.num_forget)
        return min(BATCH_SIZES, key=lambda size: sum(part % size == 1 for part in parts))

    @property
    def k(self) -> int:
        """Number of retained neighbours on which LTD's teacher is trained."""
        num_retain = len(self.tree.train) - self.num_forget
        return min(num_retain, max(50, int(SUPPORT_SHARE * num_retain)))

    @property
    def num_tested(self) -> int | None:
        """Number of test images that match `--forget-where`; None if they lack its column."""
        wanted, examples = self.request.forget_where, self.tree.examples
        if wanted is None:
            return 0
        columns = examples.read_columns(examples.rows(test=True))
        if wanted.column not in columns:
            return None
        return sum(value in map(str, wanted.is_) for value in columns[wanted.column])

    def config(self) -> dict[str, Any]:
        """Return the proposed config as a dictionary."""
        request, training = self.request, {"batch_size": self.batch_size, "augment": False}
        shared = {**training, "epochs": 5}
        options = request.source.model_dump(mode="json", exclude_defaults=True)
        data = {"name": "folder", "path": options.pop("path"), "size": self.size, **options}
        statistics = {"mean": [*request.mean], "std": [*request.std]}
        data |= {key: values for key, values in statistics.items() if values}
        weights = {"weights": request.weights} if request.weights else {}
        more = MORE_SEEDS.get(self.seeds)
        benchmark = {
            "data": data,
            "model": request.model,
            "base": {**weights, **training, "epochs": self.epochs, "lr": 0.05},
            "seeds": [*range(self.seeds)],
            **({"looks": [self.seeds, more]} if more else {}),
            **self._forget_config(),
            "methods": {
                "ft": {**shared, "lr": [0.01, 0.05]},
                "ga": {**shared, "lr": [1e-4, 1e-3]},
                "salun": {**shared, "lr": [0.003, 0.01]},
                "ltd": {**shared, "lr": [1e-4, 3e-4, 1e-3], "k": self.k, "teacher_augment": False},
            },
            "controls": ["original", "ideal"],
            "track": "all",
        }
        plugins = {"plugins": [*map(str, request.plugins)]} if request.plugins else {}
        return {**plugins, "benchmarks": {self.name: benchmark}}

    def _forget_config(self) -> dict[str, Any]:
        """Return the forget set's config: listed files, values in the table, or part of a class."""
        request = self.request
        forget: dict[str, Any] = {"kind": "files", "path": str(request.forget)}
        if request.forget_where:
            values = request.forget_where.model_dump(mode="json", by_alias=True)
            forget = {"kind": "where", **values}
        if request.forget or request.forget_where:
            return {"cells": {"withdrawn": {"forget": forget}}}
        return {"classes": [self.tree.class_names[0]], "fractions": [FRACTION]}


def propose(request: InitRequest) -> Proposal:
    """Return the best config within the time limit; the smallest config if no config fits."""
    tree = _index_folder(request)
    last = None
    for size, seeds, epochs in _candidates(request, tree):
        last = _add_time(Proposal(request, tree, _num_forget(request, tree), size, seeds, epochs))
        if last.minutes <= request.minutes:
            return last
    assert last, "there is always a candidate"
    return last


@cache
def read_headers(tree: FolderIndex) -> dict[str, ImageHeader | str]:
    """Return a dict from path to header of some train images; to an error text if unreadable."""
    files = take_evenly(tree.train, NUM_HEADERS)
    return {file.path: read_image_header(tree.folder / file.path) for file in files}


def find_typical_size(tree: FolderIndex) -> tuple[int, int]:
    """Return the median width and height of a sample of the image files."""
    headers = [one for one in read_headers(tree).values() if isinstance(one, ImageHeader)]
    if not headers:
        raise ValueError(f"{str(tree.folder)!r}: none of its files can be read as an image")
    return int(median(one.width for one in headers)), int(median(one.height for one in headers))


def _index_folder(request: InitRequest) -> FolderIndex:
    """Index the image folder; error messages name options of the command line, not config keys."""
    try:
        return index_folder(request.source)
    except ValueError as error:
        key, _, problem = str(error).partition(": ")
        raise ValueError(f"{OPTIONS.get(key, key)}: {problem}") from None


def _num_forget(request: InitRequest, tree: FolderIndex) -> int:
    """Return the number of train images to forget; raise if it is zero or all of them."""
    labels, columns = tree.examples.train_columns()
    count, option = int(FRACTION * labels.count(0)), "--forget"
    try:
        if request.forget:
            tested = [file.path for file in tree.test]
            count = len(files.find_indices(files.Params(path=request.forget), columns, tested))
        if request.forget_where:
            option = "--forget-where"
            count = len(where.find_indices(request.forget_where, columns))
    except ValueError as error:
        raise ValueError(f"{option}: {str(error).partition(': ')[2]}") from None
    if not count:
        name = tree.class_names[0]
        raise ValueError(f"class {name!r} has one image; say with --forget what to forget")
    if count == len(tree.train):
        raise ValueError(f"{option}: all {count} train images, none is retained")
    return count


def _candidates(request: InitRequest, tree: FolderIndex) -> Iterator[tuple[int, int, int]]:
    """Yield (size, seeds, epochs) from best to worst; fewer seeds are worse than smaller images."""
    short_side = min(find_typical_size(tree))
    sizes = [size for size in SIZES if size <= short_side] or [max(short_side, 4)]
    if request.size is not None:
        sizes = [request.size]
    fair = [size for size in sizes if size >= FAIR_SIZE] or sizes[:1]
    enough = [plan for plan in SEEDS_AND_EPOCHS if plan[0] >= FEW_SEEDS]
    yield from ((size, *plan) for size in fair for plan in enough)
    yield from ((size, *plan) for size in sizes for plan in enough if size not in fair)
    yield from ((sizes[-1], *plan) for plan in SEEDS_AND_EPOCHS if plan not in enough)


def _add_time(proposal: Proposal) -> Proposal:
    request = proposal.request
    total = estimate(load(proposal.config()), request.rates, request.cores).total
    seconds = total.gpu_seconds if request.rates.is_gpu else total.cpu_seconds / request.cores
    return replace(proposal, minutes=seconds / 60)


def format_yaml(proposal: Proposal) -> str:
    """Return the config as YAML, with comments on the values that a user may want to change."""
    config, tree, request = proposal.config(), proposal.tree, proposal.request
    ((name, benchmark),) = config["benchmarks"].items()
    lines = [
        f"# {len(tree.class_names)} classes, {len(tree.train):,} images to train "
        f"on, {len(tree.test):,} to test on; {proposal.num_forget:,} are to be forgotten.",
        "# Every key: docs/config.md. What it will cost: collateral estimate THIS_FILE",
    ]
    if request.weights:
        lines += ["# Judge what another tool unlearned: `given:`, docs/your-model.md."]
    if request.plugins:
        lines += [f"plugins: {_flow(config['plugins'])}"]
    lines += ["benchmarks:", f"  {_flow(name)}:"]
    above = {
        **COMMENTS_ABOVE,
        "model": [*_comment_on_data(request)],  # comments on the key `data`, printed below it
        "base": [*(OWN_BASE if request.weights else NEW_BASE), _comment_on_recipe()],
    }
    for key, value in benchmark.items():
        lines += [f"    # {text}" for text in above.get(key, ())]
        if key in ("cells", "methods"):
            lines += [f"    {key}:", *(f"      {one}: {_flow(value[one])}" for one in value)]
        else:
            lines += [f"    {key}: {_flow(value)}{COMMENTS_BESIDE.get(key, '')}"]
    return "\n".join(lines) + "\n"


COMMENTS_BESIDE = {
    "model": "  # or resnet20, timm/<name>, a file of your own",
    "seeds": "  # five are fair; ten tell small differences",
    "track": "  # look after every epoch: who leads within which budget",
}
COMMENTS_ABOVE = {
    "looks": [
        "Verdicts may be read at these numbers of seeds, so that seeds can be added later. To",
        "decide once, at a less strict level, delete this line: docs/statistics.md.",
    ],
    "classes": ["Forget a part of a class; or list files: docs/your-data.md."],
    "methods": [
        "A list of values is tuned over, without looking at Retrain. More methods:",
        "collateral list methods",
    ],
    "controls": [
        "Nothing done, and LTD with the retrained model's own soft labels: its upper bound."
    ],
}
OWN_BASE = ["Your model; the rest is how Retrain is trained: state your own recipe."]
NEW_BASE = [
    "Without augmentation, so few epochs learn images by heart: what is to be forgotten",
    "must be known first. From pretrained weights: `init:`, docs/your-model.md.",
]


def _comment_on_data(request: InitRequest) -> Iterator[str]:
    source = request.source
    if request.weights and not request.mean:
        yield "Add the mean: and std: that your model was trained with, if not these images'."
    if source.test_share:
        share = f"{source.test_share:.0%} of every class"
        yield f"{share} are tested on; none of what is to be forgotten."
    if source.test_by:
        yield f"All images of one {source.test_by} are on the same side."
    if request.weights and source.test_share:
        yield "Your model may have been trained on them: TA and MIA cannot be trusted, as a"
        yield "check on the page says. Name images that it never saw: `test_path`."


def _comment_on_recipe() -> str:
    fields = BaseParams.model_fields
    return f"Not written, so by default: {_flow({key: fields[key].default for key in RECIPE})}"


def _flow(value: Any) -> str:
    """Format a value in one line of YAML; quote text that YAML could parse as another type."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, str):
        return value if _is_plain(value) else json.dumps(value, ensure_ascii=False)
    if isinstance(value, float):
        return format(value, "g")
    return json.dumps(value) if isinstance(value, bool) else str(value)


def _is_plain(text: str) -> bool:
    try:
        return bool(parse(f"{{a: {text}}}") == {"a": text})
    except ConfigError:
        return False
