"""The search for neighbours, against one that looks at every pair."""

import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from collateral.methods._shared import nearest as nearness
from collateral.methods._shared.nearest import nearest, similarity_to_nearest
from collateral.methods.ltd.params import Params
from collateral.methods.ltd.support import (
    Centres,
    Neighbourhood,
    sum_clusters,
    use_every_example,
)

RNG = np.random.default_rng(0)
KEYS = RNG.normal(size=(300, 8)).astype("f4")
QUERIES = RNG.normal(size=(17, 8)).astype("f4")


def cosines(queries=QUERIES, keys=KEYS):
    """Return the similarity of every pair, (queries, keys), in float64."""
    q, k = (rows.astype("f8") / np.linalg.norm(rows, axis=1, keepdims=True)
            for rows in (queries, keys))  # fmt: skip
    return q @ k.T


def around(centres: Centres) -> Neighbourhood:
    keys = torch.from_numpy(KEYS)
    search = partial(nearest, centres.directions, keys)
    return Neighbourhood(keys, centres, search, similarity_to_nearest(keys, centres.directions))


def around_examples() -> Neighbourhood:
    return around(use_every_example(torch.from_numpy(QUERIES)))


@pytest.fixture(params=["all at once", "in pieces"])
def pieces(request, monkeypatch):
    """Search with the real sizes, and with such that queries and keys come in pieces."""
    if request.param == "in pieces":
        monkeypatch.setattr(nearness, "CHUNK_KEYS", 64)
        monkeypatch.setattr(nearness, "CHUNK_ENTRIES", 300)


@pytest.mark.parametrize("k", [1, 5, 100, 300, 999])
def test_the_nearest_are_those_of_a_look_at_every_pair_in_order(pieces, k):
    found = torch.cat(list(nearest(torch.from_numpy(QUERIES), torch.from_numpy(KEYS), k)))
    assert found.tolist() == np.argsort(-cosines(), axis=1)[:, :k].tolist()


def test_the_similarity_to_the_nearest_centre_is_the_largest(pieces):
    found = similarity_to_nearest(torch.from_numpy(KEYS), torch.from_numpy(QUERIES))
    np.testing.assert_allclose(found, cosines().max(axis=0), atol=1e-6)  # float32


def test_zeros_are_similar_to_nobody():
    found = similarity_to_nearest(torch.tensor([[0.0, 0.0], [2.0, 0.0]]), torch.eye(2))
    assert found.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("count", [1, 3, 40])
def test_the_support_of_so_many_each_is_the_union_by_brute_force(pieces, count):
    union = {place for row in cosines() for place in np.argsort(-row)[:count]}
    assert around_examples().per_centre(count).support.tolist() == sorted(union)


def shared_by_brute_force(size: int) -> list[int]:
    """Let every example add its next nearest until the union is full; the last round by cosine."""
    orders = np.argsort(-cosines(), axis=1)
    union: set[int] = set()
    for rank in range(len(KEYS)):
        new = {int(order[rank]) for order in orders} - union
        if len(union) + len(new) > size:
            by_similarity = sorted(new, key=lambda place: -cosines()[:, place].max())
            return sorted(union | set(by_similarity[: size - len(union)]))
        union |= new
    return sorted(union)


@pytest.mark.parametrize("size", [1, 10, 17, 60, 150, 299, 300, 1000])
def test_the_support_of_a_size_is_filled_by_rank_as_by_brute_force(pieces, size):
    found = around_examples().with_size(size).support.tolist()
    assert found == shared_by_brute_force(size)
    assert len(found) == min(size, 300)


def test_neighbours_of_few_are_searched_once():
    neighbourhood, asked = around_examples(), []

    def watched(m):
        asked.append(m)
        return neighbourhood.search(m)

    found = replace(neighbourhood, search=watched).with_size(60)
    assert asked == [8]  # of 17 examples
    assert found.support.tolist() == shared_by_brute_force(60)


@pytest.mark.parametrize("least", [0.0, 0.6, 0.8])
def test_a_minimum_similarity_selects_examples_near_any_centre(least):
    above = np.flatnonzero(cosines().max(axis=0) >= least)
    assert around_examples().above(least).support.tolist() == above.tolist()


def test_clusters_share_the_support_by_their_size():
    # Two far centres, of which one has three quarters of the forget set.
    forget = torch.tensor([[1.0, 0.0], [0.9, 0.1], [0.8, 0.1], [0.0, 1.0]])
    centres = sum_clusters(forget, torch.tensor([0, 0, 0, 1]))
    sums = torch.tensor([[2.7, 0.2], [0.0, 1.0]])  # of features as they are
    torch.testing.assert_close(centres.directions, sums)
    angles = torch.linspace(0, torch.pi / 2, 100)
    keys = torch.stack([angles.cos(), angles.sin()], 1)
    search = partial(nearest, centres.directions, keys)
    scores = similarity_to_nearest(keys, centres.directions)
    chosen = Neighbourhood(keys, centres, search, scores).with_size(40)
    parts = [set(chosen.support[chosen.is_near(c)].tolist()) for c in (0, 1)]
    assert [len(part) for part in parts] == [30, 10]
    assert parts[1] == set(range(90, 100))
    assert parts[0] | parts[1] == set(chosen.support.tolist())


def test_clusters_that_share_neighbours_still_fill_the_support():
    forget = torch.tensor([[1.0, 0.01], [1.0, -0.01]])
    found = around_all(forget, torch.tensor([0, 1])).with_size(50)
    assert len(found.support) == 50
    assert all(found.is_near(c).sum() > 25 for c in (0, 1))  # neighbours of both


def around_all(forget, cluster) -> Neighbourhood:
    angles = torch.linspace(-1, 1, 101)
    keys = torch.stack([angles.cos(), angles.sin()], 1)
    centres = sum_clusters(forget, cluster)
    search = partial(nearest, centres.directions, keys)
    return Neighbourhood(keys, centres, search, similarity_to_nearest(keys, centres.directions))


@pytest.mark.parametrize("choose", [("with_size", 33), ("per_centre", 12), ("above", 0.7)])
def test_every_place_is_near_one_of_the_centres_and_parts_are_nearest_first(choose):
    cluster = torch.arange(17) % 3
    neighbourhood = around(sum_clusters(torch.from_numpy(QUERIES), cluster))
    name, value = choose
    chosen = getattr(neighbourhood, name)(value)
    parts = torch.stack([chosen.is_near(c) for c in range(3)])
    assert parts.any(0).all()
    for part, row in zip(parts, cosines(neighbourhood.centres.directions.numpy()), strict=True):
        own, others = chosen.support[part].numpy(), np.setdiff1d(np.arange(300), chosen.support)
        assert row[own].min() > row[others].max()


# The index


@pytest.fixture
def index():
    pytest.importorskip("faiss", reason="an extra: pip install 'collateral[ann]'")
    from collateral.methods.ltd import index  # noqa: PLC0415

    return index


def drawn(count: int, seed: int) -> torch.Tensor:
    """Draw features around 20 directions."""
    rng, means = np.random.default_rng(seed), np.random.default_rng(0).normal(size=(20, 16))
    rows = means[rng.integers(20, size=count)] + 0.5 * rng.normal(size=(count, 16))
    return torch.from_numpy(rows.astype("f4"))


def test_an_index_whose_cells_are_all_looked_into_is_exact(index):
    keys, queries = drawn(3000, 1), drawn(50, 2)
    made, true = index.build_index(keys), torch.cat(list(nearest(queries, keys, 30)))
    made.nprobe = made.nlist
    found = torch.cat(list(index.search(made, queries, 30)))
    assert found.equal(true)
    assert index.recall(found, true) == 1


def test_recall_is_the_share_of_the_true_neighbours_that_are_found(index):
    found, true = torch.tensor([[1, 2, -1], [7, 8, 9]]), torch.tensor([[2, 3, 4], [9, 8, 7]])
    assert index.recall(found, true) == pytest.approx((1 / 3 + 1) / 2)


def test_an_index_finds_most_of_the_neighbours_and_the_same_again(index):
    keys, queries = drawn(3000, 1), drawn(50, 2)
    found, again = (
        torch.cat(list(index.search(index.build_index(keys), queries, 30))) for _ in range(2)
    )
    assert found.equal(again)
    assert 0.95 < index.recall(found, torch.cat(list(nearest(queries, keys, 30)))) <= 1


def test_approximate_search_returns_the_similarity_of_found_examples(index):
    keys, centres = drawn(3000, 1), use_every_example(drawn(50, 2))
    search = partial(index.search, index.build_index(keys), centres.directions)
    chosen = Neighbourhood(keys, centres, search, None).with_size(400)
    exact = Neighbourhood(
        keys,
        centres,
        partial(nearest, centres.directions, keys),
        similarity_to_nearest(keys, centres.directions),
    ).with_size(400)
    assert len(chosen.support) == 400
    both = np.intersect1d(chosen.support, exact.support)
    assert len(both) > 380
    torch.testing.assert_close(chosen.similarity[both], exact.similarity[both])
    assert chosen.similarity.isnan().any()


def test_a_search_that_finds_too_few_makes_a_smaller_support(index):
    keys, centres = drawn(3000, 1), use_every_example(drawn(1, 2))
    made = index.build_index(keys)
    made.nprobe = 1
    search = partial(index.search, made, centres.directions)
    found = Neighbourhood(keys, centres, search, None).with_size(2000).support
    assert 0 < len(found) < 2000  # what one cell holds
    assert len(found.unique()) == len(found)


def test_without_the_extra_the_remedy_is_named(small, monkeypatch):
    monkeypatch.delitem(sys.modules, "collateral.methods.ltd.index", raising=False)
    monkeypatch.delattr("collateral.methods.ltd.index", raising=False)
    monkeypatch.setitem(sys.modules, "faiss", None)
    given = Params(support_by="example", search="approximate", k=20)
    with pytest.raises(ValueError, match=r"faiss: pip install 'collateral\[ann\]'"):
        small.method("ltd").prepare(given, None)


def test_ltd_searches_by_the_index_and_reports_its_recall(index, small):
    quick = {"support_by": "example", "k": 40, "teacher_epochs": 1, "teacher_batch_size": 32}
    exact, approximate = (
        small.method("ltd").prepare(Params(search=search, **quick), None)
        for search in ("exact", "approximate")
    )
    # So few examples are few cells, all of which are looked into.
    assert approximate.tensors["support"].equal(exact.tensors["support"])
    assert approximate.tensors["soft_labels"].equal(exact.tensors["soft_labels"])
    assert approximate.reported == exact.reported | {"search_recall": 1.0}


@pytest.mark.parametrize(("choice", "depth"), [({"k": 50}, 3), ({"k_each": 7}, 7)])
def test_the_recall_is_of_as_many_neighbours_as_an_example_adds(
    index, small, choice, depth, monkeypatch
):
    shapes = []

    def watched(found, true):
        shapes.extend([found.shape, true.shape])
        return 0.5

    monkeypatch.setattr(index, "recall", watched)
    given = Params(support_by="example", search="approximate", teacher_epochs=1, **choice)
    prepared = small.method("ltd").prepare(given, None)
    assert prepared.reported["search_recall"] == 0.5
    assert shapes == [(20, depth)] * 2
