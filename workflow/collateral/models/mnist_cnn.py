"""The paper's CNN for MNIST: two 3x3 convolutions with biases, no batch norm, 64 features.

Images must have at least 4x4 pixels.
"""

from torch import nn

from collateral.contract.data import ImageInfo
from collateral.models._classifier import Classifier


def build(name: str, info: ImageInfo) -> Classifier:
    """Build the MNIST CNN."""
    height, width, channels = info.shape
    body = nn.Sequential(
        nn.Conv2d(channels, 16, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * (height // 4) * (width // 4), 64),
        nn.ReLU(inplace=True),
    )
    return Classifier(info, body, nn.Linear(64, info.num_classes))
