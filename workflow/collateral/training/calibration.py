"""Measure the throughput of training and inference, for `collateral estimate --calibrate`."""

import logging
import time
from collections.abc import Callable

import torch
from torch.nn import functional as F

from collateral.contract.data import ImageInfo
from collateral.contract.params import TrainingParams
from collateral.models._build import build_model
from collateral.models._metadata import Shape
from collateral.training.devices import choose_device, make_deterministic
from collateral.training.examples import Examples, Images
from collateral.training.inference import BATCH_SIZE, infer
from collateral.training.optimizers import descend, make_optimizer

LOG = logging.getLogger(__name__)
PARAMS = TrainingParams()
PADDING = 4  # number of pixels added at each side before a random crop, as for CIFAR
NUM_CLASSES = 100
SECONDS = 2.0  # shortest duration of a measurement, in seconds


def device_name() -> str:
    """Return the name of the CUDA GPU or, without one, the type of the device."""
    device = choose_device()
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def is_gpu() -> bool:
    """Return whether jobs on this machine run on a GPU."""
    return choose_device().type != "cpu"


def measure(name: str, shape: Shape) -> tuple[float, float]:
    """Return the images per second in training and in inference.

    The measurement uses one thread or one GPU, and images of noise in float32.
    """
    torch.set_num_threads(1)
    # Jobs use deterministic algorithms, so the speed of these algorithms is measured.
    make_deterministic()
    device, channels = choose_device(), shape[2]
    info = ImageInfo(NUM_CLASSES, shape, (0.5,) * channels, (0.25,) * channels)
    model = build_model(name, info).to(device).to(memory_format=torch.channels_last)
    examples = _noise(info, device)
    optimizer = make_optimizer(model, PARAMS, nesterov=PARAMS.nesterov)
    batches = examples.cycle(PARAMS.batch_size, torch.Generator())

    def train() -> None:
        x, y = next(batches)
        descend(optimizer, F.cross_entropy(model(x), y))

    def predict() -> None:
        infer(model, examples)

    model.train()
    training = PARAMS.batch_size / _seconds(train, device)
    inference = len(examples) / _seconds(predict, device)
    LOG.info("%s: %.0f images/s in training, %.0f in inference", name, training, inference)
    return training, inference


def _seconds(action: Callable[[], None], device: torch.device) -> float:
    """Repeat an action for at least SECONDS, and return the mean duration of a call."""
    action()  # The first call is slower and is not measured.
    # On a CPU, the CPU time of this process is measured, so that other jobs have little influence.
    clock = time.process_time if device.type == "cpu" else time.perf_counter
    count = 1
    while True:
        start = clock()
        for _ in range(count):
            action()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        taken = clock() - start
        if taken >= SECONDS:
            return taken / count
        count *= 2  # The clock is read rarely, because reading it makes a GPU wait.


def _noise(info: ImageInfo, device: torch.device) -> Examples:
    """Return two batches of noise on the device."""
    count = 2 * BATCH_SIZE
    pixels = torch.randint(256, (count, *info.shape), dtype=torch.uint8).to(device)
    labels = torch.randint(info.num_classes, (count,)).to(device)
    return Examples(Images(pixels, PADDING, True), torch.arange(count, device=device), labels)
