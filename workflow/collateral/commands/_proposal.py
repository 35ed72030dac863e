"""Propose a config for a folder of images: as many seeds, epochs and pixels as the time allows."""

from __future__ import annotations

import json
from argparse import ArgumentTypeError
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Annotated, Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from collateral.commands.estimate import default_device, select_speeds
from collateral.config.cells import slug
from collateral.config.load import load
from collateral.config.weights import BaseParams
from collateral.config.yaml import parse
from collateral.contract.conventions import FILE
from collateral.contract.messages import quoted
from collateral.contract.work import count_cores
from collateral.data._readers.decoding import ImageHeader, read_image_header, take_evenly
from collateral.data._readers.file_list import find_listed
from collateral.data.folder import TESTS, TRAIN, FolderIndex, index_folder
from collateral.data.folder import Options as FolderOptions
from collateral.data.forget import where
from collateral.plan import paths
from collateral.plan.estimate import SHIPPED, Speeds, estimate

# Pairs (seeds, epochs) from best to worst. More seeds are preferred to more epochs:
# only with several seeds can a difference between methods be significant.
SEEDS_AND_EPOCHS = ((5, 30), (5, 20), (3, 30), (3, 20), (3, 12), (2, 10), (1, 10))
SIZES = (224, 160, 128, 96, 64, 48, 32)  # height and width of the images in pixels
# Images below FAIR_SIZE pixels are proposed only if nothing else fits the time limit.
# The same holds for fewer than FEW_SEEDS seeds.
FAIR_SIZE, FEW_SEEDS = 64, 3
TEST_SHARE = 0.2  # fraction of every class for the test set
FRACTION = 0.5  # fraction of the first class to forget, if the user names no forget set
NUM_HEADERS = 64  # number of image files whose headers are read
SUPPORT_SHARE = 0.1  # size of LTD's support, as a fraction of the retained examples
# For each proposed number of seeds, a larger number at which verdicts may be tested again.
MORE_SEEDS = {5: 10, 3: 5, 2: 5}
# Training parameters whose default values are listed in a comment of the proposed config.
RECIPE = ("optimizer", "momentum", "nesterov", "weight_decay", "schedule", "warmup")
# Error messages begin with a config key; `init` shows this command-line option in its place.
OPTIONS = {
    "data.path": "folder",
    "data.table": "--table",
    "data.test_path": "--test",
    "data.test_share": "--test-share",
    "data.train_list": "--forget",
    "data.train_where": "--forget-where",
    # Keys of a forget set that is selected by the values of a column.
    "column": "--forget-where",
    "is": "--forget-where",
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

    folder: Annotated[
        Path, "folder of images: a subfolder per class, or train/ and test/ with those"
    ]
    _: KW_ONLY
    model: Annotated[str, "name of the architecture, as in a config; default: timm/resnet18"] = (
        "timm/resnet18"
    )
    forget: Annotated[Path | None, "text file that lists the images to forget, one per line"] = None
    forget_where: Annotated[
        where.Params | None,
        "forget all images with one of these values in the table, such as subject=17,23",
        {"type": _column_and_values, "metavar": "COLUMN=VALUE,VALUE"},
    ] = None
    table: Annotated[
        Path | None, "CSV file with metadata and a column `file`; default: searched at the folder"
    ] = None
    test: Annotated[
        Path | None, "test set: a folder with a subfolder per class, or a list of files"
    ] = None
    test_share: Annotated[
        float | None, "share of the images that is drawn as test set; default: 0.2"
    ] = None
    weights: Annotated[str | None, "weights of your trained model: a .safetensors or .pt file"] = (
        None
    )
    size: Annotated[int | None, "height and width of the images for the model, in pixels"] = None
    mean: Annotated[
        Sequence[float], "mean per channel with which your model normalises images", {"nargs": "+"}
    ] = ()
    std: Annotated[Sequence[float], "standard deviation per channel, likewise", {"nargs": "+"}] = ()
    minutes: Annotated[float, "time that the proposed run may take; default: 60"] = 60
    name: Annotated[str, "name of the benchmark; default: the name of the folder"] = ""
    plugins: Annotated[Sequence[Path], "folders of plug-ins, as under `plugins:` in a config"] = ()

    @property
    def has_gpu(self) -> bool:
        """Whether jobs run on a GPU of this machine."""
        return SHIPPED[default_device()].is_gpu

    @property
    def cores(self) -> int:
        """Number of processor cores that run jobs in parallel; 1 if the machine has a GPU."""
        return 1 if self.has_gpu else count_cores()

    @property
    def has_own_test(self) -> bool:
        """Whether the folder contains train/ and either test/ or val/."""
        parts = [(self.folder / name).is_dir() for name in TESTS]
        return (self.folder / TRAIN).is_dir() and any(parts)

    @property
    def source(self) -> FolderOptions:
        """Options for reading the image folder. A random test set has no image to forget."""
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


# Largest number of values of a column that is proposed as `groups`; persons have more.
MOST_GROUPS = 8


@dataclass(frozen=True)
class Proposal:
    """A proposed config, and its estimated time."""

    request: InitRequest
    index: FolderIndex
    headers: Mapping[str, ImageHeader | str]  # by path: header of a train image, or error
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
    def num_train(self) -> int:
        """Number of train images."""
        return len(self.index.examples.rows(test=False))

    @property
    def num_test(self) -> int:
        """Number of test images."""
        return len(self.index.examples.rows(test=True))

    @property
    def groups(self) -> list[str]:
        """Columns of the table that have few different values, such as sex and site."""
        chosen = self.request.forget_where
        others = {FILE, chosen.column if chosen else FILE}
        counts = {
            name: len({*values})
            for name, values in self.index.examples.columns.items()
            if name not in others
        }
        return [name for name, count in counts.items() if 2 <= count <= MOST_GROUPS]

    @property
    def text(self) -> str:
        """The config as YAML, with comments on the values that a user may want to change."""
        num_retain = self.num_train - self.num_forget
        return TEMPLATES.get_template("config.yaml.j2").render(
            found=self,
            request=self.request,
            names=self.index.examples.class_names,
            data=self.request.source.model_dump(mode="json", exclude_defaults=True),
            recipe={key: BaseParams.model_fields[key].default for key in RECIPE},
            more_seeds=MORE_SEEDS.get(self.seeds),
            fraction=FRACTION,
            # Number of retained neighbours on which LTD's teacher is trained.
            k=min(num_retain, max(50, int(SUPPORT_SHARE * num_retain))),
        )


def _format_value(value: Any) -> str:
    """Return a value as JSON, which is also YAML."""
    return json.dumps(value, ensure_ascii=False, default=str)


def _format_fields(values: Mapping[str, Any]) -> str:
    """Return the keys and values of a mapping in one line of YAML, without braces."""
    return ", ".join(f"{key}: {_format_value(value)}" for key, value in values.items())


TEMPLATES = Environment(
    loader=PackageLoader("collateral.commands", ""),
    autoescape=False,  # the output is not HTML; the filter `yaml` quotes values
    undefined=StrictUndefined,
    variable_start_string="<<",  # instead of braces, which YAML uses
    variable_end_string=">>",
    trim_blocks=True,
    keep_trailing_newline=True,
)
TEMPLATES.filters |= {"yaml": _format_value, "fields": _format_fields}


def propose(request: InitRequest) -> Proposal:
    """Return the best config within the time limit; the smallest config if no config fits."""
    try:
        index = index_folder(request.source)
        num_forget = _num_forget(request, index)
    except ValueError as error:  # Name the option in place of the config key.
        key, _, problem = str(error).partition(": ")
        raise ValueError(f"{OPTIONS.get(key, key)}: {problem}") from None
    rows = take_evenly(index.examples.rows(test=False), NUM_HEADERS)
    headers = {index.examples.names[row]: read_image_header(index.locations[row]) for row in rows}
    speeds: dict[int, Speeds] = {}  # by size of the images
    for size, seeds, epochs in _candidates(request, min(find_typical_size(headers))):
        proposal = Proposal(request, index, headers, num_forget, size, seeds, epochs)
        config = load(parse(proposal.text))
        if size not in speeds:
            results = Path(paths.RESULTS)
            speeds[size] = select_speeds(config, None, results, calibrate=False)
        total = estimate(config, speeds[size], request.cores).total
        seconds = total.gpu_seconds if request.has_gpu else total.cpu_seconds / request.cores
        proposal = replace(proposal, minutes=seconds / 60)
        if proposal.minutes <= request.minutes:
            break
    return proposal


def find_typical_size(headers: Mapping[str, ImageHeader | str]) -> tuple[int, int]:
    """Return the median width and height of a sample of the image files."""
    found = [header for header in headers.values() if isinstance(header, ImageHeader)]
    if not found:
        raise ValueError("folder: none of its files can be read as an image")
    return int(median(one.width for one in found)), int(median(one.height for one in found))


def _num_forget(request: InitRequest, index: FolderIndex) -> int:
    """Return the number of train images to forget; raise an error if none or all are forgotten."""
    labels, columns = index.examples.read_part(test=False)
    _, tested = index.examples.read_part(test=True)
    count = int(FRACTION * labels.count(0))
    if request.forget:
        count = len(find_listed("--forget", request.forget, columns[FILE], tested[FILE]))
    if request.forget_where:
        count = len(where.find_indices(request.forget_where, columns, tested))
    if 0 < count < len(labels):
        return count
    if not request.forget and not request.forget_where:
        name = quoted(index.examples.class_names[0])
        raise ValueError(
            f"--forget: missing; class {name} has too few train images to forget a part of them; "
            "say what to forget: --forget LIST, or --forget-where COLUMN=VALUE"
        )
    option = "--forget" if request.forget else "--forget-where"
    found = f"{count} of {len(labels)} train images are to be forgotten"
    raise ValueError(f"{option}: {found}; expected some, and some that are retained")


def _candidates(request: InitRequest, short_side: int) -> Iterator[tuple[int, int, int]]:
    """Yield (size, seeds, epochs) from best to worst.

    Fewer than FEW_SEEDS seeds come last, and only with the smallest images.
    """
    sizes = [size for size in SIZES if size <= short_side] or [max(short_side, 4)]
    if request.size is not None:
        sizes = [request.size]
    fair = [size for size in sizes if size >= FAIR_SIZE] or sizes[:1]
    enough = [plan for plan in SEEDS_AND_EPOCHS if plan[0] >= FEW_SEEDS]
    yield from ((size, *plan) for size in fair for plan in enough)
    yield from ((size, *plan) for size in sizes for plan in enough if size not in fair)
    yield from ((sizes[-1], *plan) for plan in SEEDS_AND_EPOCHS if plan not in enough)
