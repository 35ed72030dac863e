"""Parameters of UNSIR."""

from typing import Literal

from pydantic import Field

from collateral.contract.params import Count, Epochs, MethodParams, TrainedParams, Whole
from collateral.contract.work import Sizes, Work, training_work


class Prepare(MethodParams):
    """Parameters of the noise: images on which the base model errs most, for each class."""

    label = "UNSIR"
    paper = "https://arxiv.org/abs/2111.08947"
    touches = frozenset({"retain", "forget labels"})

    noises: Count = Field(
        256,
        description="Number of images of noise that are learned for each class of the forget set. "
        "The model is then trained on them, labelled as that class. Authors: 256, of which their "
        "code uses only 3.",
    )
    noise_steps: Whole = Field(
        40,
        ge=0,
        description="Number of steps of Adam in which the images of noise are learned. Authors: 40 "
        "(5 times 8).",
    )
    noise_lr: float = Field(
        0.1,
        ge=0,
        description="Learning rate of Adam, by which the images of noise are learned. Authors: "
        "0.1.",
    )
    noise_penalty: float = Field(
        0.1,
        ge=0,
        description="Weight of a penalty on large pixel values when the images of noise are "
        "learned: the sum of the squares of all normalised pixel values of an image, averaged "
        "over images. Authors: 0.1.",
    )

    def prepare_work(self, sizes: Sizes) -> Work:
        """Return the amount of computation of the noise for one class."""
        return training_work(self.noise_steps * self.noises)

    def prepared_numbers(self, sizes: Sizes) -> int:
        """Return the number of stored floats: the images of noise of one class."""
        return self.noises * sizes.pixels


class Params(TrainedParams, Prepare):
    """UNSIR (Tarun et al., IEEE TNNLS 2023): impair by noise with the forgotten label, then repair.

    For each class of the forget set, images of noise are learned that maximise the base model's
    loss. The model trains on them, labelled as that class, with some retained examples of each
    class, and then on these alone. No forgotten image is seen: it is made for whole classes; of a
    part of a class, the rest suffers too.

    Formula: N = argmin -CE(N, c) + noise_penalty mean |N|^2; min CE over (N, c) and part of D_r;
    then min CE over that part.
    """

    published = {
        "UNSIR": {"noises": 256, "copies": 20, "noise_steps": 40, "noise_lr": 0.1}
        | {"noise_penalty": 0.1, "per_class": 1000, "optimizer": "adam", "lr": 0.02}
        | {"repair_lr": 0.01, "impair_epochs": 1, "repair_epochs": 1},
        "UNSIR's code": {"noises": 3, "batch_size": 256, "augment": False},
        "SSD's code": {"noises": 3, "copies": 80, "noise_steps": 25, "noise_lr": 0.1}
        | {"noise_penalty": 0.1, "per_class": 500, "optimizer": "adam", "lr": 1e-4}
        | {"repair_lr": 1e-4, "batch_size": [32, 128], "augment": False},
        "SSD's code, CIFAR-20 subclass": {"noise_steps": 250, "per_class": 2500},
    }

    copies: Count = Field(
        20,
        description="Number of times that the model is trained on each image of noise in an epoch "
        "of stage 1 (impairing). Authors: 20.",
    )
    per_class: Count = Field(
        1000,
        description="Maximum number of retained examples of each class on which the model is "
        "trained in both stages; they are drawn at random. Authors: 1000.",
    )
    impair_epochs: Epochs = Field(
        1,
        ge=0,
        description="Number of epochs of stage 1 (impairing), in which the model is trained on the "
        "images of noise and the drawn retained examples. Authors: 1.",
    )
    repair_epochs: Epochs = Field(
        1,
        ge=0,
        description="Number of epochs of stage 2 (repairing), in which the model is trained on the "
        "drawn retained examples alone. Authors: 1.",
    )
    optimizer: Literal["sgd", "adam", "adamw"] = Field(
        "adam", description="Optimiser that trains the model in both stages. Authors: Adam."
    )
    lr: float = Field(
        0.02,
        ge=0,
        description="Learning rate of stage 1 (impairing), which trains on images of noise and "
        "retained examples. Authors: 0.02.",
    )
    repair_lr: float = Field(
        0.01,
        ge=0,
        description="Learning rate of stage 2 (repairing), which trains on retained examples "
        "alone. Authors: 0.01.",
    )
    weight_decay: float = Field(
        0.0, ge=0, description="Weight decay of the optimiser in both stages. Authors: 0."
    )

    @property
    def is_paced(self) -> bool:
        """True, because the epochs before the last ones impair."""
        return True

    def count_epochs(self, sizes: Sizes) -> int:
        """Return the number of epochs of both stages."""
        return self.impair_epochs + self.repair_epochs

    def unlearn_work(self, sizes: Sizes) -> Work:
        """Return the computation of both stages, with the noise of one class."""
        kept = min(sizes.retain, self.per_class * sizes.classes)
        noise = self.impair_epochs * self.copies * self.noises
        return training_work(self.count_epochs(sizes) * kept + noise)
