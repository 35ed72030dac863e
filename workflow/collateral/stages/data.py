"""Load a data set, take the subset that the config selects, and write images and labels."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collateral.data._corruption import corrupt
from collateral.data._metadata import STATE, hash_user_files
from collateral.data._readers.pieces import open_data
from collateral.data._subset import choose_forget_set, make_split, take_subset
from collateral.jobs.data import DataJob
from collateral.plugins.find import DATA, FORGET
from collateral.results.dataset import Labels
from collateral.results.record import Made, versions
from collateral.stages._workspace import Workspace

Indices = NDArray[np.int64]
# A forget set to check: "cell", "kind" and "params"; "earlier", the cells of earlier rounds; and
# "asked", the minimum number of retained examples by config key.
ForgetSet = Mapping[str, Any]


def run(job: DataJob, place: Workspace) -> Made:
    """Load the data set and write its subset; raise an error if a forget set is not valid."""
    module = DATA.load(job.name)
    given = module.Options.model_validate(job.options)
    dataset = corrupt(take_subset(open_data(module, given), given), given)
    check_forget_sets(dataset.labels, place.beside.get("forget", ()))
    dataset.save(place.output("data"))
    dataset.labels.save(place.output("labels"))
    state = hash_user_files(job.name, given)
    return Made({"versions": versions(), **({STATE: state} if state else {})})


def check_forget_sets(labels: Labels, given: Iterable[ForgetSet]) -> None:
    """Select every forget set once, so that errors appear before any training."""
    known: dict[str, Indices] = {}  # forget sets that labels decide, by cell
    for one in given:
        try:
            forget, chosen = choose_forget_set(labels, one["kind"], one["params"])
            if not hasattr(FORGET.load(one["kind"]), "NEEDS"):
                known[one["cell"]] = forget
                before = [known[cell] for cell in one.get("earlier", ()) if cell in known]
                make_split(labels, forget, chosen, before)
        except ValueError as error:
            raise ValueError(f"cell {one['cell']}: {error}") from None
        retained = len(labels.train) - len(forget)
        for key, count in one.get("asked", {}).items():
            if count > retained:
                found = f"only {retained} examples are retained in {one['cell']}"
                raise ValueError(f"{key}: {count}: {found}")
