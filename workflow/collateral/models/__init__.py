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
