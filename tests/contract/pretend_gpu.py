"""A GPU that is not there: tensors that say cuda:0 and are computed on the CPU.

A mode below everything else of torch computes each operation, autograd's and the optimisers'
included. What a GPU refuses is refused (tensors of two devices in one operation, numpy), what makes
the host wait is counted, and the numbers are the CPU's, bit for bit. GPU kernels, their rounding,
their speed and their memory are not here; to torch's own core such a tensor is on the device
"meta", because for "cuda" its autograd asks the driver.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from collateral.training.examples import Examples
from collateral.training.run_method import Method

GPU = torch.device("cuda", 0)
NAME = "a pretended GPU"
CPU = torch.device("cpu")
ATEN = torch.ops.aten

COPIES = {ATEN._to_copy.default, ATEN.copy_.default}
INDEXING = {ATEN.index.Tensor, ATEN.index_put_.default, ATEN._index_put_impl_.default}
# Their result, or its shape, is needed on the host.
READS = {
    ATEN._local_scalar_dense.default,
    ATEN.equal.default,
    ATEN.masked_select.default,
    ATEN.nonzero.default,
}
MASKS = (torch.bool, torch.uint8)
# Those that torch has no deterministic form of on GPUs, so that it refuses them when told to be
# deterministic (the list is in the documentation of torch.use_deterministic_algorithms).
REFUSED = ("avg_pool3d_backward", "bincount", "histc", "median", "put", "put_", "scatter_reduce")
OPEN_ENDED = (  # and all that begin so
    "_adaptive_avg_pool",
    "_ctc_loss_backward",
    "_embedding_bag_dense_backward",
    "adaptive_max_pool",
    "fractional_max_pool",
    "grid_sampler",
    "max_unpool",
    "nll_loss2d",
    "reflection_pad",
    "upsample_",
)
# These, and all that begin so, launch no kernel: they allocate memory, or change a tensor's view.
NO_KERNEL = ("empty", "new_empty", "detach", "as_strided", "_fused_sdp_choice")


class OnGpu(Tensor):
    """A tensor on the pretended GPU; `held` has its numbers."""

    held: Tensor
    device = GPU
    is_cuda, is_meta = True, False

    @staticmethod
    def __new__(cls, held: Tensor) -> OnGpu:
        """Wrap a tensor of the CPU."""
        wrapper = torch.Tensor._make_wrapper_subclass(
            cls,
            held.size(),
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device="meta",
        )
        wrapper.held = held
        return wrapper

    def tolist(self) -> Any:
        return self.cpu().tolist()

    # With these, `Module.to` exchanges a weight as a whole, not only its memory.
    def __tensor_flatten__(self) -> tuple[list[str], None]:
        return ["held"], None

    @staticmethod
    def __tensor_unflatten__(inner: dict[str, Tensor], *_: Any) -> OnGpu:
        return OnGpu(inner["held"])

    def __repr__(self) -> str:  # type: ignore[override]
        return f"{self.held}, on {GPU}"

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func: Any, *_: Any) -> Any:
        raise RuntimeError(f"{func}: this tensor is on a GPU that is gone")


class PretendGpu(TorchDispatchMode):
    """Computes what is on the pretended GPU, and keeps the books."""

    def __init__(self) -> None:
        """Count nothing yet."""
        super().__init__()
        # torch starts CUDA for a device named "cuda", unless a mode of this kind is there.
        self._mode_key = torch._C._TorchDispatchModeKey.FAKE
        self.waits: Counter[str] = Counter()  # of the host, by operation
        self.operations: set[str] = set()  # on the GPU
        self.launches: Counter[str] = Counter()  # operations that compute: at least one kernel each

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute one operation where its tensors, or its `device`, say."""
        kwargs = dict(kwargs or {})
        tensors: list[Tensor] = []
        _mapped((args, kwargs), lambda tensor: tensors.append(tensor) or tensor)
        on_gpu = any(isinstance(tensor, OnGpu) for tensor in tensors)
        named = kwargs.get("device") or (GPU if on_gpu else CPU)
        device = CPU if torch.device(named) == CPU else GPU
        if func is ATEN.is_pinned.default:
            return False
        if func is ATEN._pin_memory.default:
            return _pinned(args[0].clone())
        if on_gpu and func not in COPIES:
            _refuse_mixes(func, args, tensors)
        if on_gpu or device == GPU:
            self._count(func, args, kwargs, device)
        if func is ATEN._fused_sdp_choice.default:
            return 0  # plain matrix products: the CPU has not the GPU's fused attention
        if "device" in kwargs:
            kwargs["device"] = CPU
        result = func(*_mapped(args, _held), **_mapped(kwargs, _held))
        if device == CPU:
            return result
        # What was changed in place is the tensor that it was.
        known = {id(_held(tensor)): tensor for tensor in tensors}
        return _mapped(result, lambda t: known[id(t)] if id(t) in known else OnGpu(t))

    @property
    def refused(self) -> list[str]:
        """Operations so far that a deterministic GPU would have refused."""
        names = (operation.split(".")[1] for operation in self.operations)
        return [name for name in names if name in REFUSED or name.startswith(OPEN_ENDED)]

    def _count(self, func: Any, args: Any, kwargs: Any, device: torch.device) -> None:
        self.operations.add(str(func))
        if not func.is_view and not _name(func).startswith(NO_KERNEL):
            self.launches[_name(func)] += 1
        if func is ATEN.copy_.default:
            waits = isinstance(args[0], OnGpu) != isinstance(args[1], OnGpu)
        elif func is ATEN._to_copy.default:
            is_smooth = kwargs.get("non_blocking") and getattr(args[0], "is_in_pinned", False)
            waits = isinstance(args[0], OnGpu) != (device == GPU) and not is_smooth
        elif func in INDEXING:
            waits = any(_is_awaited(index) for index in args[1] if index is not None)
        else:
            waits = func in READS
        if waits:
            self.waits[str(func)] += 1


def _name(func: Any) -> str:
    return str(func).split(".")[1]


def _refuse_mixes(func: Any, args: Any, tensors: list[Tensor]) -> None:
    """Refuse two devices in one operation; a single number may come from the host."""
    if func in INDEXING and isinstance(args[0], OnGpu):  # indices may come from the host too
        tensors = [args[0], *(tensor for tensor in args[2:] if isinstance(tensor, Tensor))]
    if any(tensor.dim() for tensor in tensors if not isinstance(tensor, OnGpu)):
        raise RuntimeError(f"{func}: tensors on {GPU} and on the CPU in one operation")


def _is_awaited(index: Tensor) -> bool:
    """Tell whether indexing waits: for an index of the host, or for a mask's count."""
    return not isinstance(index, OnGpu) or index.dtype in MASKS


def _pinned(tensor: Tensor) -> Tensor:
    tensor.is_in_pinned = True  # type: ignore[attr-defined]
    return tensor


def _mapped(tree: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Change the tensors among arguments or results."""
    if isinstance(tree, Tensor):
        return change(tree)
    if isinstance(tree, list | tuple):
        return type(tree)(_mapped(item, change) for item in tree)
    if isinstance(tree, dict):
        return {key: _mapped(item, change) for key, item in tree.items()}
    return tree


def _held(tensor: Tensor) -> Tensor:
    return tensor.held if isinstance(tensor, OnGpu) else tensor


@contextmanager
def pretended() -> Iterator[PretendGpu]:
    """Have a GPU inside."""
    with pytest.MonkeyPatch.context() as patch, PretendGpu() as gpu:
        patch.setattr(torch.cuda, "synchronize", lambda _device: None)
        patch.setattr(torch.cuda, "max_memory_allocated", lambda _device: 2**20)
        patch.setattr(torch.cuda, "get_device_name", lambda _device: NAME)
        patch.setattr(torch.cuda, "mem_get_info", lambda _device: (2**40, 2**40))
        yield gpu


def on_gpu(method: Method, device: torch.device = GPU) -> Method:
    """Return a method that does the same on the GPU."""
    task = method.task
    images = replace(task.retain.images, pixels=task.retain.images.pixels.to(device))

    def moved(examples: Examples) -> Examples:
        rows, labels = examples.rows.to(device), examples.labels.to(device)
        return replace(examples, images=images, rows=rows, labels=labels)

    there = replace(task, retain=moved(task.retain), forget=moved(task.forget))
    base = method.load_base().to(device)
    return replace(method, task=there, load_base=lambda: copy.deepcopy(base), device=device)
