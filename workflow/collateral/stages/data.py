"""Load a data set, take the subset that the config selects, and write images and labels."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from collateral.data._metadata import STATE, hash_user_files
from collateral.data._subset import choose_forget_set, make_split, take_subset
from collateral.plugins.find import DATA, FORGET
from collateral.results import layout
from collateral.results.dataset import Labels
from collateral.results.provenance import write_record
from collateral.results.record import versions
from collateral.stages._options import Code

Indices = NDArray[np.int64]
ForgetSet = Mapping[str, Any]


def data(
    *,
    name: Annotated[str, "data set"],
    options: Annotated[str, "options of the data set, as JSON"],
    forget: Annotated[
        Sequence[ForgetSet],
        'forget sets to check, as JSON: {"cell": "", "kind": "", "params": {}}, "earlier": cells '
        'of earlier rounds, and "asked": minimum number of retained examples, by config key',
        {"type": json.loads},
    ] = (),
    code: Code = "",
    out: Annotated[Path, "dataset.npz to write"],
    labels: Annotated[Path, "labels.npz to write"],
) -> None:
    """Load the data set and write its subset; raise an error if a forget set is not valid."""
    module = DATA.load(name)
    given = module.Options.model_validate_json(options)
    dataset = take_subset(module.load(given), given)
    check_forget_sets(dataset.labels, forget)
    dataset.save(out)
    dataset.labels.save(labels)
    about = {"name": name, "options": json.loads(options), "code": code}
    about["versions"] = versions()
    if state := hash_user_files(name, given):
        about[STATE] = state
    root = out.parent
    write_record(root / layout.DATA_RECORD, about, root=root, files=[out, labels])


def check_forget_sets(labels: Labels, given: Iterable[ForgetSet]) -> None:
    """Select every forget set once, so that errors appear before any training."""
    known: dict[str, Indices] = {}  # forget sets that do not depend on models, by cell
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
