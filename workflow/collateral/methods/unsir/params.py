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
        description="Images of noise for each class of the forget set; authors: 256, of which "
        "their code trains on 3.",
    )
    noise_steps: Whole = Field(40, ge=0, description="Steps of Adam; authors: 5 times 8.")
    noise_lr: float = Field(0.1, ge=0, description="Learning rate of Adam; authors: 0.1.")
    noise_penalty: float = Field(
        0.1, ge=0, description="Weight of the mean squared length of an image; authors: 0.1."
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
    loss. The model trains on them, labelled as that class, together with some retained examples of
    each class, and then on these retained examples alone. No forgotten image is seen: it is made
    for whole classes. Of a part of a class, the rest of the class suffers too.

    Formula: N = argmin -CE(N, c) + noise_penalty mean |N|^2; min CE over (N, c) and part of D_r;
    then min CE over that part.
    """

    published = {
        "UNSIR": {"noises": 256, "copies": 20, "noise_steps": 40, "noise_lr": 0.1}
        | {"noise_penalty": 0.1, "per_class": 1000, "optimizer": "adam", "lr": 0.02}
        | {"repair_lr": 0.01, "impair_epochs": 1, "repair_epochs": 1},
        "UNSIR's code": {"noises": 3},
        "SSD's code": {"lr": 1e-4, "noise_steps": 25},
        "SSD's code, subclass": {"lr": 1e-4, "noise_steps": 250},
    }

    copies: Count = Field(
        20, description="How often an epoch shows each image of noise; authors: 20."
    )
    per_class: Count = Field(
        1000, description="Retained examples of each class, drawn at random; authors: 1000."
    )
    impair_epochs: Epochs = Field(
        1, ge=0, description="Epochs on noise and retained examples; authors: 1."
    )
    repair_epochs: Epochs = Field(
        1, ge=0, description="Epochs on the retained examples alone; authors: 1."
    )
    optimizer: Literal["sgd", "adam", "adamw"] = Field("adam", description="Authors: Adam.")
    lr: float = Field(0.02, ge=0, description="Learning rate of impairing; authors: 0.02.")
    repair_lr: float = Field(0.01, ge=0, description="Learning rate of repairing; authors: 0.01.")
    weight_decay: float = Field(0.0, ge=0, description="Authors: 0.")

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
