"""Neighbor: labels of the nearest retained examples, found exactly."""

from dataclasses import replace

import pytest
from pydantic import ValidationError

torch = pytest.importorskip("torch")

from torch.nn import functional as F

from collateral.methods._shared import nearest as nearness
from collateral.methods.neighbor.method import histograms
from collateral.methods.neighbor.params import Params
from collateral.training.inference import infer

K = 40  # more than the 20 retained examples of the forgotten class


def params(**changes) -> Params:
    return Params.model_validate({"k": K, "epochs": 1, "batch_size": 64, **changes})


def soft_labels(method, given: Params) -> torch.Tensor:
    return method.prepare(given, None).tensors["soft_labels"]


def weights(model) -> torch.Tensor:
    return torch.cat([weight.detach().flatten() for weight in model.parameters()])


def run_whole(method, given: Params) -> torch.Tensor:
    return weights(method.unlearn(given, method.prepare(given, None).tensors)[0])


def test_histograms_are_shares_of_classes():
    labels = torch.tensor([[0, 0, 2, 0], [1, 1, 2, 2]])
    assert histograms(labels, 3).tolist() == [[0.75, 0.0, 0.25], [0.0, 0.5, 0.5]]


def test_soft_labels_agree_with_a_search_one_by_one(small):
    method = small.method("neighbor")
    retain, forget = (infer(small.base, e)[0] for e in (method.task.retain, method.task.forget))
    labels = method.task.retain.labels
    for soft, query in zip(soft_labels(method, params()), forget, strict=True):
        cosines = F.cosine_similarity(retain.double(), query[None].double())
        nearest = labels[cosines.argsort(descending=True)[:K]]
        assert soft.tolist() == pytest.approx([(nearest == c).sum().item() / K for c in range(4)])


@pytest.mark.parametrize("entries", [1, 250, 10**6])  # one query, two, or all at a time
def test_the_search_does_not_depend_on_its_chunks(monkeypatch, entries):
    generator = torch.Generator().manual_seed(0)
    queries, keys = torch.randn(7, 5, generator=generator), torch.randn(100, 5, generator=generator)
    cosines = F.cosine_similarity(queries[:, None], keys[None], dim=2)
    expected = cosines.argsort(dim=1, descending=True)[:, :10].sort(1).values
    monkeypatch.setattr(nearness, "CHUNK_ENTRIES", entries)
    chunks = list(nearness.nearest(queries, keys, 10))
    assert max(len(chunk) for chunk in chunks) == min(7, max(1, entries // 100))
    assert torch.cat(chunks).sort(1).values.equal(expected)


def test_within_the_support_all_examples_have_one_soft_label(small):
    soft = soft_labels(small.method("neighbor"), params(within="support"))
    assert soft.equal(soft[:1].expand_as(soft))


def test_among_all_retained_examples_they_differ(small):
    soft = soft_labels(small.method("neighbor"), params())
    assert not soft.equal(soft[:1].expand_as(soft))


def test_the_support_is_the_k_most_similar_to_the_forget_set(small):
    method = small.method("neighbor")
    retain, forget = (infer(small.base, e)[0] for e in (method.task.retain, method.task.forget))
    nearest = nearness.similarity(retain, forget).argsort(descending=True)[:K]
    expected = torch.bincount(method.task.retain.labels[nearest], minlength=4) / K
    soft = soft_labels(method, params(within="support"))
    assert soft[0].tolist() == pytest.approx(expected.tolist())


def test_a_support_of_more_candidates_is_searched_for_each_example(small):
    method = small.method("neighbor")
    retain, forget = (infer(small.base, e)[0] for e in (method.task.retain, method.task.forget))
    chosen = nearness.similarity(retain, forget).argsort(descending=True)[: 2 * K].sort().values
    labels = method.task.retain.labels[chosen]
    found = soft_labels(method, params(within="support", candidates=2 * K))
    for soft, query in zip(found, forget, strict=True):
        cosines = F.cosine_similarity(retain[chosen].double(), query[None].double())
        nearest = labels[cosines.argsort(descending=True)[:K]]
        assert soft.tolist() == pytest.approx([(nearest == c).sum().item() / K for c in range(4)])


def test_candidates_without_a_support_are_refused():
    with pytest.raises(ValidationError, match="candidates goes with within: support alone"):
        params(candidates=50)


def test_fewer_candidates_than_neighbours_are_refused():
    assert params(within="support", candidates=K).candidates == K
    with pytest.raises(ValidationError, match=f"candidates: {K - 1} is fewer than k: {K}"):
        params(within="support", candidates=K - 1)


def test_more_neighbours_than_there_are_means_all(small):
    method = small.method("neighbor")
    soft = soft_labels(method, params(k=10_000))
    shares = torch.bincount(method.task.retain.labels, minlength=4) / 140
    assert soft[0].tolist() == pytest.approx(shares.tolist())


def test_the_forget_labels_change_nothing(small):
    method = small.method("neighbor")
    scrambled = replace(method.task, forget=method.task.forget.relabelled(torch.full((20,), 3)))
    assert run_whole(method, params()).equal(run_whole(replace(method, task=scrambled), params()))


def test_the_same_seed_gives_the_same_bits(small):
    first, again, other = (
        run_whole(small.method("neighbor", seed=seed), params()) for seed in (0, 0, 1)
    )
    assert first.equal(again)
    assert not first.equal(other)


def test_a_learning_rate_of_zero_leaves_the_weights(small):
    assert run_whole(small.method("neighbor"), params(lr=0.0)).equal(weights(small.base))


def test_one_forget_example_is_enough(small):
    assert run_whole(small.method("neighbor", forget=[0]), params()).isfinite().all()


def test_the_forget_set_may_be_larger_than_a_batch(small):
    assert run_whole(small.method("neighbor"), params(batch_size=8)).isfinite().all()
