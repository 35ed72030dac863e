"""LTD on forget sets of several kinds: support by example or cluster, and a teacher a cluster."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from pydantic import ValidationError

torch = pytest.importorskip("torch")

from collateral.methods.ltd import method, teachers
from collateral.methods.ltd.auto_k import AscentStep
from collateral.methods.ltd.clusters import find_clusters
from collateral.methods.ltd.params import Params
from collateral.methods.ltd.teachers import online_targets
from collateral.training.checkpoints import Checkpoints
from collateral.training.inference import infer
from collateral.training.run import Run

QUICK = {"k": 60, "teacher_epochs": 4, "teacher_batch_size": 32, "epochs": 1, "batch_size": 64}
BY_CLUSTER = {"support_by": "cluster", "clusters": 2}


def params(**changes) -> Params:
    return Params.model_validate({**QUICK, **changes})


def parts_of(small, *classes: int) -> list[int]:
    """Return the first ten examples of each class."""
    labels = small.data.labels.train
    return np.sort(np.concatenate([np.flatnonzero(labels == c)[:10] for c in classes])).tolist()


@pytest.fixture
def far(small):
    """Parts of two classes of different families are forgotten."""
    return small.method("ltd", forget=parts_of(small, 0, 2))


def blobs(*sizes: int) -> torch.Tensor:
    """Return features around as many axes as there are sizes."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
    noise = 0.1 * torch.randn(sum(sizes), 6, generator=generator)
    return torch.eye(6)[labels] * torch.rand(sum(sizes), 1, generator=generator).add(1) + noise


# Clusters


@pytest.mark.parametrize("number", ["auto", 3])
def test_separate_directions_are_clusters_for_any_norm(number):
    found = find_clusters(blobs(5, 20, 9), number, seed=0)
    assert found.tolist() == [0] * 5 + [1] * 20 + [2] * 9


def test_auto_finds_one_cluster_in_one_group_of_examples():
    assert find_clusters(blobs(40), "auto", seed=0).tolist() == [0] * 40


def test_a_number_of_clusters_is_kept():
    assert len(find_clusters(blobs(40), 4, seed=0).unique()) == 4


@pytest.mark.parametrize("number", ["auto", 1, 5])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_examples_are_clusters_of_at_least_one(number, count):
    found = find_clusters(blobs(count), number, seed=0)
    assert len(found) == count
    assert found[0] == 0


def test_equal_examples_are_one_cluster():
    assert find_clusters(torch.ones(6, 4), 3, seed=0).tolist() == [0] * 6


# What is prepared


@pytest.mark.parametrize("by", ["mean", "example", "cluster"])
def test_supports_of_equal_k_have_equal_size(far, by):
    prepared = far.prepare(params(support_by=by, teacher_epochs=1), None)
    assert len(prepared.tensors["support"].unique()) == 60
    assert prepared.reported["support_size"] == 60
    least = prepared.tensors["similarity"][prepared.tensors["support"]].min().item()
    assert prepared.reported["support_similarity_min"] == least


def test_auto_finds_the_two_families(far):
    prepared = far.prepare(params(support_by="cluster", teacher_epochs=1), None)
    labels = far.task.forget.labels
    assert prepared.reported["clusters"] == 2
    assert prepared.tensors["cluster"].eq(prepared.tensors["cluster"][0]).equal(labels == labels[0])


def test_k_each_is_the_union_of_nearest_neighbours_by_brute_force(small, far):
    support = far.prepare(params(support_by="example", k_each=3, teacher_epochs=1), None).tensors[
        "support"
    ]
    retain, forget = (infer(small.base, part)[0] for part in (far.task.retain, far.task.forget))
    cosines = torch.nn.functional.cosine_similarity(forget[:, None], retain[None], dim=2)
    assert support.tolist() == cosines.topk(3, dim=1).indices.unique().tolist()


@pytest.mark.parametrize("by", ["example", "cluster"])
def test_a_threshold_replaces_k(far, by):
    given = params(support_by=by, clusters=2, min_similarity=0.9, teacher_epochs=1)
    tensors = far.prepare(given, None).tensors
    assert tensors["support"].equal((tensors["similarity"] >= 0.9).nonzero().squeeze(1))


@pytest.mark.parametrize("by", ["example", "cluster"])
def test_a_threshold_that_nobody_reaches_is_named(far, by):
    with pytest.raises(ValueError, match=r"min_similarity: 1.0: no retained example"):
        far.prepare(params(support_by=by, min_similarity=1.0), None)


@pytest.mark.parametrize("by", ["mean", "example", "cluster"])
def test_auto_takes_the_bins_of_the_similarity_to_the_nearest(far, by):
    prepared = far.prepare(params(support_by=by, k="auto", teacher_epochs=1), None)
    names = ("auto_edges", "auto_counts", "auto_drop", "similarity")
    edges, counts, drop, scores = (prepared.tensors[name] for name in names)
    assert edges[[0, -1]].tolist() == pytest.approx([scores.min().item(), scores.max().item()])
    least = AscentStep(prepared.reported["auto_rate"], edges, counts, drop).least
    assert scores.min() < least <= edges[-2]
    assert prepared.tensors["support"].equal((scores >= least).nonzero().squeeze(1))


# A teacher a cluster


@pytest.mark.parametrize("choice", [{}, {"k_each": 25}, {"min_similarity": 0.8}])
def test_each_teacher_learns_its_clusters_part_and_teaches_its_examples(
    small, far, choice, monkeypatch
):
    seen = []

    def watched(teacher, support, *rest, train=method.train_teacher):
        seen.append(support.rows.clone())
        return train(teacher, support, *rest)

    monkeypatch.setattr(method, "train_teacher", watched)
    given = params(**BY_CLUSTER, **choice, teachers="per_cluster", targets="augmented")
    prepared = far.prepare(given, None)
    tensors, cluster = prepared.tensors, prepared.tensors["cluster"]
    for number, part in enumerate(tensors["parts"]):
        assert seen[number].equal(far.task.retain.rows[tensors["support"][part]])
    # The soft labels are those of the cluster's own teacher, whose weights are kept.
    images, run = far.task.forget.pixels(), Run(far.device, seed=0)
    swapped = tensors | {"cluster": 1 - cluster}
    own, other = (
        online_targets(small.base, far.task, given, run, kept)(images, torch.arange(20))
        for kept in (tensors, swapped)
    )
    torch.testing.assert_close(tensors["soft_labels"], own)
    assert not torch.isclose(tensors["soft_labels"], other).all(1).any()
    assert set(cluster.tolist()) == {0, 1}
    assert prepared.reported["teacher_epochs"] == len(tensors["teacher_accuracy"])


def test_a_teacher_of_one_cluster_is_the_one_teacher_of_it(far):
    one, each = (
        far.prepare(params(support_by="cluster", clusters=1, teachers=teachers), None)
        for teachers in ("one", "per_cluster")
    )
    assert one.tensors["soft_labels"].equal(each.tensors["soft_labels"])
    assert one.reported == pytest.approx(each.reported)


def test_augmented_targets_of_several_teachers_are_the_clean_ones_where_nothing_is_augmented(far):
    losses = []
    for targets in ("clean", "augmented"):
        # One batch of everything, so that the loss does not depend on the order.
        given = params(**BY_CLUSTER, teachers="per_cluster", targets=targets, batch_size=160)
        _, run = far.unlearn(given, far.prepare(given, None).tensors)
        losses.append(run.history[-1]["loss"])
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)  # sums in another order


def test_the_ensemble_of_a_cluster_labels_only_its_examples(small, far):
    given = params(**BY_CLUSTER, teachers="per_cluster", teacher_ensemble=2, targets="augmented")
    tensors = far.prepare(given, None).tensors
    assert {f"teacher-{number}.head.bias" for number in range(4)} <= tensors.keys()
    run, images = Run(far.device, seed=0), far.task.forget.pixels()
    shown = online_targets(small.base, far.task, given, run, tensors)(images, torch.arange(20))
    torch.testing.assert_close(tensors["soft_labels"], shown)


def test_a_cluster_without_a_neighbour_is_named(small):
    # One example of a family, nine of the other: the support is too small for its share.
    forget = [*parts_of(small, 0)[:9], *parts_of(small, 2)[:1]]
    given = params(**BY_CLUSTER, k=5, teachers="per_cluster")
    with pytest.raises(ValueError, match="none is near cluster 1 of 2; make the support larger"):
        small.method("ltd", forget=sorted(forget)).prepare(given, None)


# Both phases


VARIANTS = [
    {"support_by": "example"},
    {"support_by": "cluster"},
    {**BY_CLUSTER, "teachers": "per_cluster"},
    {**BY_CLUSTER, "teachers": "per_cluster", "targets": "augmented"},
    {"teacher_ensemble": 2, "teacher_seed": 3},
]


def weights(model) -> torch.Tensor:
    return torch.cat([value.double().flatten() for value in model.state_dict().values()])


class Killed(BaseException):
    """As if the machine had gone."""


@pytest.mark.parametrize("changes", VARIANTS)
def test_killed_in_the_first_or_the_last_teacher_it_ends_in_the_same_bits(
    far, tmp_path, changes, monkeypatch
):
    # Supports of several classes and slow teachers, so that none is done early.
    given = params(**changes, k=100, teacher_lr=1e-4, threshold=1.0, teacher_batch_size=20)
    steps, descend = 0, teachers.descend

    def counted(*arguments, last: int) -> None:
        nonlocal steps
        steps += 1
        if steps == last:
            raise Killed
        descend(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(teachers, "descend", partial(counted, last=0))
        whole = far.prepare(given, Checkpoints(tmp_path / "whole", "job", interval_seconds=0))
    again, total = far.prepare(given, None), steps
    assert total >= 16
    for last in (total * 2 // 5, total * 4 // 5):  # in the first of two teachers, in the second
        steps, checkpoints = 0, Checkpoints(tmp_path / str(last), "job", interval_seconds=0)
        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(teachers, "descend", partial(counted, last=last))
            far.prepare(given, checkpoints)
        resumed = far.prepare(given, checkpoints)
        for other in (whole, again):
            assert resumed.tensors.keys() == other.tensors.keys()
            assert all(value.equal(other.tensors[name]) for name, value in resumed.tensors.items())
            assert resumed.reported == other.reported
            assert resumed.history == other.history


@pytest.mark.parametrize("changes", VARIANTS)
def test_the_forget_labels_change_nothing_and_something_is_unlearned(small, far, changes):
    given = params(**changes)
    task = replace(far.task, forget=far.task.forget.relabelled(torch.full((20,), 3)))
    runs = [
        one.unlearn(given, one.prepare(given, None).tensors)[0]
        for one in (far, replace(far, task=task))
    ]
    assert weights(runs[0]).equal(weights(runs[1]))
    assert not weights(runs[0]).equal(weights(small.base))


# What does not go together


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"support_by": "example", "support": "random"}, "random goes with support_by: mean alone"),
        ({"support_by": "cluster", "support": "farthest"}, "farthest goes with support_by: mean"),
        ({"support_by": "example", "teachers": "per_cluster"}, "needs support_by: cluster"),
        ({"teachers": "per_cluster"}, "needs support_by: cluster"),
        ({"k_each": 3, "min_similarity": 0.5}, "give one of them"),
        ({"support_by": "example", "search": "approximate", "k": "auto"}, "needs a number"),
        (
            {"support_by": "example", "search": "approximate", "min_similarity": 0.5},
            "needs a number",
        ),
    ],
)
def test_contradictory_parameters_are_refused(changes, message):
    with pytest.raises(ValidationError, match=message) as error:
        params(**changes)
    assert error.value.error_count() == 1
