"""Print which weight files, and names of parts, do not fit a model; run before any job."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from collateral.contract.data import ImageInfo
from collateral.models._build import build_model
from collateral.training.weights import load_initial, load_trained

START = "init."  # prefix of the config keys of initial weights


def weights(
    *,
    model: Annotated[str, "name of the architecture"],
    num_classes: Annotated[int, "number of classes of the data set"],
    shape: Annotated[tuple[int, int, int], "height, width and number of channels of the images"],
    freeze: Annotated[Sequence[str], "parts of the model that never train", {"nargs": "+"}] = (),
) -> None:
    """Print one line per weight file that does not fit the model, and for a part that it lacks.

    Standard input is a JSON list with the config key, the path and `rename` of each file.
    """
    height, width, channels = shape
    zeros, ones = (0.0,) * channels, (1.0,) * channels
    net = build_model(model, ImageInfo(num_classes, (height, width, channels), zeros, ones))
    try:
        net.freeze(freeze)
    except ValueError as error:
        print(error)
    for key, file, rename in json.load(sys.stdin):
        load = load_initial if key.startswith(START) else load_trained
        try:
            load(net, Path(file), rename)
        except (ValueError, OSError) as error:
            print(f"{key}: {error}")
