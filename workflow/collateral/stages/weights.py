"""Say which files of weights do not fit a model; the Snakefile asks before any job."""

import argparse
import json
import sys
from pathlib import Path

from collateral.contract.data import ImageInfo
from collateral.models._build import build_model
from collateral.training.weights import start_from, take_over

START = "init."  # how the key of weights begins that training starts from


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line; which files, standard input says: key, path, rename."""
    parser.add_argument("--model", required=True, help="name of the architecture")
    parser.add_argument("--num-classes", type=int, required=True, help="of the data set")
    parser.add_argument("--shape", type=int, nargs=3, required=True, help="H, W, C of the images")


def run(args: argparse.Namespace) -> None:
    """Print a line for each file that does not fit."""
    channels = args.shape[2]
    info = ImageInfo(args.num_classes, tuple(args.shape), (0.0,) * channels, (1.0,) * channels)
    model = build_model(args.model, info)
    for key, file, rename in json.load(sys.stdin):
        load = start_from if key.startswith(START) else take_over
        try:
            load(model, Path(file), rename)
        except (ValueError, OSError) as error:
            print(f"{key}: {error}")
