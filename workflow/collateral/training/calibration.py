"""Measure the training speed of a model in about two seconds, for `collateral estimate`."""

import torch

from collateral.contract.data import ImageInfo
from collateral.contract.params import TrainingParams
from collateral.models._build import build_model
from collateral.models._metadata import Shape
from collateral.training.devices import choose_device, make_deterministic
from collateral.training.examples import Examples, Images
from collateral.training.fit import fit
from collateral.training.run import Run

PADDING = 4  # number of pixels added at each side before a random crop, as for CIFAR
NUM_CLASSES = 100
FEWEST = 8  # number of images in the first epoch
SECONDS = 1.0  # shortest duration of the epoch that is measured
# Values that a calibration replaces: it trains for one epoch, and compiling would take longer.
ONE_EPOCH = {"epochs": 1, "warmup": 0, "checkpoint": "last", "compile": False}


def measure(trained: tuple[str, Shape, str], params: TrainingParams) -> float:
    """Return the images per second in training on noise, with one thread or one GPU.

    `trained` is the name of the model, the shape of its images, and the precision.
    """
    name, shape, precision = trained
    params = params.model_copy(update={**ONE_EPOCH, "precision": precision})
    torch.set_num_threads(1)
    # Jobs use deterministic algorithms, so the speed of these algorithms is measured.
    make_deterministic()
    device, channels = choose_device(), shape[2]
    info = ImageInfo(NUM_CLASSES, shape, (0.5,) * channels, (0.25,) * channels)
    model = build_model(name, info).to(device).to(memory_format=torch.channels_last)
    count = FEWEST
    while True:
        examples, run = _noise(info, count, device), Run(device, seed=0)
        fit(model, examples, examples, params, run)
        if run.fitted_seconds >= SECONDS:
            return count / run.fitted_seconds
        count *= 2


def _noise(info: ImageInfo, count: int, device: torch.device) -> Examples:
    pixels = torch.randint(256, (count, *info.shape), dtype=torch.uint8).to(device)
    labels = torch.randint(info.num_classes, (count,)).to(device)
    return Examples(Images(pixels, PADDING, True), torch.arange(count, device=device), labels)
