"""Print which weight files do not fit a model; the Snakefile runs this command before any job."""

import json
import sys
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
) -> None:
    """Print one line per weight file that does not fit the model.

    Standard input is a JSON list with the config key, the path and `rename` of each file.
    """
    height, width, channels = shape
    zeros, ones = (0.0,) * channels, (1.0,) * channels
    net = build_model(model, ImageInfo(num_classes, (height, width, channels), zeros, ones))
    for key, file, rename in json.load(sys.stdin):
        load = load_initial if key.startswith(START) else load_trained
        try:
            load(net, Path(file), rename)
        except (ValueError, OSError) as error:
            print(f"{key}: {error}")
