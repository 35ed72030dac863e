"""Approximate nearest-neighbour search by an inverted file index of faiss."""

import math
from collections.abc import Iterator

import faiss
import torch
from torch import Tensor
from torch.nn.functional import normalize

from collateral.methods._shared.nearest import CHUNK_ENTRIES

LEAST_PER_CELL = 39  # minimum number of examples per index cell; with fewer, faiss prints a warning
# Number of k-means iterations, and of training examples per cell, of an index of faiss.
# The defaults of faiss take 20 times as long.
ROUNDS, PER_CELL = 5, 64
PROBES = 16  # number of index cells searched per query; see benchmarks/bench_support.py


def build_index(keys: Tensor) -> faiss.IndexIVFFlat:
    """Build an index of n keys for search by cosine, with at most sqrt(n) cells.

    Only one thread is used, so that the index is deterministic.
    """
    faiss.omp_set_num_threads(1)
    num_cells = max(1, min(math.isqrt(len(keys)), len(keys) // LEAST_PER_CELL))
    cells = faiss.IndexFlatIP(keys.shape[1])
    index = faiss.IndexIVFFlat(cells, keys.shape[1], num_cells, faiss.METRIC_INNER_PRODUCT)
    index.cp.spherical, index.cp.niter, index.cp.max_points_per_centroid = True, ROUNDS, PER_CELL
    index.nprobe = PROBES
    units = normalize(keys, dim=1).numpy()
    index.train(units)
    index.add(units)
    return index


def search(index: faiss.IndexIVFFlat, queries: Tensor, m: int) -> Iterator[Tensor]:
    """Yield, for chunks of queries, the indices of each query's m nearest keys, nearest first."""
    for some in normalize(queries, dim=1).split(max(1, CHUNK_ENTRIES // m)):
        yield torch.from_numpy(index.search(some.numpy(), m)[1])


def recall(found: Tensor, true: Tensor) -> float:
    """Return the fraction of the true neighbours that were found, averaged over queries."""
    is_found = [torch.isin(*rows) for rows in zip(true, found, strict=True)]
    return torch.stack(is_found).double().mean().item()
