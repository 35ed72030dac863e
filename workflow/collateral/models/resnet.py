"""ResNet-(6n+2) for small images (He et al., CVPR 2016, section 4.2): three stages of n blocks.

Where a block changes the shape, its shortcut is a projection (option B: 1x1 convolution with
stride 2 and batch norm), as in the CIFAR models of chenyaofo; He et al. pad with zeros (option A).
"""

from itertools import pairwise

from torch import Tensor, nn
from torch.nn import functional as F

from collateral.core.dataset import ImageInfo
from collateral.models.classifier import Classifier

WIDTHS = (16, 32, 64)


class Block(nn.Module):
    """Two 3x3 convolutions around a shortcut."""

    def __init__(self, width_in: int, width: int, stride: int) -> None:
        """Make the residual branch, and a projection where the shape changes."""
        super().__init__()
        self.residual = nn.Sequential(
            nn.Conv2d(width_in, width, 3, stride, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
        )
        self.shortcut: nn.Module = nn.Identity()
        if (width_in, stride) != (width, 1):
            self.shortcut = nn.Sequential(
                nn.Conv2d(width_in, width, 1, stride, bias=False), nn.BatchNorm2d(width)
            )

    def forward(self, x: Tensor) -> Tensor:
        """Return relu(residual + shortcut)."""
        return F.relu(self.residual(x) + self.shortcut(x), inplace=True)


def build(name: str, info: ImageInfo) -> Classifier:
    """Build the ResNet whose depth, 6n+2, ends its name; 64 features."""
    num_blocks = (int(name.removeprefix("resnet")) - 2) // 6
    stem = [
        nn.Conv2d(info.shape[2], WIDTHS[0], 3, padding=1, bias=False),
        nn.BatchNorm2d(WIDTHS[0]),
        nn.ReLU(inplace=True),
    ]
    stages = [_stage(WIDTHS[0], WIDTHS[0], num_blocks, stride=1)]
    stages += [_stage(before, width, num_blocks, stride=2) for before, width in pairwise(WIDTHS)]
    body = nn.Sequential(*stem, *stages, nn.AdaptiveAvgPool2d(1), nn.Flatten())
    _initialise(body)
    return Classifier(info, body, nn.Linear(WIDTHS[-1], info.num_classes))


def _stage(width_in: int, width: int, num_blocks: int, stride: int) -> nn.Sequential:
    rest = [Block(width, width, stride=1) for _ in range(num_blocks - 1)]
    return nn.Sequential(Block(width_in, width, stride), *rest)


def _initialise(body: nn.Module) -> None:
    for module in body.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
