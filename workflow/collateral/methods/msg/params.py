"""Parameters of MSG and CT."""

from typing import Literal

from pydantic import Field

from collateral.contract.params import Epochs, TrainedParams, Whole

CODE = {"lr": 1e-3, "momentum": 0.9, "weight_decay": 5e-4, "batch_size": 64, "augment": False}


class Params(TrainedParams):
    """MSG, masked small gradients (Cadet et al., 2024): re-initialise the weights of convolutions
    whose gradients on retained and forget examples are alike, then fine-tune.

    In every convolution, the fraction `ratio` of weights with the smallest difference between the
    gradients of retained and of forget examples is re-initialised; then the model trains on the
    retained examples, with the gradients of the other convolution weights times `kept_rate`. `ct`
    is the convolution transpose of the NeurIPS 2023 challenge: height and width of every
    kernel are swapped before training. Models without convolutions are skipped.

    Formula: redraw where |grad CE(D_r) - grad CE(D_f)| is among the smallest `ratio` of its layer;
    then min CE(D_r), gradients of kept kernel weights times kept_rate.
    """

    label = "MSG"
    paper = "https://arxiv.org/abs/2410.01276"
    touches = frozenset({"retain", "forget images", "forget labels"})
    published = {
        "DeepUnlearn": {**CODE, "variant": "msg", "epochs": 5, "ratio": 0.3, "kept_rate": 0.1},
        "DeepUnlearn, CT": {**CODE, "variant": "ct", "epochs": 3},
    }

    variant: Literal["msg", "ct"] = Field(
        "msg",
        description="What is done to the convolutions before training. `msg`: the share `ratio` "
        "of their weights is re-initialised. `ct`: height and width of every kernel are swapped; "
        "the forget set is not used.",
    )
    ratio: float = Field(
        0.3,
        ge=0,
        le=1,
        description="Share of the weights of each convolution that are re-initialised; used only "
        "with `variant: msg`. Public code: 0.3.",
    )
    kept_rate: float = Field(
        0.1,
        ge=0,
        description="Factor by which the gradients of those weights of convolutions that are not "
        "re-initialised are multiplied; used only with `variant: msg`. Public code: 0.1.",
    )
    epochs: Epochs = Field(
        5,
        ge=0,
        description="Number of epochs, i.e. passes over the retained examples. Public code: 5 with "
        "`variant: msg`, 3 with `variant: ct`.",
    )
    lr: float = Field(
        1e-3,
        ge=0,
        description="Highest learning rate. With `variant: msg` the rate rises linearly until the "
        "middle epoch and then falls; with `variant: ct` it falls along half a cosine "
        "wave. Public code: 1e-3.",
    )
    batch_size: Whole = Field(64, ge=1, description="Number of examples per step. Public code: 64.")
    weight_decay: float = Field(
        5e-4, ge=0, description="Weight decay of the optimiser. Public code: 5e-4."
    )
    augment: bool = Field(
        False,
        description="Whether training images are augmented by the random crops and flips of the "
        "data set. Public code: no.",
    )

    @property
    def is_paced(self) -> bool:
        """True, because the learning rate of an epoch depends on the total number of epochs."""
        return True
