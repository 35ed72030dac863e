"""The models a config may name, and the module that builds each; light enough for the Snakefile."""

NAMES = {
    "mlp": "collateral.models.mlp",
    "mnist_cnn": "collateral.models.mnist_cnn",
    "resnet8": "collateral.models.resnet",
    "resnet14": "collateral.models.resnet",
    "resnet20": "collateral.models.resnet",
    "resnet56": "collateral.models.resnet",
    "small_cnn": "collateral.models.small_cnn",
    "vit_tiny": "collateral.models.vit",
}
