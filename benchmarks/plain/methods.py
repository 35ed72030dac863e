"""The unlearning methods in the style of public code: every call repeats all of its work."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from plain.attack import attack
from plain.data import EVALUATION_BATCH, PlainTask
from plain.evaluation import Batches, features
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import SGD, AdamW, Optimizer
from torch.utils.data import ConcatDataset, DataLoader, Dataset

from collateral.contract.params import TrainedParams
from collateral.methods.amun.params import Params as AmunParams
from collateral.methods.ft.params import Params as FtParams
from collateral.methods.ga.params import Params as GaParams
from collateral.methods.iu.params import Params as IuParams
from collateral.methods.ltd.params import Params as LtdParams
from collateral.methods.neighbor.params import Params as NeighborParams
from collateral.methods.rl.params import Params as RlParams
from collateral.methods.salun.params import Params as SalunParams
from collateral.models._build import build_model

Targets = Callable[[Tensor, Tensor], Tensor]  # images and indices of D_f -> targets (b, C)


class Relabelled(Dataset[tuple[Tensor, int]]):
    """Some of the train images with other labels."""

    def __init__(self, task: PlainTask, index: NDArray[np.int64], labels: Sequence[int]) -> None:
        """Take the images at `index`."""
        self._images, self._index, self._labels = task.augmented, index, labels

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self._index)

    def __getitem__(self, position: int) -> tuple[Tensor, int]:
        """Return one image and its new label."""
        return self._images[self._index[position]][0], self._labels[position]


def shuffled(parts: Sequence[Dataset], size: int) -> DataLoader:
    """Return shuffled batches over several data sets."""
    return DataLoader(ConcatDataset(parts), size, shuffle=True)


def retained(task: PlainTask) -> Relabelled:
    """Return the retained examples with their own labels."""
    return Relabelled(task, task.retain, task.data.labels.train[task.retain].tolist())


def optimizer_of(model: nn.Module, params: TrainedParams) -> Optimizer:
    """Return torch's own optimiser for a method's parameters."""
    if params.optimizer == "adamw":
        return AdamW(model.parameters(), lr=params.lr, weight_decay=params.weight_decay)
    return SGD(
        model.parameters(),
        lr=params.lr,
        momentum=params.momentum,
        weight_decay=params.weight_decay,
    )


def train_epoch(model: nn.Module, batches: Batches, optimizer: Optimizer) -> float:
    """Take one step per batch; return the accuracy of the training steps."""
    model.train()
    correct = count = 0
    for x, y in batches:
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        correct += (logits.argmax(1) == y).sum().item()
        count += len(y)
    return correct / count


def fine_tune(model: nn.Module, task: PlainTask, params: FtParams) -> nn.Module:
    """FT: continue training on the retained examples."""
    optimizer = optimizer_of(model, params)
    for _ in range(params.epochs):
        train_epoch(model, task.training(task.retain, params.batch_size), optimizer)
    return model


def gradient_ascent(model: nn.Module, task: PlainTask, params: GaParams) -> nn.Module:
    """GA: ascend the loss on the forget set."""
    optimizer = optimizer_of(model, params)
    model.train()
    for _ in range(params.epochs):
        for x, y in task.training(task.forget, params.batch_size):
            optimizer.zero_grad()
            (-F.cross_entropy(model(x), y)).backward()
            optimizer.step()
    return model


def random_labels(model: nn.Module, task: PlainTask, params: RlParams) -> nn.Module:
    """RL: train on the forget set with random labels and on the retained examples."""
    optimizer = optimizer_of(model, params)
    for _ in range(params.epochs):
        labels = torch.randint(task.num_classes, (len(task.forget),)).tolist()
        parts = [Relabelled(task, task.forget, labels), retained(task)]
        train_epoch(model, shuffled(parts, params.batch_size), optimizer)
    return model


def saliency_mask(model: nn.Module, task: PlainTask, params: SalunParams) -> list[Tensor]:
    """Return a mask of the weights with the largest gradients on the forget set."""
    model.eval()
    total = [torch.zeros_like(weight) for weight in model.parameters()]
    for x, y in task.training(task.forget, params.batch_size):
        model.zero_grad()
        (-F.cross_entropy(model(x), y)).backward()
        for gradient, weight in zip(total, model.parameters(), strict=True):
            gradient += weight.grad
    flat = torch.cat([gradient.abs().flatten() for gradient in total])
    mask = torch.zeros_like(flat)
    mask[flat.argsort(descending=True)[: int(params.ratio * len(flat))]] = 1
    pieces = mask.split([weight.numel() for weight in model.parameters()])
    return [piece.view_as(gradient) for piece, gradient in zip(pieces, total, strict=True)]


def saliency(model: nn.Module, task: PlainTask, params: SalunParams) -> nn.Module:
    """SalUn: train on random labels, and change only the weights of the mask."""
    mask = saliency_mask(model, task, params)
    starts = [weight.detach().clone() for weight in model.parameters()]
    optimizer = optimizer_of(model, params)
    model.train()
    for _ in range(params.epochs):
        labels = torch.randint(task.num_classes, (len(task.forget),)).tolist()
        parts = [Relabelled(task, task.forget, labels), retained(task)]
        for x, y in shuffled(parts, params.batch_size):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            for weight, free in zip(model.parameters(), mask, strict=True):
                weight.grad *= free
            optimizer.step()
            with torch.no_grad():
                for weight, free, start in zip(model.parameters(), mask, starts, strict=True):
                    weight.copy_(free * weight + (1 - free) * start)
    return model


def gradient(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """Return the gradient of a batch's mean loss as one vector."""
    loss = F.cross_entropy(model(x), y)
    parts = torch.autograd.grad(loss, list(model.parameters()))
    return torch.cat([part.flatten() for part in parts])


def summed_gradient(model: nn.Module, batches: Batches) -> Tensor:
    """Return the gradient of the summed loss."""
    return torch.stack([gradient(model, x, y) * len(y) for x, y in batches]).sum(0)


def recursion(model: nn.Module, ones: Batches, v: Tensor, samples: int) -> Tensor:
    """Return the result of the WoodFisher recursion for v; `ones` yields batches of one example."""
    k, o = v.clone(), None
    for i, (x, y) in enumerate(ones):
        g = gradient(model, x, y)
        if o is None:
            o = g
        else:
            t = torch.dot(o, g)
            k = k - torch.dot(k, g) / (samples + t) * o
            o = o - t / (samples + t) * o
        if i > samples:
            break
    return k


def direction(model: nn.Module, task: PlainTask, samples: int) -> Tensor:
    """Return the direction of IU's step."""
    model.eval()
    num_forget, num_retain = len(task.forget), len(task.retain)
    total = num_forget + num_retain
    of_forget = summed_gradient(model, task.training(task.forget, EVALUATION_BATCH))
    of_retain = summed_gradient(model, task.training(task.retain, EVALUATION_BATCH))
    v = of_forget / total - of_retain * num_forget / (total * num_retain)
    return recursion(model, task.training(task.retain, 1), v, samples)


def influence_unlearning(model: nn.Module, task: PlainTask, params: IuParams) -> nn.Module:
    """IU: take one step along the direction of the WoodFisher recursion."""
    weights = list(model.parameters())
    along = direction(model, task, params.samples)
    pieces = along.split([weight.numel() for weight in weights])
    with torch.no_grad():
        for weight, piece in zip(weights, pieces, strict=True):
            weight += params.alpha * piece.view(weight.shape)
    return model


def adversarial(model: nn.Module, task: PlainTask, params: AmunParams) -> nn.Module:
    """AMUN: attack the forget set, then train on all examples and on the adversarial ones."""
    flips: list[tuple[Tensor, int]] = []
    for x, y in task.looking(task.forget):
        found = attack(model, x, y, params)
        flips += zip(found["images"], found["labels"].tolist(), strict=True)
    forgotten = Relabelled(task, task.forget, task.data.labels.train[task.forget].tolist())
    optimizer = optimizer_of(model, params)
    for _ in range(params.epochs):
        batches = shuffled([retained(task), forgotten, flips], params.batch_size)
        train_epoch(model, batches, optimizer)
    return model


def distilled(
    model: nn.Module, task: PlainTask, params: LtdParams | NeighborParams, targets: Targets
) -> nn.Module:
    """Train on soft labels of the forget set, computed for every batch, and on D_r."""
    optimizer, num_classes = optimizer_of(model, params), task.num_classes
    # A label of C or more is C plus the index of a forget example.
    places = list(range(num_classes, num_classes + len(task.forget)))
    parts = [Relabelled(task, task.forget, places), retained(task)]
    model.train()
    for _ in range(params.epochs):
        for x, y in shuffled(parts, params.batch_size):
            is_forgotten, losses = y >= num_classes, x.new_zeros(())
            logits = model(x)
            if is_forgotten.any():
                soft = targets(x[is_forgotten], y[is_forgotten] - num_classes)
                of_forget = F.cross_entropy(logits[is_forgotten], soft, reduction="sum")
                losses = losses + params.beta * of_forget
            if not is_forgotten.all():
                kept = ~is_forgotten
                losses = losses + F.cross_entropy(logits[kept], y[kept], reduction="sum")
            optimizer.zero_grad()
            (losses / len(y)).backward()
            optimizer.step()
    return model


def support_of(model: nn.Module, task: PlainTask, k: int) -> NDArray[np.int64]:
    """Return the k retained examples that are most similar to the forget set."""
    of_retain = features(model, task.looking(task.retain))
    direction = features(model, task.looking(task.forget)).sum(0)
    similarity = of_retain @ direction / np.linalg.norm(of_retain, axis=1).clip(1e-12)
    return task.retain[np.argsort(-similarity)[:k]]


def local_teacher(model: nn.Module, task: PlainTask, params: LtdParams) -> nn.Module:
    """LTD: distil a small teacher of the neighbours, which labels every forget batch."""
    assert isinstance(params.k, int), "the plain flow knows no auto"
    support = support_of(model, task, params.k)
    teacher = build_model(params.teacher, task.data.info)
    optimizer = SGD(
        teacher.parameters(),
        lr=params.teacher_lr,
        momentum=params.teacher_momentum,
        weight_decay=params.teacher_weight_decay,
    )
    for _ in range(params.teacher_epochs):
        batches = task.training(support, params.teacher_batch_size)
        if train_epoch(teacher, batches, optimizer) >= params.threshold:
            break
    teacher.eval()

    @torch.no_grad()
    def ask(x: Tensor, _places: Tensor) -> Tensor:
        values, classes = teacher(x).softmax(1).topk(int(params.top), dim=1)
        soft = torch.zeros(len(x), task.num_classes)
        return soft.scatter(1, classes, values / values.sum(1, keepdim=True))

    return distilled(model, task, params, ask)


def neighbour_labels(model: nn.Module, task: PlainTask, params: NeighborParams) -> nn.Module:
    """Neighbor: train on the label frequencies among the nearest retained examples."""
    retain, forget = (features(model, task.looking(i)) for i in (task.retain, task.forget))
    retain /= np.linalg.norm(retain, axis=1, keepdims=True).clip(1e-12)
    labels = task.data.labels.train[task.retain]
    soft = []
    for example in forget:
        nearest = np.argsort(-(retain @ example))[: params.k]
        soft.append(np.bincount(labels[nearest], minlength=task.num_classes) / len(nearest))
    table = torch.from_numpy(np.array(soft)).float()
    return distilled(model, task, params, lambda _x, places: table[places])


METHODS: dict[str, Callable[..., nn.Module]] = {
    "ft": fine_tune,
    "ga": gradient_ascent,
    "rl": random_labels,
    "iu": influence_unlearning,
    "salun": saliency,
    "amun": adversarial,
    "ltd": local_teacher,
    "neighbor": neighbour_labels,
}
