"""ResNet-18 for small images, as papers on CIFAR-10 and CIFAR-100 have it.

The ResNet-18 of torchvision (He et al., CVPR 2016) with a 3x3 stem of stride 1 and without max
pooling. `timm/resnet18` keeps the 7x7 stem and the pooling, and needs a fifteenth of the
operations. Weights are drawn as in torchvision and in the public code of OPTML-Group (He, fan out);
other public code keeps PyTorch's defaults. The ResNet-18 of LoTUS is another network.
"""

from functools import partial

from torch import nn

from collateral.contract.data import ImageInfo
from collateral.models._classifier import Classifier
from collateral.models.resnet import SHARED, initialise, make_stages, translate

WIDTHS = (64, 128, 256, 512)
NUM_BLOCKS = 2  # per stage
# Dicts from patterns in public implementations' names of weights to their replacements in ours.
TORCHVISION = {
    **SHARED,
    r"^layer4\.": "body.6.",
    r"\.(downsample|shortcut)\.": ".shortcut.",
    r"^(fc|linear)\.": "head.",
}
WEIAICUNZAI = {
    r"^conv1\.": "body.",
    r"^conv2_x\.": "body.3.",
    r"^conv3_x\.": "body.4.",
    r"^conv4_x\.": "body.5.",
    r"^conv5_x\.": "body.6.",
    r"\.residual_function\.": ".residual.",
    r"^fc\.": "head.",
}


def build(name: str, info: ImageInfo) -> Classifier:
    """Build the ResNet-18."""
    stem = [
        nn.Conv2d(info.shape[2], WIDTHS[0], 3, padding=1, bias=False),
        nn.BatchNorm2d(WIDTHS[0]),
        nn.ReLU(inplace=True),
    ]
    stages = make_stages(WIDTHS, NUM_BLOCKS)
    body = nn.Sequential(*stem, *stages, nn.AdaptiveAvgPool2d(1), nn.Flatten())
    initialise(body)
    model = Classifier(info, body, nn.Linear(WIDTHS[-1], info.num_classes))
    model.layouts = {
        "torchvision, OPTML-Group or kuangliu/pytorch-cifar": partial(translate, TORCHVISION),
        "weiaicunzai/pytorch-cifar100": partial(translate, WEIAICUNZAI),
    }
    return model
