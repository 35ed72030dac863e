"""Matplotlib figures of the theory, drawn from theory.csv."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from collateral.plots.plot import WIDTH
from collateral.plots.print import print_style
from collateral.plots.style import COLOURS

BLUE, ORANGE, GREEN = COLOURS[:3]
Style = dict[str, Any]  # options of matplotlib
LINE: Style = {"color": "0.35", "linewidth": 1.2}
CLOUD: Style = {"linestyle": "", "marker": ".", "markeredgewidth": 0, "color": BLUE, "alpha": 0.4}


class Plot(NamedTuple):
    """A figure of two panels: its drawing function, height in inches, and caption."""

    draw: Callable[[Sequence[Axes], pd.DataFrame], None]
    height: float
    caption: str


def render(plot: Plot, points: pd.DataFrame, width: float = WIDTH) -> Figure:
    """Return a figure of this width in inches, drawn from the points of theory.csv."""
    with print_style():
        fig = Figure(figsize=(width, plot.height), layout="constrained")
        axes = fig.subplots(1, 2)
        for ax in axes:
            ax.grid(True)
        plot.draw(axes, points)
    return fig


def select_series(points: pd.DataFrame, panel: str, series: str) -> pd.DataFrame:
    """Return the points of one series of a panel."""
    return points[(points["panel"] == panel) & (points["series"] == series)]


def draw_synthetic(axes: Sequence[Axes], points: pd.DataFrame) -> None:
    """Draw discrepancy against alignment for gradient ascent and for random labels."""
    ascent, labels = axes
    _draw_line(ascent, points, "gradient_ascent", "leading term, prop. 3.1")
    _draw_means(ascent, points, "gradient_ascent", BLUE)
    # The padding leaves space for the factor of the y axis (a power of ten) below the title.
    ascent.set_title("Gradient ascent, linear regression", pad=12)
    ascent.set_ylabel("MSE shift against retraining")
    _draw_line(labels, points, "random_labels", "prop. 3.2, mean over runs")
    _draw_means(labels, points, "random_labels", ORANGE)
    labels.set_title("Random labels, logistic regression", pad=12)
    labels.set_ylabel("squared logit discrepancy")
    for ax in axes:
        ax.set(xlabel=r"alignment $\cos(x_q, x_f)$", ylim=(0, None))
        ax.ticklabel_format(axis="y", scilimits=(-2, 2), useMathText=True)
        ax.legend(loc="upper center")


def _draw_line(ax: Axes, points: pd.DataFrame, panel: str, label: str) -> None:
    reach = 1.06 * select_series(points, panel, "measured")["x"].abs().max()
    theory = select_series(points, panel, "theory")
    line = theory[theory["x"].abs() <= reach]
    ax.plot(line["x"], line["y"], label=label, **LINE)


def _draw_means(ax: Axes, points: pd.DataFrame, panel: str, colour: str) -> None:
    data = select_series(points, panel, "measured")
    spread = np.abs(data[["low", "high"]].to_numpy().T - data["y"].to_numpy())
    look: Style = {"fmt": "o", "markersize": 3.5, "linewidth": 1, "color": colour, "zorder": 3}
    ax.errorbar(data["x"], data["y"], spread, label="measured, 95 %", **look)


def draw_retain_residual(axes: Sequence[Axes], points: pd.DataFrame) -> None:
    """Draw the logit error of retain fine-tuning (left), and its convergence as lambda falls."""
    _draw_residual(axes[0], points)
    _draw_rate(axes[1], points)


def _draw_residual(ax: Axes, points: pd.DataFrame) -> None:
    queries = select_series(points, "retain_residual", "query in span(X')")
    retained = select_series(points, "retain_residual", "retained point")
    ends = 1.05 * queries["x"].abs().max() * np.array([-1, 1])
    ax.plot(ends, ends, label="equality", **LINE)
    ax.plot(queries["x"], queries["y"], label=r"queries in span($X^\top$)", **CLOUD, markersize=7)
    ax.plot(retained["x"], retained["y"], "D", color=ORANGE, label="retained points")
    ax.set(
        title="What full retain fine-tuning leaves",
        xlabel=r"predicted $-\langle\theta_{\mathrm{retrain}}, X_F^\top v_F\rangle$",
        ylabel="measured logit discrepancy",
    )
    ax.locator_params(nbins=5)
    ax.legend()


def _draw_rate(ax: Axes, points: pd.DataFrame) -> None:
    for series, colour, marker in (("forget", GREEN, "s"), ("retained", ORANGE, "D")):
        data = select_series(points, "retain_rate", series)
        ax.loglog(data["x"], data["predicted"], **LINE)
        ax.loglog(data["x"], data["y"], marker, color=colour, label=f"{series} points")
    ax.plot([], [], label=r"first order in $\lambda$", **LINE)
    ax.set(
        title=r"Distance to the limit $\lambda\to 0^+$",
        xlabel=r"weight decay $\lambda$",
        ylabel="mean absolute logit error",
    )
    ax.minorticks_off()
    ax.legend()


def draw_support(axes: Sequence[Axes], points: pd.DataFrame) -> None:
    """Draw the deviation and its bound as functions of the support point's cosine."""
    panels = {
        "support_with_noise_logits": r"Logits independent of the features, $z\sim N(0, I)$",
        "support_with_linear_logits": r"Logits linear in the features, $z=X\theta_{\mathrm{true}}$",
    }
    for ax, (panel, title) in zip(axes, panels.items(), strict=True):
        data = select_series(points, panel, "support point")
        bins = pd.cut(data["x"], np.linspace(0, 1, 11))
        means = data.groupby(bins, observed=True)[["x", "y"]].mean()
        cos = np.sin(np.linspace(0, np.pi / 2, 200))
        ax.plot(cos, np.sqrt(1 - cos**2), label="bound, cor. A.3", **LINE)
        ax.plot(data["x"], data["y"], label="support points", **CLOUD)
        ax.plot(means["x"], means["y"], "o-", color=ORANGE, label="mean of a bin")
        ax.set(title=title, xlabel=r"$|\cos(x_f, x_s)|$", ylim=(0, 1.05))
    axes[0].set_ylabel(r"$\Delta\,/\,(|\alpha_{q,F}|\,\|\theta_{\mathrm{retrain}}\|\,\|x_f\|)$")
    axes[0].legend(loc="center left", bbox_to_anchor=(0.0, 0.62))


PLOTS = {
    "synthetic": Plot(
        draw_synthetic,
        2.6,
        "Collateral damage grows with the square of a query's alignment to the deleted point, in "
        "both directions. Means over {runs} runs with 95 % Student intervals. Left: n = 5000, "
        "d = 10, noise variance 0.1, retained points as queries, 450 ascent steps of lr / n with "
        "the paper's lr = 0.05 (docs/paper.md says why); each run is the mean of 30 draws of the "
        "noise on one X, as proposition 3.1 takes the expectation over it. Right: n = 15, d = 20, "
        "500 steps of lr = 0.01, no weight decay, logits N(0, 1), 10000 unit queries a run from "
        "span(X_R'). Within a run the identity is exact; the intervals are the spread between runs "
        "of how far the deleted logit moves, common to all points.",
    ),
    "retain-residual": Plot(
        draw_retain_residual,
        2.8,
        "Full retain fine-tuning restores the retained points and leaves -<theta_retrain, X_F'v_F> "
        "on other queries (proposition 3.3). {runs} runs, n = 15, d = 20, 3 deleted points. "
        "Left: the surrogate solved by Newton's method at lambda = 1e-8, 10 unit queries a run "
        "from span(X'). Right: the error of the limiting logits falls linearly in lambda, at the "
        "rate that a first-order expansion gives.",
    ),
    "support": Plot(
        draw_support,
        2.6,
        "The bound of corollary A.3 on the deviation, and the deviation. {runs} runs, n = 15, "
        "d = 20; each of 14 retained points, drawn at all angles to the deleted point, is the "
        "support in turn. The bound always holds and falls with |cos|. The deviation itself falls "
        "with |cos| where logits follow the features (right) and does not where they are "
        "independent of them (left).",
    ),
}
