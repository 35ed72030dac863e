"""ResNet-(6n+2) for small images (He et al., CVPR 2016, section 4.2): three stages of n blocks.

The name ends with the depth, 6n+2; there are 64 features. If a block changes the shape, its
shortcut is a projection (option B: 1x1 convolution with stride 2 and batch norm), as in the CIFAR
models of chenyaofo; He et al. pad with zeros (option A). On a CPU, the backward pass recomputes
activations where keeping them would exceed the memory of the job.
"""

import ctypes
import os
import re
import resource
import sys
from collections.abc import Mapping, Sequence
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.func import functional_call
from torch.nn import functional as F

from collateral.contract.data import ImageInfo
from collateral.contract.work import count_cores
from collateral.models._classifier import Classifier

WIDTHS = (16, 32, 64)
# Number of tensors that a block stores: outputs of two convolutions and of the layer after each.
KEPT = 4
# Dict from patterns in public implementations' names of weights to their replacements in ours.
SHARED = {
    r"^conv1\.": "body.0.",
    r"^bn1\.": "body.1.",
    r"^layer1\.": "body.3.",
    r"^layer2\.": "body.4.",
    r"^layer3\.": "body.5.",
    r"\.conv1\.": ".residual.0.",
    r"\.bn1\.": ".residual.1.",
    r"\.conv2\.": ".residual.3.",
    r"\.bn2\.": ".residual.4.",
}
CHENYAOFO = {**SHARED, r"\.downsample\.": ".shortcut.", r"^fc\.": "head."}
AKAMASTER = {**SHARED, r"^linear\.": "head."}
OPTION_A = (
    "shortcuts without weights (option A of He et al.), but the model has projections (option B)"
)
# Number of blocks between calls of malloc_trim; calls after every block cost 30 % more time.
TIDY = 3
SHARE = 0.75  # fraction of the machine's free memory that all simultaneous jobs may use
MACHINE = Path("/proc/meminfo")  # file with the free memory of the machine
CONTAINER = Path("/sys/fs/cgroup/memory.max")  # file with the memory limit of the container


class Block(nn.Module):
    """A residual block: the output of two 3x3 convolutions is added to a shortcut."""

    def __init__(self, width_in: int, width: int, stride: int) -> None:
        """Build the residual branch, and a projection if the shape changes."""
        super().__init__()
        self.residual = nn.Sequential(
            nn.Conv2d(width_in, width, 3, stride, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
        )
        self.shortcut: nn.Module = nn.Identity()
        if (width_in, stride) != (width, 1):
            self.shortcut = nn.Sequential(
                nn.Conv2d(width_in, width, 1, stride, bias=False), nn.BatchNorm2d(width)
            )

    def forward(self, x: Tensor) -> Tensor:
        """Return relu(residual + shortcut)."""
        return F.relu(self.residual(x) + self.shortcut(x), inplace=True)


class Stage(nn.Sequential):
    """Residual blocks of one width."""

    num_stages = len(WIDTHS)  # of the model to which the stage belongs

    def forward(self, x: Tensor) -> Tensor:
        """Run the blocks; with little memory, recompute activations in the backward pass."""
        needed = find_step(self.num_stages) * _would_keep(x, len(self))
        is_frugal = self.training and needed > find_free_memory()
        for number, block in enumerate(self, 1):
            x = recompute(block, x) if is_frugal else block(x)
            if is_frugal and number % TIDY == 0 and x.requires_grad:
                x.register_hook(trim_memory)  # `trim_memory` runs in the backward pass.
        return x


def find_step(num_stages: int) -> float:
    """Return the memory of a training step divided by that of stage 1 in the forward pass.

    Stages 1, 2, 3 take 1 + 1/2 + 1/4 in the forward pass, and the same in the backward pass.
    """
    return 2 * sum(0.5**stage for stage in range(num_stages))


def _would_keep(x: Tensor, num_blocks: int) -> int:
    """Return an upper bound of the bytes that a stage stores for the backward pass.

    It is 0 unless gradients are computed on a CPU without torch.compile.
    """
    is_plain_cpu = x.device.type == "cpu" and not torch.compiler.is_compiling()
    return KEPT * num_blocks * x.nbytes if is_plain_cpu and torch.is_grad_enabled() else 0


@cache
def find_free_memory() -> float:
    """Return the number of bytes that this job may still use; computed once per process."""
    if limit := _slurm_limit():
        return max(0.0, limit - _used())
    return SHARE * _free_on_machine() / count_cores()


def _slurm_limit() -> float:
    """Return the memory limit of a SLURM job in bytes; 0 outside of SLURM."""
    by_node, by_cpu, cpus = (
        float(os.environ.get(f"SLURM_{name}", 0))
        for name in ("MEM_PER_NODE", "MEM_PER_CPU", "CPUS_ON_NODE")
    )
    return 2**20 * (by_node or by_cpu * cpus)


def _used() -> float:
    """Return the peak memory of this process so far, in bytes."""
    unit = 1 if sys.platform == "darwin" else 2**10
    return unit * float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def _free_on_machine() -> float:
    """Return the free memory of the machine or, if smaller, the container's limit, in bytes."""
    known = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    if MACHINE.exists():
        lines = MACHINE.read_text(encoding="utf-8").splitlines()
        known += [2**10 * int(line.split()[1]) for line in lines if line.startswith("MemAvail")]
    if CONTAINER.exists() and (limit := CONTAINER.read_text(encoding="utf-8").strip()) != "max":
        known.append(int(limit))
    return float(min(known))


def build(name: str, info: ImageInfo) -> Classifier:
    """Build the ResNet of this name."""
    num_blocks = (int(name.removeprefix("resnet")) - 2) // 6
    stem = [
        nn.Conv2d(info.shape[2], WIDTHS[0], 3, padding=1, bias=False),
        nn.BatchNorm2d(WIDTHS[0]),
        nn.ReLU(inplace=True),
    ]
    stages = make_stages(WIDTHS, num_blocks)
    body = nn.Sequential(*stem, *stages, nn.AdaptiveAvgPool2d(1), nn.Flatten())
    initialise(body)
    model = Classifier(info, body, nn.Linear(WIDTHS[-1], info.num_classes))
    model.layouts = {
        "chenyaofo/pytorch-cifar-models": partial(translate, CHENYAOFO),
        "akamaster/pytorch_resnet_cifar10": partial(translate, AKAMASTER),
    }
    model.missing = {".shortcut.": OPTION_A}
    return model


def translate(patterns: Mapping[str, str], name: str) -> str:
    """Translate the name of a weight in a public implementation into our name."""
    for pattern, own in patterns.items():
        name = re.sub(pattern, own, name)
    return name


def make_stages(widths: Sequence[int], num_blocks: int) -> list[Stage]:
    """Return one stage per width; all stages but the first halve height and width."""
    first = _stage(widths[0], widths[0], num_blocks, stride=1)
    stages = [first, *(_stage(b, width, num_blocks, stride=2) for b, width in pairwise(widths))]
    for stage in stages:
        stage.num_stages = len(stages)
    return stages


def _stage(width_in: int, width: int, num_blocks: int, stride: int) -> Stage:
    rest = [Block(width, width, stride=1) for _ in range(num_blocks - 1)]
    return Stage(Block(width_in, width, stride), *rest)


def initialise(body: nn.Module) -> None:
    """Draw the weights of convolutions in place (He et al., ICCV 2015, fan out)."""
    for module in body.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")


def recompute(part: nn.Module, x: Tensor) -> Tensor:
    """Return `part(x)`, storing only x for the backward pass; gradients are bit-identical."""
    weights = [weight for weight in part.parameters() if weight.requires_grad]
    output: Tensor = _Recomputed.apply(part, x, *weights)
    return output


def trim_memory(_gradient: Tensor) -> None:
    """Give unused memory of malloc back to the system; it can be as large as all tensors."""
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):  # only glibc has it
        trim(0)


class _Recomputed(torch.autograd.Function):
    """Runs a module without storing its activations, and recomputes them in the backward pass."""

    @staticmethod
    def forward(ctx: Any, part: nn.Module, x: Tensor, *weights: Tensor) -> Tensor:
        ctx.part = part
        ctx.autocast = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
        ctx.save_for_backward(x, *weights)
        output: Tensor = part(x)
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, delta: Tensor) -> tuple[Tensor | None, ...]:
        x, *weights = ctx.saved_tensors
        # Buffers are copied, because the forward pass has already updated those of batch norm.
        buffers = {name: buffer.clone() for name, buffer in ctx.part.named_buffers()}
        is_mixed, dtype = ctx.autocast
        with torch.enable_grad(), torch.autocast("cpu", dtype, is_mixed):
            x = x.detach().requires_grad_()
            output = functional_call(ctx.part, buffers, (x,))
        return None, *torch.autograd.grad(output, [x, *weights], delta)
