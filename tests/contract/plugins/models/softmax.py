"""Softmax regression: the pixels are the features."""

from math import prod

from torch import nn

from collateral.contract.data import ImageInfo
from collateral.models._classifier import Classifier


def build(_name: str, info: ImageInfo) -> Classifier:
    """Build a head alone."""
    return Classifier(info, nn.Flatten(), nn.Linear(prod(info.shape), info.num_classes))
