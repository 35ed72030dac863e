"""Export the weights of a run to a file; each weight has its name in the user's own model.

The weights of timm/<name> have timm's names; those of a model of your own, the names in its code.
If `base.weights` and `rename` read your own file, weights have the names in that file. The file
does not normalise images: give normalised images to plain timm, or to your code.
"""

import json
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

from safetensors.numpy import load_file, save

from collateral.contract.data import ImageInfo
from collateral.models import NAMES
from collateral.models._metadata import PREFIX, find_timm_metadata
from collateral.plugins.find import MODEL
from collateral.results import layout
from collateral.results.address import FoundRun, check_has_model, find_run
from collateral.results.dataset import Dataset
from collateral.results.files import atomic
from collateral.results.provenance import INPUTS, content_hash, read_record, verify
from collateral.results.record import NAMES_IN_FILE

SUFFIX = ".safetensors"


def export(
    cell: Annotated[
        str, "cell of the run, such as digits/untypical_3", {"metavar": "BENCHMARK/CELL"}
    ],
    run: Annotated[
        str, "run, such as ltd or retrain; original is the base model", {"metavar": "RUN"}
    ],
    *,
    seed: Annotated[int | None, "seed of the run; default: its first seed"] = None,
    out: Annotated[Path, f"{SUFFIX} file to write"],
) -> None:
    """Write the weights; print the run, the file's hash, and how to load the file."""
    found = find_run(cell, run, seed)
    check_has_model(found)
    _check_out(out, found.benchmark.parent)
    model = verify(found.folder / layout.MODEL, found.benchmark)
    data = Dataset.load(verify(found.benchmark / layout.DATA, found.benchmark))
    weights, name = load_file(model), str(found.record["model"])
    names = own_names(weights, name, data.info)
    renamed = _names_in_file(found)
    names = {ours: renamed.get(own, renamed.get(ours, own)) for ours, own in names.items()}
    content = save({names[ours]: value for ours, value in weights.items()}, _about(found, data))
    with atomic(out) as temporary:
        temporary.write_bytes(content)
    kind = "" if renamed else name
    print("\n".join([*_describe(found, out, model), *how_to_load(kind, out, data.info)]))


def own_names(names: Iterable[str], model: str, info: ImageInfo) -> dict[str, str]:
    """Map the names of weights in Collateral's file to their names in the user's model."""
    if model in NAMES:  # The export uses the weight names of the user's own weight file
        return {name: name for name in names}
    if not (model.startswith(PREFIX) or MODEL.is_plugged_in(model)):
        raise ValueError(f"model {model}: of a plug-in; name its folder: --plugins FOLDER")
    # Imported here and not at the top, so that torch is imported only to build a model.
    built = import_module("collateral.models._build").build_model(model, info)
    return {name: built.own_names(name) for name in names}


def how_to_load(model: str, out: Path, info: ImageInfo) -> list[str]:
    """Return lines that tell the user how to load the exported file `out`.

    `model` is the name of the model, or empty if weights have the names in the user's own file.
    """
    load = f"    model.load_state_dict(safetensors.torch.load_file({json.dumps(str(out))}))"
    mean, std = (", ".join(f"{value:.6g}" for value in of) for of in (info.mean, info.std))
    normalised = f"Give it images (x - mean) / std, x in [0, 1]: mean {mean}; std {std}."
    if not model:
        return ["Its names are those of your own file, before `rename`: load it alike.", normalised]
    if model.startswith(PREFIX):
        return ["Load it with timm:", f"    model = {_create_model(model, info)}", load, normalised]
    if model in NAMES:
        taken = f"`model: {model}` and `base: {{weights: {out}}}` in a config take it"
        return [f"{taken}; Collateral's {model} normalises images itself: mean {mean}; std {std}."]
    return [f"Load it into what `build` of the plug-in {model} returns:", load, normalised]


def _create_model(model: str, info: ImageInfo) -> str:
    height, width, channels = info.shape
    size = f", img_size=({height}, {width})" if find_timm_metadata(model).is_sized else ""
    name = model.removeprefix(PREFIX)
    classes = f"num_classes={info.num_classes}, in_chans={channels}"
    return f'timm.create_model("{name}", {classes}{size})'


def _check_out(out: Path, results: Path) -> None:
    if out.suffix != SUFFIX:
        raise ValueError(f"--out: {out}: should end with {SUFFIX}")
    if out.resolve().is_relative_to(results.resolve()):
        raise ValueError(f"--out: {out}: lies in the results; choose a place outside of {results}")


def _names_in_file(found: FoundRun) -> Mapping[str, str]:
    """Map each renamed weight to its name in the user's weight file; empty if none was renamed."""
    inputs = [Path(place).parent for place in found.record[INPUTS]]
    bases = [place for place in inputs if place.match(layout.BASE.format(seed="*"))]
    # Retrain's record lists no base model as input, so the records of all base models are read.
    others = sorted(found.benchmark.glob(layout.BASE.format(seed="*")))
    for folder in (found.folder, *(found.benchmark / base for base in bases), *others):
        record = read_record(folder / layout.RECORD, found.benchmark)
        if NAMES_IN_FILE in record:
            names: Mapping[str, str] = record[NAMES_IN_FILE]
            return names
    return {}


def _about(found: FoundRun, data: Dataset) -> dict[str, str]:
    """Return the file's metadata as JSON under one key; the order of several keys is not fixed."""
    about: dict[str, Any] = {
        "benchmark": found.benchmark.name,
        "cell": found.cell,
        "run": found.run,
        "seed": found.seed,
        "model": found.record["model"],
        "classes": data.labels.class_names,
        "mean": data.mean,
        "std": data.std,
    }
    return {"collateral": json.dumps(about)}


def _describe(found: FoundRun, out: Path, model: Path) -> list[str]:
    seeds = ", ".join(map(str, found.seeds))
    status = found.record["status"]
    note = f" It {status}: it is near guessing on the train set." if status != "ok" else ""
    return [
        f"{out}: {found} (it has seeds {seeds}).{note}",
        f"SHA-256 {content_hash(out)}, from {model}",
    ]
