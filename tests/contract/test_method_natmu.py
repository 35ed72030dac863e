"""NatMU: masks, partners and blends by hand, and what is trained on."""

import pytest

torch = pytest.importorskip("torch")

from collateral.methods.natmu.method import blend, masks, partners, ramp, wrong_classes
from collateral.methods.natmu.params import Params

BYTES = torch.tensor([[[[0.0, 1.0], [100.0, 255.0]]]]) / 255


def test_the_ramp_rises_from_both_ends():
    assert ramp(4).tolist() == [0, 0.5, 0.5, 0]
    assert ramp(5).tolist() == [0, 0.5, 1, 0.5, 0]


def test_four_masks_by_hand():
    rows, columns, rows_falling, columns_falling = masks(4, 4, 0.0)
    assert rows[:, 0].tolist() == rows[:, 3].tolist() == [0, 0.5, 0.5, 0]
    assert columns[0].tolist() == columns[3].tolist() == [0, 0.5, 0.5, 0]
    assert rows_falling[:, 2].tolist() == [0.5, 0, 0, 0.5]
    assert columns_falling[2].tolist() == [0.5, 0, 0, 0.5]


def test_masks_share_evenly_on_32_pixels():
    assert masks(32, 32, 0.0).mean((1, 2)).tolist() == pytest.approx([0.46875] * 4)


def test_delta_is_added_and_shares_stay_shares():
    shifted = masks(4, 4, -0.3)[0][:, 0]
    assert shifted.tolist() == pytest.approx([0, 0.2, 0.2, 0])
    assert masks(4, 4, 1.0).unique().tolist() == [1]


def test_masks_fit_images_that_are_no_squares():
    assert masks(4, 6, 0.0).shape == (4, 4, 6)
    assert masks(4, 6, 0.0)[1][0].tolist() == pytest.approx([0, 1 / 3, 2 / 3, 2 / 3, 1 / 3, 0])


def test_blends_are_cut_off_to_bytes():
    other = torch.ones_like(BYTES)
    mask = torch.tensor([[1.0, 0.5], [0.25, 0.0]])
    assert blend(BYTES, other, mask).tolist() == [[[[0, 128], [216, 255]]]]
    assert torch.equal(blend(BYTES, other, torch.ones(2, 2)), (BYTES * 255).round().byte())


def test_wrong_classes_are_ranked_by_the_bases_answer():
    logits = torch.tensor([[3.0, 1, 2, 0], [3.0, 1, 2, 0]])
    assert wrong_classes(logits, torch.tensor([0, 2])).tolist() == [[2, 1, 3], [0, 1, 3]]


def test_each_partner_is_used_once_and_a_short_class_is_passed_over():
    ranking = torch.tensor([[1, 2, 3], [1, 2, 3], [1, 2, 3]])
    stock = [[0], [11], [22, 21], [32, 31]]
    found = partners(ranking, stock, 2)
    assert found.tolist() == [[11, 21], [22, 31], [32, -1]]
    assert stock == [[0], [], [], []]


def test_blends_have_the_labels_of_their_partners_and_none_is_of_the_forgotten_class(small):
    method = small.method("natmu")
    made = method.prepare(Params(delta=-1), None).tensors
    # All of the partner: the blends are retained images of the three other classes.
    assert len(made["images"]) == 3 * len(method.task.forget)
    assert made["labels"].unique().tolist() == [1, 2, 3]
    retained = (255 * method.task.retain.pixels()).round().byte()
    labels = {image.numpy().tobytes(): label for image, label in known(retained, method)}
    for image, label in zip(made["images"].contiguous(), made["labels"].tolist(), strict=True):
        assert labels[image.numpy().tobytes()] == label


def known(images, method):
    return zip(images.contiguous(), method.task.retain.labels.tolist(), strict=True)


def test_a_delta_without_any_partner_only_relabels_the_forget_images(small):
    method = small.method("natmu")
    made = method.prepare(Params(delta=1, blends=1), None).tensors
    forget = (255 * method.task.forget.pixels()).round().byte()
    assert torch.equal(made["images"], forget)


@pytest.mark.parametrize("batch_size", [1000, 199])
def test_the_rate_ends_at_zero(small, batch_size):
    """Of the 140 retained examples and 60 blends, a rest of one joins the batch before it."""
    method, params = small.method("natmu"), Params(epochs=1, batch_size=batch_size)
    model, _ = method.unlearn(params, method.prepare(params, None).tensors)
    for before, after in zip(small.base.parameters(), model.parameters(), strict=True):
        assert torch.equal(before, after)  # its only step is the last
