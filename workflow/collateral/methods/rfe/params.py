"""Parameters of RFE."""

from pydantic import Field

from collateral.contract.conventions import num_batches
from collateral.contract.params import Epochs, MethodParams, Whole
from collateral.contract.work import Sizes, Work, training_work


class Prepare(MethodParams):
    """Parameters that define which retained examples are adjacent to the forget set."""

    label = "RFE"
    paper = "https://arxiv.org/abs/2603.26569"
    touches = frozenset({"retain", "forget images", "forget labels"})

    adjacent_share: float = Field(
        0.04,
        gt=0,
        lt=1,
        description="Share of the retained examples that count as adjacent to the forget set, i.e. "
        "the examples most similar to it; all others count as remote. Stage 2 (repair) trains on "
        "the adjacent examples. The authors take the superclass of the forgotten class. Ours: "
        "0.04, because in CIFAR-100, 4 of the 99 other classes belong to this superclass.",
    )

    def count_adjacent(self, retained: int) -> int:
        """Return the number of adjacent examples: at most all retained examples but one."""
        return min(max(1, round(self.adjacent_share * retained)), retained - 1)

    def prepared_numbers(self, sizes: Sizes) -> int:
        """Return the number of stored values: one index per adjacent example."""
        return self.count_adjacent(sizes.retain)


class Params(Prepare):
    """RFE (Cheng et al., ICLR 2026): constrained gradient ascent on the forget set, then repair of
    its neighbours.

    Stage 1 ascends on the forget set under an augmented Lagrangian that keeps the loss of the
    remote retained examples at that of the base model. Stage 2 descends on the adjacent examples,
    with momentum, orthogonally to two gradients: that of the remote examples, and that of the
    forget set, whose objective includes the Wasserstein-2 distance of its losses from those after
    stage 1. Eval mode throughout, clean images. The authors' adjacent set is the superclass of the
    forgotten class; here it is the retained examples most similar to the forget set. No rates are
    published for small networks: tune `ascent_lr` and `lr`.

    Formula: 1. min -CE(D_f) + q c + penalty / 2 c^2, c = CE(remote) - that of the base, q <- q +
    penalty c. 2. v <- P(momentum v + grad CE(adjacent)), w <- w - lr v; P takes out the plane of
    grad [distance W2^2(D_f) - (1 - distance) CE(D_f)] and grad CE(remote).
    """

    published = {
        "RFE": {"epochs": 7, "ascent_epochs": 1, "ascent_lr": 2.5e-6, "penalty": 10, "ceiling": 10}
        | {"batch_size": 128, "ascent_batch": 16, "forget_batch": 128, "remote_batch": 512}
        | {"span_batches": 10, "lr": 2e-5, "momentum": 0.9, "distance": 0.5},
        "RFE, Tiny ImageNet": {"ascent_lr": 5e-5, "lr": 2e-4, "epochs": 6}
        | {"span_batches": 1, "batch_size": 256},
    }

    epochs: Epochs = Field(
        7,
        ge=0,
        description="Total number of epochs. The first `ascent_epochs` are stage 1 (gradient "
        "ascent on the forget set), the others stage 2 (repair: training on retained examples "
        "that are similar to the forget set). Public code: 7, on Tiny ImageNet 6.",
    )
    ascent_epochs: Epochs = Field(
        1,
        ge=0,
        description="Number of epochs of stage 1 (gradient ascent on the forget set). An epoch is "
        "one pass over the remote retained examples, i.e. those not similar to the forget set, "
        "whose loss is kept at that of the base model; every step also uses a batch of forget "
        "examples. All other epochs belong to stage 2 (repair). Public code: 1.",
    )
    ascent_lr: float = Field(
        2.5e-6,
        ge=0,
        description="Learning rate of stage 1 (ascent), which uses Adam. Public code: 2.5e-6.",
    )
    penalty: float = Field(
        10.0,
        ge=0,
        description="Penalty factor of the augmented Lagrangian in stage 1 (ascent): the larger it "
        "is, the less the loss may change on the remote retained examples, i.e. those not similar "
        "to the forget set. Public code: 10.",
    )
    ceiling: float = Field(
        10.0,
        gt=0,
        description="Maximum loss of a forget example in stage 1 (ascent); the loss of an example "
        "above it is not raised further. Public code: 10.",
    )
    batch_size: Whole = Field(
        128,
        ge=1,
        description="Number of retained examples per step: remote ones (far from the forget set) "
        "in stage 1, adjacent ones (near it) in stage 2. Public code: 128.",
    )
    ascent_batch: Whole = Field(
        16,
        ge=1,
        description="Number of forget examples per step of stage 1 (ascent). Public code: 16.",
    )
    lr: float = Field(
        2e-5,
        ge=0,
        description="Learning rate of stage 2 (repair), constant during training. Public code: "
        "2e-5.",
    )
    momentum: float = Field(
        0.9,
        ge=0,
        lt=1,
        description="Momentum of SGD in stage 2 (repair). Public code: 0.9.",
    )
    distance: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Weight of the first of two terms in the forgetting objective of stage 2 "
        "(repair), whose gradient is removed from every step. The first term is the distance "
        "between the losses of the forget examples now and those after stage 1. The second term "
        "is minus their mean loss now, with the weight 1 - distance. Public code: 0.5.",
    )
    span_batches: Whole = Field(
        10,
        ge=1,
        description="Maximum number of batches from which stage 2 (repair) computes the gradient "
        "of the forget examples, and that of the remote retained examples, i.e. those not similar "
        "to the forget set. Both gradients are removed from every step. Each is computed from at "
        "most one pass. Public code: 10.",
    )
    forget_batch: Whole = Field(
        128,
        ge=1,
        description="Batch size on the forget set in stage 2 (repair). The gradient on these "
        "examples is computed, and every step of the repair is made orthogonal to it. Public "
        "code: 128.",
    )
    remote_batch: Whole = Field(
        512,
        ge=1,
        description="Number of examples per batch of those batches by which stage 2 (repair) "
        "computes the gradient on remote examples, i.e. retained examples that are not "
        "similar to the forget set. Every step of the repair is made orthogonal to this "
        "gradient. Public code: 512.",
    )

    def unlearn_work(self, sizes: Sizes) -> Work:
        """Return the computation of both stages; a step of stage 2 computes three gradients."""
        first = min(self.epochs, self.ascent_epochs)
        plane = min(sizes.forget, self.span_batches * self.forget_batch)
        plane += min(sizes.retain, self.span_batches * self.remote_batch)
        adjacent = self.count_adjacent(sizes.retain)
        repair = adjacent + num_batches(adjacent, self.batch_size) * plane
        return training_work(first * sizes.examples + (self.epochs - first) * repair)
