"""Plug-ins in a folder of the test's own, found as a user's are, and forgotten again."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from collateral.findings import metric_index
from collateral.plugins.find import CONTROL, KINDS
from collateral.plugins.modules import is_shipped

HEAD = """
from typing import ClassVar, Literal
from pydantic import Field
from collateral.contract.params import MethodParams
"""
ONE_PHASE = (
    HEAD
    + """
class Params(MethodParams):
    label: ClassVar[str] = "Mine"
    touches: ClassVar[frozenset[str]] = frozenset({"retain"})
    strength: float = Field(1.0, ge=0, description="How much of it.")
    kind: Literal["soft", "hard"] = Field("soft", description="Which of the two.")
"""
)
TWO_PHASES = (
    HEAD
    + """
class Prepare(MethodParams):
    label: ClassVar[str] = "Two"
    touches: ClassVar[frozenset[str]] = frozenset({"retain"})
    size: int = Field(10, ge=1, description="Read by prepare.")
    support: Literal["closest", "random"] = Field("closest", description="Read by prepare.")


class Params(Prepare):
    lr: float = Field(0.1, ge=0, description="Not read by prepare.")
"""
)
FOLLOWER = (
    HEAD
    + """
class Params(MethodParams):
    label: ClassVar[str] = "Follower"
    touches: ClassVar[frozenset[str]] = frozenset()
    inherits: ClassVar[str | None] = "two"
    needs_retrain: ClassVar[bool] = True
    lr: float = Field(0.7, description="As the method's.")
    size: int = Field(70, description="As the method's.")
"""
)


STRIPES = '''
"""Stripes: horizontal against vertical ones."""
from pydantic import Field
from collateral.contract.data import DataOptions, DatasetInfo, DatasetSize

NAMES = ("horizontal", "vertical")
SIZE = DatasetSize(NAMES, train=(20, 20), test=(5, 5), shape=(4, 4, 1))
INFO = DatasetInfo(class_names=NAMES, source="computed", licence="none needed", size=SIZE)


class Options(DataOptions):
    shade: int = Field(200, ge=0, le=255, description="Of the light stripes.")


def load(options):
    import numpy as np
    from collateral.results.dataset import Dataset, Labels

    labels = np.arange(50) % 2
    images = (options.shade * (np.indices((4, 4)) % 2)[labels]).astype(np.uint8)[..., None]
    split = Labels(labels[:40], labels[40:], NAMES)
    return Dataset(images[:40], images[40:], split, mean=(0.5,), std=(0.25,))
'''
EVERY = '''
"""Every so many examples."""
from pydantic import BaseModel, Field


class Params(BaseModel):
    step: int = Field(10, ge=2, description="How far apart they are.")


def select(labels, params):
    import numpy as np
    return np.arange(0, len(labels.train), params.step)


def count(size, params):
    return -(-size.num_train // params.step)


def chosen(labels, params):
    return params.model_dump()
'''
LINE = '''
"""A linear model on the pixels."""
from math import prod
from torch import nn
from collateral.models._classifier import Classifier


def build(name, info):
    return Classifier(info, nn.Flatten(), nn.Linear(prod(info.shape), info.num_classes))
'''
QUESTION = '''
"""Is anybody right at all?"""
from collateral.contract.metrics import Metric

METRICS = {"right": Metric("Right", "test examples that a model is right about", "examples")}
'''
NUMBERS = """
from collateral.contract.rows import Row


def numbers(cell):
    for result in cell.all_results():
        right = (result.test.prediction == cell.labels.test).sum()
        yield Row(result.run, "right", float(right), result.seed)
"""
ONE_OF_EACH = {
    "methods/mine/params.py": ONE_PHASE,
    "methods/mine/method.py": "",
    "data/stripes.py": STRIPES,
    "forget/every.py": EVERY,
    "models/line.py": LINE,
    "findings/anybody/__init__.py": QUESTION,
    "findings/anybody/numbers.py": NUMBERS,
}


def write_files(folder: Path, files: dict[str, str]) -> Path:
    """Write plug-ins, each by its path in the folder of plug-ins; return that folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def write_method(folder: Path, name: str, params: str = ONE_PHASE, method: str = "") -> Path:
    """Write a method's folder; return the folder of plug-ins."""
    return write_files(folder, {f"{name}/params.py": params, f"{name}/method.py": method})


def write_control(folder: Path, name: str, params: str) -> None:
    """Write a control's folder and let it be found; the config has no key for that."""
    write_method(folder, name, params)
    CONTROL.paths.append(str(folder))


@contextmanager
def forgotten_after() -> Iterator[None]:
    """Undo what plug-ins leave behind: the packages' paths, and modules imported from them."""
    paths = {kind: list(kind.paths) for kind in KINDS}
    yield
    for kind, before in paths.items():
        kind.paths[:] = before
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name.startswith("collateral.") and file and not is_shipped(Path(file)):
            del sys.modules[name]
    metric_index._index_metrics.cache_clear()
