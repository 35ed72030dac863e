"""Parameters of SCRUB."""

from typing import Annotated, Literal

from pydantic import Field

from collateral.contract.params import Epochs, TrainedParams, Whole


class Params(TrainedParams):
    """SCRUB (Kurmanji et al., NeurIPS 2023): move away from the base model on the forget set, stay
    close to it on retained examples.

    The teacher is the base model. Each of the first epochs begins with a pass over the forget set
    that increases the divergence from the teacher; every epoch then decreases a weighted sum of
    cross-entropy and divergence on the retained examples. Defaults: the authors' small-scale
    notebook. SCRUB+R, which goes back to the best epoch on a validation set, is not implemented.

    Formula: K = T^2 mean KL(p0, p), both at temperature T; in the first `max_epochs` max K(D_f), in
    every epoch min gamma CE(D_r) + alpha K(D_r).
    """

    label = "SCRUB"
    paper = "https://arxiv.org/abs/2302.09880"
    touches = frozenset({"retain", "forget images"})
    published = {
        "authors' code, small": {"epochs": 10, "max_epochs": 3, "optimizer": "adam", "lr": 5e-4}
        | {"decay_after": (5, 8, 9), "weight_decay": 0.1, "batch_size": 32, "forget_batch_size": 64}
        | {"temperature": 2, "gamma": 1, "alpha": 0.5},
        "authors' code, large": {"epochs": 3, "max_epochs": 2, "optimizer": "sgd", "momentum": 0.9}
        | {"lr": 5e-4, "decay_after": (3, 5, 9), "weight_decay": 5e-4, "batch_size": 256}
        | {"forget_batch_size": 512, "temperature": 4, "gamma": 0.99, "alpha": 0.001},
        "authors' code, MIA": {"epochs": 5, "max_epochs": 3, "optimizer": "sgd"}
        | {"temperature": 4, "gamma": 1, "alpha": 0.5},
        "SFRon": {"epochs": 6, "max_epochs": 2, "optimizer": "sgd", "lr": 8e-5, "batch_size": 128}
        | {"temperature": 4, "gamma": 0.99, "alpha": 0.001},
        "RUM": {"epochs": 5, "max_epochs": 4, "optimizer": "sgd", "lr": 5e-3, "temperature": 4},
    }

    epochs: Epochs = Field(
        10,
        ge=0,
        description="Number of epochs, i.e. passes over the retained examples. Authors' code: 10.",
    )
    max_epochs: Epochs = Field(
        3,
        ge=0,
        description="Number of epochs, counted from the first one, that begin with a pass over the "
        "forget set; it moves the model away from the base model. All other epochs have "
        "no such pass. Authors' code: 3 or 2.",
    )
    lr: float = Field(5e-4, ge=0, description="Learning rate at the start. Authors' code: 5e-4.")
    decay_after: tuple[Annotated[Whole, Field(ge=0)], ...] = Field(
        (5, 8, 9),
        description="Numbers of finished epochs after which the learning rate is divided by ten. "
        "In a config, write a list in a list, such as [[5, 8, 9]], because a plain list is a grid "
        "to tune over. Authors' code: 5, 8, 9.",
    )
    optimizer: Literal["sgd", "adam", "adamw"] = Field(
        "adam", description="Optimiser that trains the model. Authors' code: Adam or SGD."
    )
    weight_decay: float = Field(
        0.1,
        ge=0,
        description="Weight decay of the optimiser. Authors' code: 0.1 with Adam, 5e-4 with SGD.",
    )
    batch_size: Whole = Field(
        32, ge=1, description="Number of retained examples per step. Authors' code: 32."
    )
    forget_batch_size: Whole = Field(
        64, ge=1, description="Number of forget examples per step. Authors' code: 64."
    )
    temperature: float = Field(
        2.0,
        gt=0,
        description="Temperature of the softmax of teacher and student. Authors' code: 2.",
    )
    gamma: float = Field(
        1.0,
        ge=0,
        description="Weight that the cross-entropy on the retained examples and their labels has "
        "in the loss. Authors' code: 1.",
    )
    alpha: float = Field(
        0.5,
        ge=0,
        description="Weight in the loss of the divergence from the teacher (the base model) on the "
        "retained examples. Authors' code: 0.5.",
    )
