"""Who is hurt, how forecasts are learned and tested, and when they are refused."""

import numpy as np
import pytest
from scipy.special import expit

from collateral.metrics import forecast as model
from collateral.metrics.forecast import BaseView, Examples, Interval, Logistic

SIZE = 400  # examples of an emitter


def test_auc_of_a_toy_is_five_sixths_and_ties_count_half():
    scores, hurt = np.array([0.9, 0.8, 0.7, 0.4, 0.2]), np.array([1, 0, 1, 0, 0], bool)
    assert model.auc(scores, hurt) == pytest.approx(5 / 6)
    assert model.auc(np.array([1.0, 1.0, 0.0]), np.array([1, 0, 0], bool)) == 0.75
    assert np.isnan(model.auc(scores, np.zeros(5, bool)))


def test_the_gradient_product_is_that_of_the_last_layer():
    # The forgotten example has δ = (-.2, .2) and h = (1, 0); the other one (-.5, .5) and (2, 1).
    probabilities = np.array([[0.8, 0.2], [0.5, 0.5]])
    features, label = np.array([[1.0, 0.0], [2.0, 1.0]]), np.array([0, 0])
    found = model.gradient_products(probabilities, features, label, np.array([1]), np.array([0]))
    assert found == pytest.approx([0.6])


def test_an_example_is_hurt_by_a_loss_that_is_large_and_beyond_the_noise():
    retrained, run = np.array([0.9, 0.9, 0.9, 0.5]), np.array([0.85, 0.75, 0.6, 0.9])
    bounds = np.array([0.0, 0.2, 0.2, 0.0])
    assert model.find_hurt(retrained, run, bounds).tolist() == [False, False, True, False]


def test_the_bound_is_taken_among_equally_hard_examples():
    # Ten examples per decile; only those of the largest margin differ between the Retrains.
    margins = np.tile(np.arange(100.0), (2, 1))
    retrained = np.full((2, 100), 0.8)
    retrained[0, 90:] += 0.15
    bounds = model.floor_bounds(retrained, margins)
    assert bounds[0, 90:] == pytest.approx(0.15)
    assert bounds[:, :90] == pytest.approx(0.0)


def base_view(rng) -> BaseView:
    label = np.repeat([0, 1, 2], 20)
    centres = np.array([[3.0, 0.5, 0], [0.5, 3.0, 0], [0, 0.2, 3.0]])
    features = np.abs(centres[label] + 0.3 * rng.normal(size=(60, 3)))
    logits = 2 * features + 0.2 * rng.normal(size=(60, 3))
    return BaseView(logits, features, logits[::2], label, label[::2])


def test_predictors_are_what_their_names_say():
    base = base_view(np.random.default_rng(1))
    forget, rows = np.arange(0, 10), np.arange(10, 60)
    found = dict(zip(model.PREDICTORS, model.predictors(base, forget, rows).T, strict=True))
    is_own = base.label[rows] == 0
    direction = base.features[forget].sum(axis=0)
    similar = base.features[rows] @ direction
    similar /= np.linalg.norm(base.features[rows], axis=1) * np.linalg.norm(direction)
    assert found["similarity"] == pytest.approx(similar, abs=1e-6)
    assert (found["nearest"] >= found["similarity"] - 0.2).all()
    assert found["nearest"][is_own].min() > found["nearest"][~is_own].max()
    others = np.where(np.eye(3, dtype=bool)[base.label[rows]], -np.inf, base.logits[rows])
    true = base.logits[rows, base.label[rows]]
    assert found["hardness"] == pytest.approx(others.max(axis=1) - true, abs=0.02)
    shares = np.exp(base.logits[rows]) / np.exp(base.logits[rows]).sum(axis=1, keepdims=True)
    assert found["leaning"] == pytest.approx(np.log(shares[:, 0]), abs=1e-9)
    assert np.exp(found["size"]) == pytest.approx(np.where(is_own, 11, 21))
    tested = np.exp(base.test_logits) / np.exp(base.test_logits).sum(axis=1, keepdims=True)
    means = [tested[base.test_label == c, 0].mean() for c in range(3)]
    assert np.exp(found["confusion"]) == pytest.approx(np.array(means)[base.label[rows]])


def test_a_logistic_regression_finds_the_planted_coefficients():
    rng = np.random.default_rng(0)
    columns = rng.normal((2.0, -1.0), (1.0, 3.0), (20_000, 2))
    hit = rng.random(20_000) < expit(-2 + 1.5 * (columns[:, 0] - 2) - 0.4 * (columns[:, 1] + 1))
    fitted = Logistic.fit(columns, hit)
    assert fitted.coefficients / [1, *fitted.scale] == pytest.approx([-2, 1.5, -0.4], abs=0.1)
    assert fitted.predict(columns).mean() == pytest.approx(hit.mean(), abs=1e-3)


def planted(num_emitters: int, rng, placebo: float = 0.002) -> Examples:
    """Hurt with logit -4 + 3 own + 2 z(margin); all other columns are noise.

    `own` is in the place of similarity, the margin in that of hardness.
    """
    parts = []
    for emitter in range(num_emitters):
        columns = rng.normal(size=(SIZE, len(model.PREDICTORS)))
        columns[:, 0] = rng.random(SIZE) < 0.3
        hurt = rng.random(SIZE) < expit(-4 + 3 * columns[:, 0] + 2 * columns[:, 2])
        parts.append((np.full(SIZE, emitter), rng.integers(0, 5, SIZE), columns, hurt))
    emitter, label, columns, hurt = (np.concatenate(each) for each in zip(*parts, strict=True))
    return Examples(emitter, label, columns, hurt, rng.random(len(hurt)) < placebo)


def test_a_planted_forecast_is_accepted_and_calibrated():
    found = model.evaluate(planted(10, np.random.default_rng(5)))
    assert found.refusal == ""
    assert found.auc.low > 0.85
    assert found.best_baseline == "hardness"
    assert found.gain.low > 0.02
    assert found.calibration.low < 0 < found.calibration.high
    assert found.precision > 0.6
    assert 0.3 < found.precision_at_hurt < found.precision


def test_who_is_hurt_by_chance_is_refused():
    rng = np.random.default_rng(5)
    examples = planted(10, rng)
    hurt = examples.is_hurt.copy()
    for emitter in examples.emitters:
        own = np.flatnonzero(examples.emitter == emitter)
        hurt[own] = hurt[rng.permutation(own)]
    shuffled = Examples(
        examples.emitter, examples.label, examples.columns, hurt, examples.is_placebo
    )
    found = model.evaluate(shuffled)
    assert "not better than" in found.refusal
    assert 0.4 < found.auc.mean < 0.6


def test_five_emitters_are_refused_and_six_are_not():
    assert (
        "5 emitters have both hurt and other examples, and it takes 6"
        in model.evaluate(planted(5, np.random.default_rng(5))).refusal
    )
    assert model.evaluate(planted(6, np.random.default_rng(5))).refusal == ""


def test_another_retrain_as_the_method_is_refused():
    """The placebo hurts as many, so there is no harm, although the ranking is very good."""
    rng = np.random.default_rng(5)
    examples = planted(10, rng)
    placebo = rng.permutation(examples.is_hurt)
    same = Examples(examples.emitter, examples.label, examples.columns, examples.is_hurt, placebo)
    found = model.evaluate(same)
    assert found.auc.low > 0.85
    assert found.net_hurt == 0
    assert "there is no harm to forecast" in found.refusal


def test_one_predictor_that_knows_all_is_not_beaten_so_nothing_is_forecast():
    rng = np.random.default_rng(6)
    examples = planted(10, rng)
    columns = examples.columns.copy()
    columns[:, 0] = examples.columns[:, 2]
    hurt = rng.random(len(columns)) < expit(-4 + 2 * columns[:, 2])
    # All noise columns are gone, so that the model is the one predictor.
    columns[:, [1, 3, 4, 5, 6]] = 0.0
    same = Examples(examples.emitter, examples.label, columns, hurt, examples.is_placebo)
    found = model.evaluate(same)
    assert found.auc.low > 0.8
    assert found.refusal.startswith("it is not better than")


def test_a_method_that_hurts_nobody_is_refused_without_an_error():
    examples = planted(7, np.random.default_rng(2))
    nobody = np.zeros_like(examples.is_hurt)
    found = model.evaluate(
        Examples(examples.emitter, examples.label, examples.columns, nobody, nobody)
    )
    assert found.refusal.startswith("0 examples are hurt")
    assert np.isnan(found.auc.mean)


def test_class_frequency_is_learned_from_other_emitters_alone():
    emitter, label = np.repeat([0, 1], 4), np.tile([0, 0, 1, 1], 2)
    hurt = np.array([1, 1, 0, 0, 0, 0, 1, 0], bool)
    columns = np.zeros((8, len(model.PREDICTORS)))
    found = model.baseline_scores(Examples(emitter, label, columns, hurt, ~hurt))
    assert found["class frequency"].tolist() == [0, 0, 0.5, 0.5, 1, 1, 0, 0]


def test_an_interval_is_over_emitters_that_have_a_value():
    found = Interval.over([0.7, np.nan, 0.9])
    assert found.mean == pytest.approx(0.8)
    assert found.low == pytest.approx(0.8 - 12.7062 * 0.1, abs=1e-3)
