"""The figures of the theory show what theory.csv says."""

import numpy as np
import pandas as pd
import pytest

from paper.theory.figure import PLOTS, render


def rows(panel, series, x, y, **others):
    return pd.DataFrame({"panel": panel, "series": series, "x": x, "y": y, **others})


def test_measured_means_stand_in_their_own_intervals():
    x = np.array([-0.5, 0.0, 0.5])
    points = pd.concat(
        part
        for panel, factor in (("gradient_ascent", 1.0), ("random_labels", 2.0))
        for part in (
            rows(panel, "theory", x, factor * x**2),
            # Lopsided, so that the ends are told apart.
            rows(panel, "measured", x, factor * x**2, low=factor * x**2 - 0.1, high=factor),
        )
    )
    for axes, factor in zip(render(PLOTS["synthetic"], points).axes, (1.0, 2.0), strict=True):
        [container] = axes.containers
        assert container.lines[0].get_ydata() == pytest.approx(factor * x**2)
        ends = ends_of(container.lines[2][0].get_segments())
        assert ends[:, 0] == pytest.approx(x)
        assert ends[:, 1] == pytest.approx(factor * x**2 - 0.1)
        assert ends[:, 2] == pytest.approx([factor] * 3)


def test_the_bound_and_the_means_of_ten_bins_are_drawn():
    x = np.linspace(0.01, 0.99, 99)
    panels = ("support_with_noise_logits", "support_with_linear_logits")
    points = pd.concat(rows(panel, "support point", x, 0.2 * x) for panel in panels)
    for axes in render(PLOTS["support"], points).axes:
        bound = line_of(axes, "bound, cor. A.3")
        cosine, height = bound.get_data()
        assert height == pytest.approx(np.sqrt(1 - cosine**2))
        assert (cosine.min(), cosine.max()) == pytest.approx((0, 1))
        means = line_of(axes, "mean of a bin")
        assert len(means.get_xdata()) == 10
        assert means.get_ydata() == pytest.approx(0.2 * means.get_xdata())
        assert means.get_xdata()[0] == pytest.approx(0.055)  # of 0.01 to 0.10


def test_every_caption_takes_the_number_of_runs_and_nothing_else():
    assert len(PLOTS) == 3
    for plot in PLOTS.values():
        caption = plot.caption.format(runs=17)
        assert "17 runs" in caption and "{" not in caption


def test_every_point_and_interval_is_a_row_of_the_file():
    """Every point and every end of an interval is a row of theory.csv."""
    rng = np.random.default_rng(3)
    series = {
        "gradient_ascent": ("theory", "measured"),
        "random_labels": ("theory", "measured"),
        "retain_residual": ("query in span(X')", "retained point"),
        "retain_rate": ("forget", "retained"),
        "support_with_noise_logits": ("support point",),
        "support_with_linear_logits": ("support point",),
    }
    parts = [
        pd.DataFrame(
            np.sort(rng.uniform(0.01, 0.99, (30, 5))),
            columns=["low", "y", "high", "x", "predicted"],
        )
        .assign(panel=panel, series=name)
        .sort_values("x")
        for panel, names in series.items()
        for name in names
    ]
    points = pd.concat(parts)
    for name, panels in THEORY.items():
        for axes, (panel, drawn) in zip(
            render(PLOTS[name], points).axes, panels.items(), strict=True
        ):
            lines = {line.get_label(): line.get_xydata() for line in axes.lines}
            lines |= {c.get_label(): c.lines[0].get_xydata() for c in axes.containers}
            for label, (of, column) in drawn.items():
                own = points[(points["panel"] == panel) & (points["series"] == of)]
                if of == "theory":
                    reach = points[(points["panel"] == panel) & (points["series"] == "measured")][
                        "x"
                    ].max()
                    own = own[own["x"] <= 1.06 * reach]
                same(lines[label], own[["x", column]].to_numpy())
            for bars in axes.containers:
                own = points[(points["panel"] == panel) & (points["series"] == "measured")]
                same(segments_of(bars.lines[2][0]), own[["x", "low", "high"]].to_numpy())


THEORY = {
    "synthetic": {
        "gradient_ascent": {
            "leading term, prop. 3.1": ("theory", "y"),
            "measured, 95 %": ("measured", "y"),
        },
        "random_labels": {
            "prop. 3.2, mean over runs": ("theory", "y"),
            "measured, 95 %": ("measured", "y"),
        },
    },
    "retain-residual": {
        "retain_residual": {
            r"queries in span($X^\top$)": ("query in span(X')", "y"),
            "retained points": ("retained point", "y"),
        },
        "retain_rate": {"forget points": ("forget", "y"), "retained points": ("retained", "y")},
    },
    "support": {
        "support_with_noise_logits": {"support points": ("support point", "y")},
        "support_with_linear_logits": {"support points": ("support point", "y")},
    },
}


def same(drawn, expected) -> None:
    """Compare rows of numbers, whatever their order."""
    found, wanted = (
        np.array(sorted(tuple(row) for row in rows if not np.isnan(list(row)).any()))
        for rows in (drawn, expected)
    )
    assert found.shape == wanted.shape
    assert found == pytest.approx(wanted, rel=1e-9, abs=1e-9)


def segments_of(lines) -> list[tuple[float, float, float]]:
    """Return (x, low, high) of vertical segments."""
    return [(s[0][0], s[0][1], s[1][1]) for s in lines.get_segments() if len(s)]


def line_of(axes, label: str):
    """Return the line, or its first piece, of a legend's entry."""
    [line] = [line for line in axes.get_lines() if line.get_label() == label]
    return line


def ends_of(segments: list[np.ndarray]) -> np.ndarray:
    """Return (x, low, high) of vertical segments; an undefined one is empty."""
    found = [(seg[0][0], seg[0][1], seg[1][1]) for seg in segments if len(seg)]
    return np.array(found).reshape(-1, 3)
