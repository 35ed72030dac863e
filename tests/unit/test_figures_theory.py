"""The figures of the theory show what theory.csv says."""

import numpy as np
import pandas as pd
import pytest
from figure_reading import ends_of, line_of

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
