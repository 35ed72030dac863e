"""ViT-Tiny (Dosovitskiy et al., ICLR 2021) from timm, with 4x4 patches and untrained.

Its 192 features are the class token after the last norm.
"""

import timm
from torch import nn

from collateral.contract.data import ImageInfo
from collateral.models._classifier import Classifier

PATCH = 4


def build(name: str, info: ImageInfo) -> Classifier:
    """Build ViT-Tiny."""
    height, width, channels = info.shape
    if height % PATCH or width % PATCH:
        raise ValueError(
            f"model: {name} cuts images into {PATCH}x{PATCH} patches, which {height}x{width} "
            "images are no multiple of; choose another model or pad the images"
        )
    body = timm.create_model(
        "vit_tiny_patch16_224",
        img_size=(height, width),
        patch_size=PATCH,
        in_chans=channels,
        num_classes=info.num_classes,
    )
    # The head is the one that timm initialised.
    head, body.head = body.head, nn.Identity()
    assert isinstance(head, nn.Linear)
    return Classifier(info, body, head)
