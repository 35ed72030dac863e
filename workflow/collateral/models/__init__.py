"""Image classifiers, one file per family; `NAMES` maps the name of a model to its file."""

NAMES = {
    "mlp": "mlp",
    "mnist_cnn": "mnist_cnn",
    "resnet8": "resnet",
    "resnet14": "resnet",
    "resnet18": "resnet18",
    "resnet20": "resnet",
    "resnet56": "resnet",
    "small_cnn": "small_cnn",
    "vit_tiny": "vit",
}
# Dict from a prefix of model names to two modules: one builds models, one has their metadata.
FAMILIES = {"timm/": ("_timm", "_metadata")}
