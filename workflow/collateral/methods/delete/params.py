"""Parameters of DELETE."""

from pydantic import Field

from collateral.contract.params import Epochs, TrainedParams, Whole


class Params(TrainedParams):
    """DELETE (Zhou et al., CVPR 2025): learn the base model's predictions on the forget set without
    the true class.

    The target of a forget example is the base model's softmax with the logit of the true class at
    minus infinity, on the same augmented image. No retained example is used. It is made for whole
    classes: if part of a class is forgotten, nothing protects the rest of that class.

    Formula: min mean KL(t, p) over D_f, t = softmax of the base's logits with that of y at minus
    infinity.
    """

    label = "DELETE"
    paper = "https://arxiv.org/abs/2503.23751"
    touches = frozenset({"forget images", "forget labels"})
    published = {
        "DELETE": {"epochs": 20, "optimizer": "sgd", "momentum": 0.9, "weight_decay": 0}
        | {"augment": True, "lr": 5e-5, "batch_size": 128},
        "DELETE, CIFAR-10": {"lr": 1e-4},
        "DELETE's scripts, CIFAR-10": {"lr": 1e-3},
        "DELETE, Tiny ImageNet": {"lr": 5e-5, "batch_size": 64, "batchnorm": ["train", "frozen"]},
    }

    epochs: Epochs = Field(
        20, ge=0, description="Number of epochs, i.e. passes over the forget set. Public code: 20."
    )
    lr: float = Field(
        5e-5,
        ge=0,
        description="Learning rate, constant during training. Public code: 5e-5 on CIFAR-100, "
        "1e-4 on CIFAR-10.",
    )
    batch_size: Whole = Field(
        128, ge=1, description="Number of forget examples per step. Public code: 128."
    )
    weight_decay: float = Field(
        0, ge=0, description="Weight decay of the optimiser. Public code: 0."
    )
