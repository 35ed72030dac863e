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
# Modules that build models and that list their metadata, by the prefix of the models' names.
FAMILIES = {"timm/": ("_timm", "_timm_metadata")}
