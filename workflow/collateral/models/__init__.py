"""Image classifiers, one file a family; `NAMES` tells which file serves which name."""

NAMES = {
    "mlp": "mlp",
    "mnist_cnn": "mnist_cnn",
    "resnet8": "resnet",
    "resnet14": "resnet",
    "resnet20": "resnet",
    "resnet56": "resnet",
    "small_cnn": "small_cnn",
    "vit_tiny": "vit",
}
# Names that are too many to list: by their prefix, the file that builds, and the one that knows.
FAMILIES = {"timm/": ("_timm", "_timm_facts")}
