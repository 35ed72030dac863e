"""A small CNN: three 3x3 convolutions with batch norm, global average pooling, 128 features."""

from torch import nn

from collateral.contract.data import ImageInfo
from collateral.models._classifier import Classifier


def build(name: str, info: ImageInfo) -> Classifier:
    """Build the small CNN."""
    body = nn.Sequential(
        *_convolution(info.shape[2], 32),
        nn.MaxPool2d(2),
        *_convolution(32, 64),
        nn.MaxPool2d(2),
        *_convolution(64, 128),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
    )
    return Classifier(info, body, nn.Linear(128, info.num_classes))


def _convolution(width_in: int, width: int) -> tuple[nn.Module, ...]:
    convolution = nn.Conv2d(width_in, width, 3, padding=1, bias=False)
    return convolution, nn.BatchNorm2d(width), nn.ReLU(inplace=True)
