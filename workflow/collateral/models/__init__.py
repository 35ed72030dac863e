"""Image classifiers, one file per family; `NAMES` maps the name of a model to its file."""

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
# By prefix of the model's name: the module that builds it, and the module with its metadata.
FAMILIES = {"timm/": ("_timm", "_metadata")}
