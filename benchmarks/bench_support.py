"""The search for LTD's neighbours: memory by the size of D_r, and speed and recall of an index.

    python benchmarks/bench_support.py [--sizes 10000 100000 1000000] [--queries 2000]
        [--embeddings results/<benchmark>/base/seed-0/embeddings.npz]

Memory is the peak of a new process minus its memory before the search (with the features loaded),
for the exact search alone and for the whole choice of a support around 50 of the queries. The index
(an extra, `pip install 'collateral[ann]'`) is compared with the exact search in one process: the
fraction of the true neighbours that it finds, and the seconds of both. Features are drawn around
100 directions, or are those of a base model.
"""

import subprocess
import sys
from argparse import ArgumentParser, Namespace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
from torch import Tensor

from collateral.methods._shared.nearest import Search, nearest, similarity_to_nearest
from collateral.methods.ltd.support import Neighbourhood, use_every_example

DIMENSIONS, NUM_CLASSES, NOISE = 64, 100, 0.5
SUPPORT = 1000
AROUND = 50  # number of queries around which `choice` chooses a support
NEIGHBOURS = (10, 100)
PROBES = (4, 16, 64)


def features(count: int, seed: int) -> Tensor:
    """Draw features like those of a network: noise around a direction per class, none negative."""
    means = torch.randn(NUM_CLASSES, DIMENSIONS, generator=torch.Generator().manual_seed(0))
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.empty(count, DIMENSIONS).normal_(0, NOISE, generator=generator)
    for first in range(0, count, 10_000):
        part = drawn[first : first + 10_000]
        part += means[torch.randint(NUM_CLASSES, (len(part),), generator=generator)]
    return drawn.relu_()


def search_alone(keys: Tensor, queries: Tensor) -> None:
    """Search the neighbours of all queries without storing them."""
    for places in nearest(queries, keys, SUPPORT):
        del places


def whole_choice(keys: Tensor, queries: Tensor) -> None:
    """Choose a support around every query."""
    scores = similarity_to_nearest(keys, queries)
    search = partial(nearest, queries, keys)
    Neighbourhood(keys, use_every_example(queries), search, scores).with_size(SUPPORT)


WORKS = {"search": search_alone, "choice": whole_choice}


def measure(work: str, count: int, num_queries: int) -> None:
    """Print the peak memory of the search above the present memory, in MB, and its seconds."""
    torch.set_num_threads(1)
    keys, queries = features(count, 1), features(num_queries, 2)
    WORKS[work](keys[:1000], queries[:10])  # The first call loads libraries and is not counted.
    before, start = _forget_peak(), perf_counter()
    WORKS[work](keys, queries)
    print(_peak_mb() - before, perf_counter() - start)


def _forget_peak() -> float:
    """Reset the kernel's peak memory of this process; return its present memory in MB."""
    Path("/proc/self/clear_refs").write_text("5")
    return _peak_mb()


def _peak_mb() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 2**10


def report_memory(sizes: list[int], num_queries: int) -> None:
    """Measure the memory for each size in a process of its own."""
    for work, queries in {"search": num_queries, "choice": min(num_queries, AROUND)}.items():
        for count in sizes:
            command = [sys.executable, __file__, "--measure", work, "--sizes", str(count)]
            command += ["--queries", str(queries)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            peak, seconds = map(float, done.stdout.split())
            held = count * DIMENSIONS * 4 / 2**20
            print(
                f"{work}, {queries} queries among {count:,} features ({held:.0f} MB): "
                f"{peak:.0f} MB more, {seconds:.2f} s"
            )


def report_recall(keys: Tensor, queries: Tensor) -> None:
    """Compare the index with the exact search."""
    from collateral.methods.ltd import index  # noqa: PLC0415

    start = perf_counter()
    made = index.build_index(keys)
    building = perf_counter() - start
    print(f"index of {len(keys):,} features: {building:.2f} s to build")
    for m in NEIGHBOURS:
        true, exact_seconds = timed(partial(nearest, queries, keys), m)
        print(f"  {len(queries):,} x {m}, exact: {exact_seconds:.2f} s")
        for made.nprobe in PROBES:
            found, seconds = timed(partial(index.search, made, queries), m)
            print(
                f"  {len(queries):,} x {m}, {made.nprobe} probes: recall "
                f"{index.recall(found, true):.4f}, {seconds:.2f} s, {exact_seconds / seconds:.1f} "
                f"times as fast ({exact_seconds / (building + seconds):.1f} with the building)"
            )


def timed(search: Search, m: int) -> tuple[Tensor, float]:
    """Return the neighbours of a search, and its seconds."""
    start = perf_counter()
    found = torch.cat(list(search(m)))
    return found, perf_counter() - start


def main() -> None:
    """Measure memory, then recall."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument("--embeddings", type=Path, help="of a base model, for the recall")
    parser.add_argument("--measure", choices=WORKS, help="one process of the memory")
    args: Namespace = parser.parse_args()
    if args.measure:
        measure(args.measure, args.sizes[0], args.queries)
        return
    torch.set_num_threads(1)
    report_memory(args.sizes, args.queries)
    if find_spec("faiss") is None:
        print("no recall: faiss is not installed (pip install 'collateral[ann]')")
        return
    if args.embeddings:
        with np.load(args.embeddings) as file:
            rows = torch.from_numpy(file["train"])
        report_recall(rows[args.queries :], rows[: args.queries])
        return
    for count in args.sizes:
        report_recall(features(count, 1), features(args.queries, 2))


if __name__ == "__main__":
    main()
