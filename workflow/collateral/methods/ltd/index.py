"""Approximate search: only the cells of an index that are nearest to a query are looked into."""

import math
from collections.abc import Iterator

import faiss
import torch
from torch import Tensor
from torch.nn.functional import normalize

from collateral.methods._shared.nearest import CHUNK_ENTRIES

LEAST_PER_CELL = 39  # examples; faiss warns of fewer
# Of k-means, which lays out the cells. faiss's own 25 rounds over 256 a cell find no more
# neighbours and take twenty times as long (300,000 features of 64 numbers, one core).
ROUNDS, PER_CELL = 5, 64
PROBES = 16  # cells that are looked into; see benchmarks/bench_support.py


def index_of(keys: Tensor) -> faiss.IndexIVFFlat:
    """Return an inverted file by cosine of sqrt(n) cells: one thread, so the same bits again."""
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
    """Yield, for some queries at a time, the places (q, m) of their nearest keys, nearest first."""
    for some in normalize(queries, dim=1).split(max(1, CHUNK_ENTRIES // m)):
        yield torch.from_numpy(index.search(some.numpy(), m)[1])


def recall(found: Tensor, true: Tensor) -> float:
    """Return the share of the true neighbours (q, m) that are found, mean over the queries."""
    is_found = [torch.isin(*rows) for rows in zip(true, found, strict=True)]
    return torch.stack(is_found).double().mean().item()
