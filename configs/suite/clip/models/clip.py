"""CLIP's image tower; its head has the text vectors of the classes (docs/your-data.md)."""

import timm
import torch
from torch.nn.functional import normalize

TOWER = "vit_base_patch32_clip_quickgelu_224"  # OpenAI's weights need QuickGELU


class Clip(torch.nn.Module):
    """Logits are the products of normalised image vectors with the weights of the head."""

    def __init__(self, info):
        """Build the tower for the size of the images."""
        super().__init__()
        self.tower = timm.create_model(TOWER, num_classes=512, img_size=info.shape[:2])
        self.head = torch.nn.Linear(512, info.num_classes)

    def features(self, x):
        """Return the image vectors, (B, 512), of length 1."""
        return normalize(self.tower(x), dim=1)

    def forward(self, x):
        """Return the logits, (B, classes)."""
        return self.head(self.features(x))


def build(info):
    """Build the model for a data set."""
    return Clip(info)
