"""Forecast which retained examples a method will hurt, from the base model alone.

An example is hurt if its true class loses at least `LEAST_LOSS` of its probability against Retrain
of the same seed, and more than 95 % of equally hard examples lose between two retrainings. The
model is a logistic regression on predictors of the base model, learned from other emitters (other
forgotten classes or groups), one per method and stratum: examples of the forgotten classes, and
all others. It is tested on emitters that it has never seen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan

import numpy as np
from scipy.special import expit, log_softmax, softmax
from scipy.stats import rankdata

from collateral.contract.verdicts import ALPHA
from collateral.metrics.arrays import AnyFloats, Floats, Ints, Mask
from collateral.metrics.association import NUM_DECILES, deciles, logit_margins
from collateral.metrics.differences import t_interval
from collateral.metrics.similarity import cosines, similarity_by_class

STRATA = {"own": "the forgotten classes", "others": "all other classes"}
LEAST_LOSS = 0.1  # an example counts as hurt if the probability of its true class falls by so much
LEAST_EMITTERS = 6  # the sign test can reach 5 % from six emitters on
LEAST_HURT = 10  # minimum number of hurt examples beyond those that Retrain itself would hurt
RIDGE = 1.0  # penalty of squared standardised coefficients, in units of one example
STEPS = 50  # maximum number of Newton steps
SMALLEST = 1e-12  # added before logarithms
AT_ONCE = 2**22  # maximum number of cosines that are computed at a time
# Predictors by name, in the order of the columns of `predictors`.
PREDICTORS = {
    "similarity": "similarity to the forget set",
    "nearest": "largest cosine with a forgotten example",
    "hardness": "negative margin of the true class's logit",
    "leaning": "logarithm of the probability of the forgotten classes",
    "gradient": "logarithm of |g · g_F|, last-layer gradients of the example and the forget set",
    "confusion": "mean probability of the forgotten classes on test images of the example's class",
    "size": "logarithm of the number of retained examples of the example's class",
}


@dataclass(frozen=True)
class BaseView:
    """Outputs and features of a base model: all that a forecast may use."""

    logits: AnyFloats  # (N, C), on train examples
    features: AnyFloats  # (N, D)
    test_logits: AnyFloats
    label: Ints
    test_label: Ints


def gradient_products(
    probabilities: Floats, features: Floats, label: Ints, rows: Ints, forget: Ints
) -> Floats:
    """Return the product of each row's last-layer gradient with the forget set's mean gradient.

    With δ = p - onehot and h̃ = (h, 1), two gradients have the product (δ_i·δ_j)(h̃_i·h̃_j).
    """
    residual = probabilities.copy()
    residual[np.arange(len(label)), label] -= 1
    extended = np.column_stack([features, np.ones(len(features))])
    mean = residual[forget].T @ extended[forget] / len(forget)
    return np.einsum("nc,cd,nd->n", residual[rows], mean, extended[rows], optimize=True)


def predictors(base: BaseView, forget: Ints, rows: Ints) -> Floats:
    """Return the predictors of the examples `rows`, one column per name in `PREDICTORS`."""
    logits, features = base.logits.astype(np.float64), base.features.astype(np.float64)
    probabilities, label = softmax(logits, axis=1), base.label
    affected = np.unique(label[forget])
    nearness = similarity_by_class(features[rows], features[forget], label[forget]).max(axis=0)
    leaning = np.exp(log_softmax(logits[rows], axis=1))[:, affected].sum(axis=1)
    gradient = gradient_products(probabilities, features, label, rows, forget)
    on_test = softmax(base.test_logits.astype(np.float64), axis=1)[:, affected].sum(axis=1)
    confusion = _mean_by_class(on_test, base.test_label, logits.shape[1])
    left = np.bincount(np.delete(label, forget), minlength=logits.shape[1])
    columns = {
        "similarity": nearness,
        "nearest": _nearest_cosine(features[rows], features[forget]),
        "hardness": -logit_margins(base.logits[rows].astype(np.float16), label[rows]),
        "leaning": np.log(leaning + SMALLEST),
        "gradient": np.log(np.abs(gradient) + SMALLEST),
        "confusion": np.log(confusion[label[rows]] + SMALLEST),
        "size": np.log(left[label[rows]] + 1.0),
    }
    return np.column_stack([columns[name] for name in PREDICTORS])


def _nearest_cosine(rows: Floats, forget: Floats) -> Floats:
    step = max(1, AT_ONCE // len(forget))
    parts = [cosines(rows[i : i + step], forget).max(axis=1) for i in range(0, len(rows), step)]
    return np.concatenate(parts) if parts else np.zeros(0)


def _mean_by_class(values: Floats, label: Ints, num_classes: int) -> Floats:
    """Return the mean of each class; the mean of all values for a class without test images."""
    counts = np.bincount(label, minlength=num_classes)
    sums = np.bincount(label, weights=values, minlength=num_classes)
    return np.where(counts > 0, sums / np.maximum(counts, 1), values.mean())


def floor_bounds(retrained: Floats, margins: Floats) -> Floats:
    """Return, for each seed and example, the 95 % bound of the loss between two retrainings.

    `retrained` are probabilities of the true class by seed and example; each seed is compared with
    the next one. The bound is that of the example's decile of Retrain's margin, over all seeds.
    """
    losses = retrained - np.roll(retrained, -1, axis=0)
    places = np.array([deciles(of_seed) for of_seed in margins])
    bounds = np.full(retrained.shape, np.inf)
    for place in range(NUM_DECILES):
        if (places == place).any():
            bounds[places == place] = np.quantile(losses[places == place], 1 - ALPHA)
    return bounds


def find_hurt(retrained: Floats, run: Floats, bounds: Floats) -> Mask:
    """Return which examples are hurt: a loss of at least 0.1, and beyond the bound."""
    loss = retrained - run
    return np.asarray((loss >= LEAST_LOSS) & (loss > bounds))


def split_strata(label: Ints, forgotten: Ints) -> dict[str, Mask]:
    """Return masks of the examples of forgotten classes, and of all others."""
    is_own = np.isin(label, np.unique(forgotten))
    return {"own": is_own, "others": ~is_own}


def auc(scores: AnyFloats, is_hit: Mask) -> float:
    """Return the area under the ROC curve; ties count half; NaN without hits or misses."""
    hits, misses = int(is_hit.sum()), int((~is_hit).sum())
    if not hits or not misses:
        return nan
    ranks = rankdata(scores)
    return float((ranks[is_hit].sum() - hits * (hits + 1) / 2) / (hits * misses))


@dataclass(frozen=True)
class Logistic:
    """A logistic regression on standardised columns."""

    mean: Floats
    scale: Floats
    coefficients: Floats  # intercept first

    @staticmethod
    def fit(columns: Floats, is_hit: Mask) -> "Logistic":
        """Fit by Newton's method, with a small ridge penalty (none of the intercept)."""
        mean, scale = columns.mean(axis=0), columns.std(axis=0)
        scale = np.where(scale > SMALLEST, scale, 1.0)
        design = np.column_stack([np.ones(len(columns)), (columns - mean) / scale])
        penalty = np.full(design.shape[1], RIDGE)
        penalty[0] = 1e-6  # only keeps the system solvable if no example is hurt
        found = np.zeros(design.shape[1])
        rate = np.clip(is_hit.mean(), 1 / (2 * len(is_hit)), 1 - 1 / (2 * len(is_hit)))
        found[0] = np.log(rate / (1 - rate))
        for _ in range(STEPS):
            p = expit(design @ found)
            gradient = design.T @ (is_hit - p) - penalty * found
            weights = np.maximum(p * (1 - p), SMALLEST)
            hessian = (design * weights[:, None]).T @ design + np.diag(penalty)
            step = np.linalg.solve(hessian, gradient)
            found += step / max(1.0, float(np.abs(step).max()) / 4)
            if np.abs(step).max() < 1e-8:
                break
        return Logistic(mean, scale, found)

    def predict(self, columns: Floats) -> Floats:
        """Return the probability of a hit."""
        design = (columns - self.mean) / self.scale
        return np.asarray(expit(self.coefficients[0] + design @ self.coefficients[1:]))


@dataclass(frozen=True)
class Examples:
    """Examples of one method and stratum, of all emitters, seeds and shares."""

    emitter: Ints  # index of the emitter of each row
    label: Ints  # class of the example
    columns: Floats  # predictors
    is_hurt: Mask
    is_placebo: Mask  # whether Retrain of the next seed would count as hurting it

    def only(self, mask: Mask) -> "Examples":
        """Return the rows in a mask."""
        return Examples(*(getattr(self, name)[mask] for name in self.__dataclass_fields__))

    @property
    def emitters(self) -> list[int]:
        """Indices of the emitters that have rows."""
        return [int(e) for e in np.unique(self.emitter)]

    @property
    def net_hurt(self) -> int:
        """Number of hurt examples beyond those of the placebo."""
        return int(self.is_hurt.sum()) - int(self.is_placebo.sum())


@dataclass(frozen=True)
class Interval:
    """A mean over emitters and its 95 % interval (Student's t)."""

    mean: float
    low: float
    high: float

    @staticmethod
    def over(values: Sequence[float]) -> "Interval":
        """Return mean and interval over emitters; undefined values are left out."""
        known = np.array([value for value in values if not np.isnan(value)])
        if not len(known):
            return Interval(nan, nan, nan)
        low, high = t_interval(known, ALPHA) if len(known) > 1 else (nan, nan)
        return Interval(float(known.mean()), float(low), float(high))


@dataclass(frozen=True)
class Evaluation:
    """How well a method's forecasts rank and count the hurt examples of emitters never seen."""

    num_emitters: int  # emitters for which the AUC is defined
    hurt: int
    net_hurt: int
    auc: Interval
    baselines: Mapping[str, float]  # mean AUC over emitters of each baseline
    gain: Interval  # AUC minus that of the best baseline
    calibration: Interval  # mean probability minus the share of examples that are hurt
    precision: float  # net precision among the 1 % with the largest probability
    precision_at_hurt: float  # net precision among as many examples as are hurt
    # AUC of the forecast and of the best baseline, by emitter; NaN where it is undefined.
    by_emitter: Mapping[int, tuple[float, float]]

    @property
    def best_baseline(self) -> str:
        """Name of the baseline with the largest mean AUC; empty if none is defined."""
        known = {name: value for name, value in self.baselines.items() if not np.isnan(value)}
        return max(known, key=lambda name: known[name], default="")

    @property
    def refusal(self) -> str:
        """Return why there is no forecast; empty if there is one."""
        if self.net_hurt < LEAST_HURT:
            text = f"{self.net_hurt} examples are hurt beyond what retraining does"
            return f"{text}, and it takes {LEAST_HURT}: there is no harm to forecast"
        if self.num_emitters < LEAST_EMITTERS:
            text = f"{self.num_emitters} emitters have both hurt and other examples"
            return f"{text}, and it takes {LEAST_EMITTERS}"
        if not self.auc.low > 0.5:
            return f"on emitters never seen it is not better than chance: AUC {_in_words(self.auc)}"
        if not self.gain.low > 0:
            return (
                f"it is not better than one rule alone ({describe_rule(self.best_baseline)}): gain "
                f"in AUC {_in_words(self.gain)}"
            )
        return ""


def describe_rule(name: str) -> str:
    """Return the description of a predictor, or the name of another simple rule."""
    return PREDICTORS.get(name, name)


def _in_words(found: Interval) -> str:
    return f"{found.mean:.2f} [{found.low:.2f}, {found.high:.2f}]"


def leave_one_out(examples: Examples) -> Floats:
    """Return each example's probability by the model of all other emitters; NaN with only one."""
    found = np.full(len(examples.label), nan)
    for emitter in examples.emitters:
        own = examples.emitter == emitter
        if (~own).any():
            others = examples.only(~own)
            model = Logistic.fit(others.columns, others.is_hurt)
            found[own] = model.predict(examples.columns[own])
    return found


def baseline_scores(examples: Examples) -> dict[str, Floats]:
    """Return scores of simple rules, which are learned from the other emitters as well.

    `class membership` tells nothing within a stratum. `class frequency` is the share of the
    example's class that other emitters hurt; `emitter + class` is the same after subtracting each
    emitter's mean. Each predictor alone is a logistic regression on one column.
    """
    count = len(examples.label)
    found = {name: np.full(count, nan) for name in ("class frequency", "emitter + class")}
    found |= {name: np.full(count, nan) for name in PREDICTORS}
    found["class membership"] = np.zeros(count)
    for emitter in examples.emitters:
        own = examples.emitter == emitter
        if own.all():
            continue
        others = examples.only(~own)
        frequency = _rates_by_class(others, others.is_hurt.astype(np.float64))
        means = _rates(others.emitter, others.is_hurt.astype(np.float64))
        effect = _rates_by_class(others, others.is_hurt - means[others.emitter])
        label = np.minimum(examples.label[own], len(frequency) - 1)
        is_known = examples.label[own] < len(frequency)
        found["class frequency"][own] = np.where(is_known, frequency[label], others.is_hurt.mean())
        found["emitter + class"][own] = np.where(is_known, effect[label], 0.0)
        for place, name in enumerate(PREDICTORS):
            column = slice(place, place + 1)
            model = Logistic.fit(others.columns[:, column], others.is_hurt)
            found[name][own] = model.predict(examples.columns[own, column])
    return found


def _rates(index: Ints, values: Floats) -> Floats:
    counts = np.bincount(index)
    return np.bincount(index, weights=values) / np.maximum(counts, 1)


def _rates_by_class(examples: Examples, values: Floats) -> Floats:
    """Return the mean value of each class; the mean of all for classes without examples."""
    counts = np.bincount(examples.label)
    return np.where(counts > 0, _rates(examples.label, values), values.mean())


def evaluate(examples: Examples) -> Evaluation:
    """Evaluate the forecasts of all emitters, each by a model that never saw it."""
    scores = leave_one_out(examples)
    by_emitter = {e: examples.emitter == e for e in examples.emitters}
    own = {e: _auc_of(scores, examples, mask) for e, mask in by_emitter.items()}
    baselines = {
        name: {e: _auc_of(values, examples, mask) for e, mask in by_emitter.items()}
        for name, values in baseline_scores(examples).items()
    }
    means = {name: Interval.over([*found.values()]).mean for name, found in baselines.items()}
    known = {name: value for name, value in means.items() if not np.isnan(value)}
    best = baselines[max(known, key=lambda name: known[name])] if known else dict.fromkeys(own, nan)
    is_defined = [e for e, value in own.items() if not np.isnan(value)]
    is_known = not np.isnan(scores).any()
    return Evaluation(
        num_emitters=len(is_defined),
        hurt=int(examples.is_hurt.sum()),
        net_hurt=examples.net_hurt,
        auc=Interval.over([own[e] for e in is_defined]),
        baselines=means,
        gain=Interval.over([own[e] - best[e] for e in is_defined]),
        calibration=Interval.over(
            [float(scores[m].mean() - examples.is_hurt[m].mean()) for m in by_emitter.values()]
        ),
        precision=_precision(scores, examples, len(scores) // 100) if is_known else nan,
        precision_at_hurt=(
            _precision(scores, examples, int(examples.is_hurt.sum())) if is_known else nan
        ),
        by_emitter={e: (own[e], best[e]) for e in own},
    )


def _auc_of(scores: Floats, examples: Examples, mask: Mask) -> float:
    return nan if np.isnan(scores[mask]).any() else auc(scores[mask], examples.is_hurt[mask])


def _precision(scores: Floats, examples: Examples, count: int) -> float:
    """Return (hits - hits of the placebo) / count among the largest scores; NaN for none."""
    if not count:
        return nan
    chosen = np.argsort(-scores, kind="stable")[:count]
    hits = int(examples.is_hurt[chosen].sum()) - int(examples.is_placebo[chosen].sum())
    return hits / count
