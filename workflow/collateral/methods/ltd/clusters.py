"""Clusters of the forget set: k-means on normalised features."""

import torch
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score
from threadpoolctl import threadpool_limits
from torch import Tensor
from torch.nn.functional import normalize

# Kaufman and Rousseeuw (1990): a silhouette score above this value means "a reasonable structure".
LEAST_SILHOUETTE = 0.5
STARTS = 10  # number of random initialisations of k-means; the best result is used
MOST_CLUSTERS = 10  # maximum number of clusters that `clusters: auto` tries
SAMPLE = 2000  # maximum number of examples from which a silhouette score is computed


def find_clusters(features: Tensor, number: int | str, seed: int) -> Tensor:
    """Return the cluster index of each row; clusters are numbered in order of first appearance.

    `auto` takes the number of clusters with the largest mean silhouette, or one cluster if no
    silhouette is above LEAST_SILHOUETTE.
    """
    units = normalize(features.double(), dim=1)
    # k-means runs in one thread, because several threads would change the last bits of sums.
    with threadpool_limits(1):
        found = _best(units, seed) if number == "auto" else _split(units, int(number), seed)
    return _in_order(found)


def _best(units: Tensor, seed: int) -> Tensor:
    best, highest = torch.zeros(len(units), dtype=torch.int64), LEAST_SILHOUETTE
    for number in range(2, min(MOST_CLUSTERS, len(units) - 1) + 1):
        cluster = _split(units, number, seed)
        score = _silhouette(units, cluster, seed)
        if score > highest:
            best, highest = cluster, score
    return best


def _split(units: Tensor, number: int, seed: int) -> Tensor:
    distinct = len(units.unique(dim=0))
    means = KMeans(min(number, distinct), n_init=STARTS, random_state=seed)
    return torch.from_numpy(means.fit_predict(units.numpy())).long()


def _silhouette(units: Tensor, cluster: Tensor, seed: int) -> float:
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randperm(len(units), generator=generator)[:SAMPLE]
    if not 2 <= len(cluster[rows].unique()) < len(rows):
        return 0.0
    return float(silhouette_score(units[rows].numpy(), cluster[rows].numpy()))


def _in_order(cluster: Tensor) -> Tensor:
    """Renumber the clusters in the order in which their first examples appear."""
    numbers = {old: new for new, old in enumerate(dict.fromkeys(cluster.tolist()))}
    return torch.tensor([numbers[old] for old in cluster.tolist()])
