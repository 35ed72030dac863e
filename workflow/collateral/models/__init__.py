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
# Families of models by the prefix of their names: the module that builds them, and the module that
# lists their names and metadata.
FAMILIES = {"timm/": ("_timm", "_timm_metadata")}
