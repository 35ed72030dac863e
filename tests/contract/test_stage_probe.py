"""Models used once more: relearning, noise and an untrained net, each against what it should be."""

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional as F
from workshop import Workshop, main

from collateral.contract.probes import Relearn, Residual, Resurface
from collateral.results.files import InvalidResultError
from collateral.results.outputs import Probe
from collateral.results.provenance import read_record
from collateral.results.split import Split
from collateral.stages import probe as stage
from collateral.stages._workspace import Workspace
from collateral.training.examples import Examples, Images
from collateral.training.inference import accuracy
from collateral.training.probes import (
    draw,
    residual_share,
    run_linear_probe,
    run_relearning,
    run_resurfacing,
    split_in_half,
)

ASKED = {
    "relearn": {"steps": 4, "lr": 0.05, "batch_size": 2},
    "residual": {"count": 8, "std": 0.2},
    "zrf": {},
    "linear": {"examples": 60},
    "cka": {"examples": 12},
    "resurface": {"steps": [1, 3], "batch_size": 16, "examples": 30},
}


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def pixels(values: list[int], labels: list[int]) -> Examples:
    """Return images of one pixel each."""
    images = torch.tensor(values, dtype=torch.uint8).reshape(-1, 1, 1, 1)
    rows = torch.arange(len(values))
    return Examples(Images(images, padding=0, flip=False), rows, torch.tensor(labels))


class Threshold(nn.Module):
    """Class 1 where the pixel is above a half; `features` and `head` as every model has them."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(1, 2)
        with torch.no_grad():
            self.head.weight.copy_(torch.tensor([[-1.0], [1.0]]))
            self.head.bias.copy_(torch.tensor([0.5, -0.5]))

    def features(self, x):
        return x.flatten(1)

    def forward(self, x):
        return self.head(self.features(x))


def test_without_noise_the_share_is_whether_the_answer_is_right():
    examples = pixels([0, 255, 255], [0, 0, 1])
    found = residual_share(Threshold(), examples, Residual(count=3, std=0), generator())
    assert found.tolist() == [1, 0, 1]


def test_the_share_under_noise_is_that_of_the_normal_law():
    # The pixel 0.6 is left above a half with probability Phi(0.1 / 0.1).
    examples = pixels([153], [1])
    found = residual_share(Threshold(), examples, Residual(count=20_000, std=0.1), generator())
    assert found.item() == pytest.approx(0.8413, abs=0.01)


def test_pixels_are_not_cut_off_where_the_noise_takes_them_beyond_white():
    seen = []

    class Looking(Threshold):
        def forward(self, x):
            seen.append(x.max().item())
            return super().forward(x)

    residual_share(Looking(), pixels([255], [1]), Residual(count=50, std=0.5), generator())
    assert max(seen) > 1


def test_the_forget_set_is_parted_in_two_and_the_first_half_has_the_odd_one():
    first, second = split_in_half(pixels([0, 1, 2, 3, 4], [0] * 5), generator())
    assert (len(first), len(second)) == (3, 2)
    assert sorted([*first.rows.tolist(), *second.rows.tolist()]) == [0, 1, 2, 3, 4]


def test_the_curve_is_that_of_gradient_descent_on_the_first_half():
    examples = pixels([*range(0, 100, 10), *range(160, 260, 10)], [1] * 10 + [0] * 10)
    params = Relearn(steps=40, lr=1, batch_size=99, momentum=0)
    found = run_relearning(Threshold(), examples, params, generator())
    model = Threshold()
    learnt, measured = split_in_half(examples, generator())
    expected = [accuracy(model, measured)]
    for _ in range(40):
        x, y = next(learnt.in_order(99))
        gradients = torch.autograd.grad(F.cross_entropy(model(x), y), list(model.parameters()))
        with torch.no_grad():
            for weight, gradient in zip(model.parameters(), gradients, strict=True):
                weight -= gradient
        expected.append(accuracy(model, measured))
    assert found == pytest.approx(expected)
    assert found[0] == 0 and found[-1] == 1


def test_at_rate_zero_nothing_is_relearned():
    examples = pixels([0, 255, 0, 255], [0, 0, 1, 1])
    found = run_relearning(Threshold(), examples, Relearn(steps=3, lr=0), generator())
    assert len(set(found)) == 1


def test_relearning_is_undefined_with_a_single_forgotten_example():
    found = run_relearning(Threshold(), pixels([0], [0]), Relearn(steps=2), generator())
    assert np.isnan(found).all() and len(found) == 3


def test_batch_norm_keeps_its_statistics():
    class Normed(Threshold):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm2d(1)

        def features(self, x):
            return self.norm(x).flatten(1)

    model = Normed().train()
    run_relearning(
        model, pixels([0, 255, 9, 80], [0, 1, 0, 1]), Relearn(steps=3, lr=0.1), generator()
    )
    assert model.norm.running_mean.item() == 0
    assert model.norm.weight.item() != 1


def with_head(weight: float) -> Threshold:
    """Return a model with other weights of the head, and the same features."""
    model = Threshold()
    with torch.no_grad():
        model.head.weight.mul_(weight)
        model.head.bias.mul_(weight)
    return model


def test_the_linear_probe_does_not_depend_on_the_models_own_head():
    retain = pixels([*range(0, 100, 10), *range(160, 260, 10)], [0] * 10 + [1] * 10)
    forget, none = pixels([5, 45, 175, 250, 90], [0, 0, 1, 1, 1]), pixels([], [])
    found = [run_linear_probe(with_head(w), retain, [forget, none], 1.0) for w in (1, 0, -1)]
    assert accuracy(with_head(-1), forget) == pytest.approx(0.2)  # the head keeps silent
    assert [one[0] for one in found] == pytest.approx([0.8] * 3)
    assert all(np.isnan(one[1]) for one in found)


def test_a_new_head_is_undefined_for_a_class_that_is_gone_and_features_that_are_not_finite():
    retain, gone = pixels([0, 10, 200, 250], [0, 0, 1, 1]), pixels([100, 120], [2, 2])
    assert np.isnan(run_linear_probe(Threshold(), retain, [gone], 1.0)).all()

    class Broken(Threshold):
        def features(self, x):
            return x.flatten(1) * torch.inf

    assert np.isnan(run_linear_probe(Broken(), retain, [retain], 1.0)).all()


def test_silent_examples_come_back_by_training_on_retained_ones_and_a_copy_does_not_move():
    retain = pixels([*range(0, 100, 10), *range(160, 260, 10)], [0] * 10 + [1] * 10)
    forget = pixels([5, 250], [0, 1])
    params = Resurface(steps=(1, 40), lr=1.0, weight_decay=0, batch_size=20)
    silent = run_resurfacing(with_head(-1), retain, [forget, retain], params, generator())
    assert silent.shape == (2, 3)
    assert silent[0].tolist()[0::2] == [0, 1]
    params = Resurface(steps=(1, 2), lr=0.0)
    same = run_resurfacing(with_head(1), retain, [forget], params, generator())
    assert same.tolist() == [[1, 1, 1]]


def test_resurfacing_measures_before_batch_norm_moves():
    class Normed(Threshold):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm2d(1)

        def features(self, x):
            return self.norm(x).flatten(1)

    model, examples = Normed(), pixels([0, 255, 9, 80], [0, 1, 0, 1])
    before = accuracy(model, examples)
    params = Resurface(steps=(2,), lr=0.1)
    found = run_resurfacing(model, examples, [examples], params, generator())
    assert found[0, 0] == before
    assert model.norm.running_mean.item() != 0  # it is trained as a model is


def test_a_draw_keeps_the_order_and_has_all_if_there_are_few():
    examples = pixels([0, 1, 2, 3, 4], [0] * 5)
    assert draw(examples, 9, generator()).rows.tolist() == [0, 1, 2, 3, 4]
    rows = draw(examples, 3, generator()).rows.tolist()
    assert len(rows) == 3 and rows == sorted(rows)


@pytest.fixture(scope="module")
def workshop(tmp_path_factory) -> Workshop:
    workshop = Workshop(tmp_path_factory.mktemp("probe"))
    main(workshop.train("base", epochs=4))
    main(workshop.train("retrain", epochs=4, split=workshop.split))
    return workshop


RUNS = ("retrain", "original")


def words(workshop: Workshop, name: str, asked=ASKED, runs=RUNS, seed=0) -> Workspace:
    places = {"retrain": "retrain", "original": "base"}
    models = [workshop.folder / places[run] / "model.safetensors" for run in runs]
    near = [workshop.folder / "base" / "embeddings.npz"] if "cka" in asked else []
    paths = {"split": workshop.split, "models": models, "embeddings": near}
    about = {"cell": "cell", "seed": seed, "params": asked, "runs": runs}
    return workshop.job("probe", name, paths, **about, base_seed=0, near_seed=0)


def read(workshop: Workshop, name: str) -> Probe:
    return Probe.load(workshop.folder / name / "probe.npz")


@pytest.fixture(scope="module")
def done(workshop) -> Probe:
    main(words(workshop, "plain"))
    return read(workshop, "plain")


def num_forgotten(workshop: Workshop) -> int:
    return len(Split.load(workshop.split, workshop.folder).forget)


def test_every_run_has_a_curve_and_a_share_of_every_forgotten_example(workshop, done):
    forgotten = num_forgotten(workshop)
    assert done.runs.tolist() == list(RUNS)
    assert done.relearn_accuracy.shape == (2, 5)
    assert done.residual_share.shape == (2, forgotten)
    assert done.zrf_logits.shape == (forgotten, 4)
    assert (done.residual_share * 8 == (done.residual_share * 8).round()).all()


def test_a_second_job_gives_the_same_bits(workshop, done):
    main(words(workshop, "again"))
    assert workshop.results("plain").keys() == {"probe.npz", "record.json"}
    assert workshop.results("again") == workshop.results("plain")
    assert not workshop.checkpoints("again").exists()


def test_the_probes_of_a_run_do_not_depend_on_other_runs(workshop, done):
    asked = {name: of for name, of in ASKED.items() if name != "cka"}
    del asked["resurface"]
    main(words(workshop, "alone", asked, runs=("original",)))
    alone = read(workshop, "alone")
    assert np.array_equal(alone.linear_accuracy[0], done.linear_accuracy[1])
    assert np.array_equal(alone.relearn_accuracy[0], done.relearn_accuracy[1])
    assert np.array_equal(alone.residual_share[0], done.residual_share[1])
    assert np.array_equal(alone.zrf_logits, done.zrf_logits)


def test_halves_and_noise_are_of_the_forget_set_and_the_untrained_net_of_the_seed(workshop, done):
    main(words(workshop, "other", seed=1))
    other = read(workshop, "other")
    assert np.array_equal(other.relearn_accuracy, done.relearn_accuracy)
    for name in ("linear_accuracy", "cka_retrain", "cka_features", "resurface_accuracy"):
        assert np.array_equal(getattr(other, name), getattr(done, name), equal_nan=True)
    assert np.array_equal(other.residual_share, done.residual_share)
    assert not np.array_equal(other.zrf_logits, done.zrf_logits)


def test_the_file_contains_only_the_requested_probes(workshop):
    main(words(workshop, "some", {"zrf": {}}))
    found = read(workshop, "some")
    assert found.relearn_accuracy is None and found.residual_share is None
    assert found.zrf_logits is not None


def test_the_record_contains_the_probes_and_every_model(workshop, done):
    record = read_record(workshop.folder / "plain" / "record.json")
    assert record["params"] == ASKED
    assert record["runs"] == list(RUNS)
    models = {"base/model.safetensors", "retrain/model.safetensors", "base/embeddings.npz"}
    assert record["inputs"].keys() == {"dataset.npz", "cell/split.json"} | models
    assert record["files"].keys() == {"probe.npz"}
    cost = json.loads((workshop.folder / "plain" / "cost.json").read_text())
    assert cost["seconds"].keys() == {*ASKED}


def test_features_are_compared_with_retrains_and_the_bases_by_part(done):
    retrained, original = range(2)
    assert done.cka_part.shape == (len(done.cka_features),)
    assert {*done.cka_part.tolist()} == {0, 1, 2, 3}
    assert done.cka_retrain[retrained] == pytest.approx(np.ones(4))
    assert done.cka_base[original] == pytest.approx(np.ones(4))
    assert done.cka_base[retrained] == pytest.approx(done.cka_retrain[original])
    assert (done.cka_base[retrained] < 0.999).all()


def test_a_new_head_and_resurfacing_have_an_accuracy_for_every_set(done):
    assert done.linear_accuracy.shape == (2, 2)
    assert ((done.linear_accuracy >= 0) & (done.linear_accuracy <= 1)).all()
    assert done.resurface_steps.tolist() == [0, 1, 3]
    for name in ("resurface_accuracy", "resurface_near_accuracy", "resurface_test_accuracy"):
        assert getattr(done, name).shape == (2, 3)


def test_a_killed_job_does_not_ask_the_finished_models_again(workshop, done, monkeypatch):
    asked, ask = [], stage.Prober.ask

    def spy(self, path: Path):
        asked.append(path.parent.name)
        if asked == ["retrain", "base"]:
            raise KeyboardInterrupt
        return ask(self, path)

    monkeypatch.setattr(stage.Prober, "ask", spy)
    with pytest.raises(KeyboardInterrupt):
        main(words(workshop, "killed"))
    main(words(workshop, "killed"))
    assert asked == ["retrain", "base", "base"]
    assert workshop.results("killed") == workshop.results("plain")


def test_a_model_that_is_not_what_its_record_says_is_refused(workshop, done):
    weights = load_file(workshop.base)
    before = workshop.base.read_bytes()
    try:
        save_file({name: value + 1 for name, value in weights.items()}, workshop.base)
        with pytest.raises((SystemExit, InvalidResultError), match="its content is not the one"):
            main(words(workshop, "refused"))
    finally:
        workshop.base.write_bytes(before)
    assert not (workshop.folder / "refused" / "probe.npz").exists()
