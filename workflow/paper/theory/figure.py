"""The plots of the experiments on the theory, made from the points in theory.csv."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from collateral.plots.plot import Axis, Formula, Panel, Plot, Series
from collateral.plots.style import COLOURS, DARK, Look

Points = dict[str, pd.DataFrame]  # points of one panel, by series
BLUE, ORANGE, GREEN = map(Look, COLOURS[:3], "oDs")
SMALL = 4.0  # area of a mark in a cloud of many points, in square points
ALIGNMENT = Formula(r"alignment $\cos(x_q, x_f)$")
PREDICTED = Formula(r"predicted $-\langle\theta_\mathrm{retrain}, X_F^\top v_F\rangle$")
DECAY = Formula(r"weight decay $\lambda$")
DEVIATION = Formula(
    r"$\Delta\,/\,(|\alpha_{q,F}|\ \Vert\theta_\mathrm{retrain}\Vert\ \Vert x_f\Vert)$"
)
CAPTIONS = {
    "synthetic": "Collateral damage grows with the square of a query's alignment to the deleted "
    "point, in both directions. Means over {runs} runs with 95 % Student intervals. Dark: on the "
    "left the leading term of proposition 3.1, on the right proposition 3.2. Left: "
    "n = 5000, d = 10, noise variance 0.1, retained points as queries, 450 ascent steps of lr / n "
    "with the paper's lr = 0.05 (docs/results.md); each run is the mean of 30 draws of the "
    "noise on one X, as proposition 3.1 takes the expectation over it. Right: n = 15, d = 20, "
    "500 steps of lr = 0.01, no weight decay, logits N(0, 1), 10000 unit queries per run from "
    "the span of the retained points. Within a run the identity is exact; the intervals are the "
    "spread between runs of how far the deleted logit moves, common to all points.",
    "retain-residual": "Full retain fine-tuning restores the retained points and leaves "
    "the error that proposition 3.3 predicts on other queries: minus the inner product of "
    "Retrain's parameters with X_F′v_F. {runs} runs, n = 15, d = 20, 3 deleted points. Left: the "
    "surrogate solved by Newton's method at λ = 1e-8, 10 unit queries per run from the span of the "
    "training points. Right: the error of the limiting logits falls linearly in λ, at the rate "
    "that a first-order expansion gives.",
    "support": "The bound of corollary A.3 on the deviation, and the deviation. {runs} runs, "
    "n = 15, d = 20; each of 14 retained points, drawn at all angles to the deleted point, is the "
    "support in turn. The bound always holds and falls with |cos|. The deviation itself falls "
    "with |cos| where logits follow the features (right) and does not where they are "
    "independent of them (left).",
}


def make_plots(points: pd.DataFrame, runs: int) -> Iterator[Plot]:
    """Yield the plots of the experiments on the theory, from the points in theory.csv."""
    of: dict[str, Points] = {
        panel: dict(iter(own.groupby("series"))) for panel, own in points.groupby("panel")
    }
    ascent, labels = "Gradient ascent, linear regression", "Random labels, logistic regression"
    noise = Formula(r"Logits independent of the features, $z \sim N(0, I)$")
    linear = Formula(r"Logits linear in the features, $z = X\theta_\mathrm{true}$")
    panels = {
        "synthetic": [
            draw_alignment(of["gradient_ascent"], ascent, "MSE shift against retraining"),
            draw_alignment(of["random_labels"], labels, "squared logit discrepancy"),
        ],
        "retain-residual": [draw_residual(of["retain_residual"]), draw_rate(of["retain_rate"])],
        "support": [
            draw_support(of["support_with_noise_logits"], noise),
            draw_support(of["support_with_linear_logits"], linear),
        ],
    }
    for name, caption in CAPTIONS.items():
        text = caption.format(runs=runs)
        yield Plot(name, "Theory", text, panels[name], columns=2, row_height=2.6)


def draw_alignment(of: Points, title: str, unit: str) -> Panel:
    """Draw a query's discrepancy from Retrain against its alignment with the deleted point."""
    measured, theory = of["measured"], of["theory"]
    curve = theory[theory["x"].abs() <= 1.06 * measured["x"].abs().max()]
    top = 1.05 * float(np.nanmax([*curve["y"], *measured["high"]]))
    series = [
        make_curve("theory, mean over runs", curve),
        make_marks(
            "measured, 95 %", BLUE, measured, low=[*measured["low"]], high=[*measured["high"]]
        ),
    ]
    return Panel(series, title, Axis(ALIGNMENT), Axis(unit, limits=(0.0, top)))


def draw_residual(of: Points) -> Panel:
    """Draw the logit error of retain fine-tuning against the predicted error."""
    queries = of["query in span(X')"]
    ends = 1.05 * queries["x"].abs().max() * np.array([-1, 1])
    series = [
        make_curve("prediction", pd.DataFrame({"x": ends, "y": ends})),
        make_cloud(Formula(r"queries in span($X^\top$)"), queries),
        make_marks("retained points", ORANGE, of["retained point"]),
    ]
    x, y = Axis(PREDICTED), Axis("measured logit discrepancy")
    return Panel(series, "What full retain fine-tuning leaves", x, y)


def draw_rate(of: Points) -> Panel:
    """Draw the distance of the logits from their limit (lambda = 0) against lambda."""
    series = [
        *(make_curve("prediction", of[one], "predicted") for one in ("forget", "retained")),
        make_marks("forget points", GREEN, of["forget"]),
        make_marks("retained points", ORANGE, of["retained"]),
    ]
    x = Axis(DECAY, "log", ticks=name_powers(range(-10, -1, 2)))
    y = Axis("mean absolute logit error", "log", ticks=name_powers(range(-10, -1, 2)))
    return Panel(series, Formula(r"Distance to the limit $\lambda \to 0$"), x, y)


def draw_support(of: Points, title: str) -> Panel:
    """Draw deviation and bound against |cos| between support point and deleted point."""
    points = of["support point"]
    bins = pd.cut(points["x"], np.linspace(0, 1, 11))
    means = points.groupby(bins, observed=True)[["x", "y"]].mean()
    cos = np.sin(np.linspace(0, np.pi / 2, 200))
    series = [
        make_curve("bound, cor. A.3", pd.DataFrame({"x": cos, "y": np.sqrt(1 - cos**2)})),
        make_cloud("support points", points),
        Series("mean of a bin", ORANGE, [*means["x"]], [*means["y"]]),
    ]
    x = Axis(Formula(r"$|\cos(x_f, x_s)|$"), limits=(-0.03, 1.03))
    return Panel(series, title, x, Axis(DEVIATION, limits=(0.0, 1.05)))


def name_powers(exponents: Iterable[int]) -> dict[float, str]:
    """Return ticks at powers of ten, typeset as such."""
    return {10.0**power: Formula(rf"$10^{{{power}}}$") for power in exponents}


def make_curve(label: str, data: pd.DataFrame, y: str = "y") -> Series:
    """Return a dark line that shows what the theory predicts."""
    return Series(label, Look(DARK), [*data["x"]], [*data[y]])


def make_marks(label: str, look: Look, data: pd.DataFrame, **how: Any) -> Series:
    """Return a series that is drawn as one mark per point."""
    return Series(label, look, [*data["x"]], [*data["y"]], mark="point", **how)


def make_cloud(label: str, data: pd.DataFrame) -> Series:
    """Return a series of many small marks."""
    return make_marks(label, BLUE, data, areas=[SMALL] * len(data))
