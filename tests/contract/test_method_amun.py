"""AMUN: the attack flips what it says, stays where it says, and ends; the training mixes it in."""

import copy
import math
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional as F

from collateral.contract.data import ImageInfo
from collateral.methods.amun import method
from collateral.methods.amun.attack import attack, margins
from collateral.methods.amun.params import Params, Prepare
from collateral.training.examples import Examples, Images, Task
from collateral.training.run import Run

CPU = torch.device("cpu")
HOPELESS = {"epsilon0": 1e-6, "max_epsilon": 1e-6}


def first_pixel_model(threshold: float) -> torch.nn.Module:
    """Return a linear model: class 1 where the first of four pixels is above `threshold`."""
    linear = torch.nn.Linear(4, 2)
    with torch.no_grad():
        linear.weight.copy_(torch.tensor([[0.0, 0, 0, 0], [1, 0, 0, 0]]))
        linear.bias.copy_(torch.tensor([threshold, 0.0]))
    return torch.nn.Sequential(torch.nn.Flatten(), linear)


def grey_images(*levels: int) -> Examples:
    """Return 2x2 images of one grey level each, of class 0."""
    pixels = torch.tensor(levels, dtype=torch.uint8).view(-1, 1, 1, 1).expand(-1, 2, 2, 1)
    count = len(levels)
    return Examples(Images(pixels, 0, False), torch.arange(count), torch.zeros(count).long())


@pytest.fixture(scope="module")
def prepared(small):
    return small.method("amun").prepare(Params(), None)


@pytest.mark.parametrize("give_up", [True, False])
def test_a_linear_model_is_flipped_at_the_radius_worked_out_by_hand(give_up):
    # 0.1 below the threshold. Radii 0.04 and 0.08 end at 0.04 and 0.08 from the clean image; at
    # radius 0.16 a step is 0.016, so 0.096 is still short, and 0.112 is over.
    threshold = 51 / 255 + 0.1
    found = attack(first_pixel_model(threshold), grey_images(51), Prepare(give_up=give_up))
    moved = torch.tensor([0.2 + 0.112, 0.2, 0.2, 0.2])
    torch.testing.assert_close(found["images"].flatten(), moved)
    assert found["epsilon"].tolist() == pytest.approx([0.16])
    assert found["labels"].tolist() == [1]


def test_images_misclassified_from_the_start_stay_clean_with_radius_zero():
    examples = grey_images(51, 204)
    found = attack(first_pixel_model(0.5), examples, Prepare())
    assert found["index"].tolist() == [0, 1]
    assert found["epsilon"][1] == 0
    assert found["images"][1].equal(examples.pixels()[1])
    assert found["labels"][1] == 1


def test_images_that_never_flip_are_left_out():
    # No pixel in [0, 1] is above 1.1, and the clamp keeps the attack at 1.
    found = attack(first_pixel_model(1.1), grey_images(51, 250), Prepare())
    assert len(found["index"]) == 0


# 0.1, 0.2 and 0.3 below the threshold: from 0.04, radii 0.16, 0.32 and 0.32.
BELOW = (102, 76, 51)


@pytest.mark.parametrize(
    ("after", "start"),
    [
        (1, 0.16),  # the first one's radius
        (2, 0.24),  # the median of two is their mean
        (3, 0.04),  # nobody is left
    ],
)
def test_after_some_images_the_others_start_at_the_median_of_their_radii(after, start):
    model, params = first_pixel_model(0.5), Prepare(median_after=after)
    radii = attack(model, grey_images(*BELOW), Prepare())["epsilon"].tolist()
    assert radii == pytest.approx([0.16, 0.32, 0.32])
    found = attack(model, grey_images(*BELOW), params)
    alone = attack(model, grey_images(*BELOW[after:]), Prepare(epsilon0=start))
    assert found["index"].tolist() == [0, 1, 2]
    assert found["epsilon"][:after].tolist() == pytest.approx(radii[:after])
    for name in ("epsilon", "images", "labels"):
        torch.testing.assert_close(found[name][after:], alone[name])


def test_images_misclassified_from_the_start_count_as_epsilon0_in_the_median():
    # The second is wrong as it is: 0.04 beside 0.16, whose median is 0.1.
    found = attack(first_pixel_model(0.5), grey_images(102, 204, 51), Prepare(median_after=2))
    alone = attack(first_pixel_model(0.5), grey_images(51), Prepare(epsilon0=0.1))
    assert found["epsilon"][1] == 0
    torch.testing.assert_close(found["epsilon"][2:], alone["epsilon"])


def test_if_none_of_the_first_images_flips_the_others_start_at_epsilon0():
    params = Prepare(median_after=1, max_epsilon=0.16)
    found = attack(first_pixel_model(0.5), grey_images(0, 102), params)
    assert found["index"].tolist() == [1]
    assert found["epsilon"].tolist() == pytest.approx([0.16])


def test_no_radius_above_the_cap_is_tried():
    model, examples = first_pixel_model(51 / 255 + 0.1), grey_images(51)
    assert len(attack(model, examples, Prepare(max_epsilon=0.08))["index"]) == 0
    assert len(attack(model, examples, Prepare(max_epsilon=0.16))["index"]) == 1


def test_the_margin_climbs_in_the_direction_of_cross_entropy():
    logits = torch.tensor([[2.0, 1.0, -1.0], [0.5, 3.0, 0.0]], dtype=torch.float64)
    logits, labels = logits.requires_grad_(), torch.tensor([0, 1])
    losses = margins(logits, labels).sum(), F.cross_entropy(logits, labels, reduction="sum")
    by_margin, by_loss = (torch.autograd.grad(loss, logits)[0] for loss in losses)
    torch.testing.assert_close(F.normalize(by_margin, dim=1), F.normalize(by_loss, dim=1))


def test_the_attack_reaches_examples_that_the_model_is_surer_of_than_float32_can_say():
    model = first_pixel_model(51 / 255 + 0.1)
    with torch.no_grad():
        model[1].weight *= 1e4
        model[1].bias *= 1e4
    x = grey_images(51).pixels().requires_grad_()
    assert F.cross_entropy(model(x), torch.tensor([0])) == 0
    assert attack(model, grey_images(51), Prepare())["epsilon"].tolist() == pytest.approx([0.16])


def test_the_model_predicts_the_stored_label_of_every_adversarial_image(small, prepared):
    found, labels = prepared.tensors, small.method("amun").task.forget.labels
    with torch.no_grad():
        predicted = copy.deepcopy(small.base).eval()(found["images"]).argmax(1)
    assert len(found["index"]) == len(labels)
    assert predicted.equal(found["labels"])
    assert (predicted != labels[found["index"]]).all()


def test_every_adversarial_image_is_in_its_ball_and_a_picture(small, prepared):
    found, clean = prepared.tensors, small.method("amun").task.forget.pixels()
    delta = (found["images"] - clean[found["index"]]).double()
    rounding = 4 * torch.finfo(torch.float32).eps * math.sqrt(delta[0].numel())
    assert (delta.flatten(1).norm(dim=1) <= found["epsilon"] + rounding).all()
    assert found["images"].min() >= 0
    assert found["images"].max() <= 1


def test_radii_are_the_first_one_doubled(prepared):
    attacked = prepared.tensors["epsilon"][prepared.tensors["epsilon"] > 0]
    doublings = torch.log2(attacked / 0.04)
    assert len(attacked)
    torch.testing.assert_close(doublings, doublings.round())


def test_giving_up_early_flips_the_same_examples(small):
    amun = small.method("amun")
    hasty, patient = (
        amun.prepare(Params(steps=20, give_up=give_up), None).tensors for give_up in (True, False)
    )
    assert hasty["index"].equal(patient["index"])


def test_unflipped_images_are_counted_and_the_radius_is_averaged_over_the_others():
    examples = grey_images(51, 250)
    task = Task(examples, examples, ImageInfo(2, (2, 2, 1), mean=(0.0,), std=(1.0,)))
    run = Run(CPU, seed=0)
    method.prepare(first_pixel_model(51 / 255 + 0.1), task, Prepare(max_epsilon=0.08), run)
    assert run.reported == {"amun_unflipped": 1, "amun_epsilon_mean": 0}


@pytest.mark.parametrize("variant", ["standard", "advonly"])
def test_it_trains_without_any_adversarial_image(small, variant):
    amun, params = small.method("amun"), Params(variant=variant, epochs=1, **HOPELESS)
    none = amun.prepare(params, None)
    assert none.reported["amun_unflipped"] == len(amun.task.forget)
    assert "amun_epsilon_mean" not in none.reported  # the mean of nothing
    model, _ = amun.unlearn(params, none.tensors)
    assert not same_weights(model, small.base)


def test_the_same_seed_gives_the_same_bits(small, prepared):
    again = small.method("amun").prepare(Params(), None)
    assert all(again.tensors[name].equal(tensor) for name, tensor in prepared.tensors.items())
    params = Params(epochs=2)
    one, two = (small.method("amun").unlearn(params, prepared.tensors)[0] for _ in range(2))
    assert same_weights(one, two)


def test_a_learning_rate_of_zero_changes_no_weight(small, prepared):
    model, _ = small.method("amun").unlearn(Params(epochs=1, lr=0), prepared.tensors)
    assert same_weights(model, small.base)


def test_one_forget_example_is_enough(small):
    amun, params = small.method("amun", forget=[3]), Params(epochs=1, variant="advonly")
    alone = amun.prepare(params, None)
    assert alone.tensors["index"].tolist() == [0]
    amun.unlearn(params, alone.tensors)


def test_every_example_is_seen_once_an_epoch_also_by_batches_smaller_than_the_forget_set(
    small, prepared
):
    amun = small.method("amun")
    seen = seen_in_one_epoch(amun, prepared.tensors, Params(epochs=1, batch_size=7, augment=False))
    expected = [amun.task.retain.pixels(), amun.task.forget.pixels(), prepared.tensors["images"]]
    assert sorted(map(key_of, seen)) == sorted(map(key_of, torch.cat(expected)))


def test_adversarial_only_never_sees_the_clean_forget_images(small, prepared):
    amun = small.method("amun")
    forget = set(map(key_of, amun.task.forget.pixels()))
    assert (prepared.tensors["epsilon"] > 0).all(), "a clean image is in the adversarial set"
    for variant, expected in {"standard": forget, "advonly": set()}.items():
        params = Params(epochs=1, variant=variant, augment=False)
        seen = set(map(key_of, seen_in_one_epoch(amun, prepared.tensors, params)))
        assert seen & forget == expected
        assert set(map(key_of, prepared.tensors["images"])) <= seen


@pytest.mark.parametrize("augment", [True, False])
def test_augment_applies_to_clean_images_and_never_to_adversarial_ones(small, prepared, augment):
    amun = with_crops_and_flips(small.method("amun"))
    params = Params(epochs=1, augment=augment)
    seen = set(map(key_of, seen_in_one_epoch(amun, prepared.tensors, params)))
    assert set(map(key_of, prepared.tensors["images"])) <= seen
    assert (set(map(key_of, amun.task.retain.pixels())) <= seen) == (not augment)


def test_lr_decay_epochs_divides_the_learning_rate_by_ten(small, prepared, monkeypatch):
    rates = []
    monkeypatch.setattr(
        method, "descend", lambda optimizer, _: rates.append(optimizer.param_groups[0]["lr"])
    )
    one_batch_an_epoch = Params(epochs=3, lr=0.1, lr_decay_epochs=2, batch_size=1000)
    small.method("amun").unlearn(one_batch_an_epoch, prepared.tensors)
    assert rates == pytest.approx([0.1, 0.1, 0.01])


def with_crops_and_flips(amun):
    """Return the method on the same images, which `augment` now shifts and mirrors."""
    parts = amun.task.retain, amun.task.forget
    images = Images(parts[0].images.pixels, padding=1, flip=True)
    retain, forget = (replace(part, images=images) for part in parts)
    return replace(amun, task=Task(retain, forget, amun.task.info))


def seen_in_one_epoch(amun, tensors, params) -> torch.Tensor:
    """Return all images that go through the model in training."""
    seen = []

    def spied() -> torch.nn.Module:
        model = amun.load_base()
        model.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].clone()))
        return model

    replace(amun, load_base=spied).unlearn(params, tensors)
    return torch.cat(seen)


def key_of(image: torch.Tensor) -> bytes:
    return image.contiguous().numpy().tobytes()


def same_weights(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    return all(a.equal(b) for a, b in pairs)
