"""A perceptron with one hidden layer of 256 ReLU units, whose outputs are the features."""

from math import prod

from torch import nn

from collateral.contract.data import ImageInfo
from collateral.models._classifier import Classifier


def build(name: str, info: ImageInfo) -> Classifier:
    """Build the perceptron."""
    body = nn.Sequential(nn.Flatten(), nn.Linear(prod(info.shape), 256), nn.ReLU(inplace=True))
    return Classifier(info, body, nn.Linear(256, info.num_classes))
