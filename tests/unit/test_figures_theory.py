"""The plots of the theory show the points of theory.csv."""

import numpy as np
import pandas as pd
import pytest

from paper.theory.figure import make_plots

SERIES = {
    "gradient_ascent": ("theory", "measured"),
    "random_labels": ("theory", "measured"),
    "retain_residual": ("query in span(X')", "retained point"),
    "retain_rate": ("forget", "retained"),
    "support_with_noise_logits": ("support point",),
    "support_with_linear_logits": ("support point",),
}
# For each panel of each plot: series of theory.csv and column, by label.
SHOWN = {
    "synthetic": 2 * [{"measured, 95 %": ("measured", "y")}],
    "retain-residual": [
        {
            r"queries in span($X^\top$)": ("query in span(X')", "y"),
            "retained points": ("retained point", "y"),
        },
        {"forget points": ("forget", "y"), "retained points": ("retained", "y")},
    ],
    "support": 2 * [{"support points": ("support point", "y")}],
}


@pytest.fixture
def points():
    rng = np.random.default_rng(3)
    numbers = ["low", "y", "high", "x", "predicted"]
    return pd.concat(
        pd.DataFrame(np.sort(rng.uniform(0.01, 0.99, (30, 5))), columns=numbers)
        .assign(panel=panel, series=name)
        .sort_values("x")
        for panel, names in SERIES.items()
        for name in names
    )


def select(points, panel, series):
    return points[(points["panel"] == panel) & (points["series"] == series)]


def test_every_mark_and_interval_is_a_row_of_the_file(points):
    panels = iter(SERIES)
    for plot in make_plots(points, 17):
        for panel, shown in zip(plot.panels, SHOWN[plot.name], strict=True):
            name = next(panels)
            drawn = {one.label: one for one in panel.series}
            for label, (series, column) in shown.items():
                own = select(points, name, series)
                assert drawn[label].x == [*own["x"]] and drawn[label].y == [*own[column]]
            if plot.name == "synthetic":
                own = select(points, name, "measured")
                assert drawn["measured, 95 %"].low == [*own["low"]]
                assert drawn["measured, 95 %"].high == [*own["high"]]


def test_curves_are_those_of_the_theory(points):
    synthetic, residual, support = make_plots(points, 17)
    for name, panel in zip(SERIES, synthetic.panels, strict=False):
        reach = 1.06 * select(points, name, "measured")["x"].max()
        own = select(points, name, "theory")
        assert panel.series[0].y == [*own[own["x"] <= reach]["y"]]
    rates = [select(points, "retain_rate", one) for one in ("forget", "retained")]
    assert [one.y for one in residual.panels[1].series[:2]] == [[*r["predicted"]] for r in rates]
    for panel in support.panels:
        cosine, height = (np.array(values) for values in (panel.series[0].x, panel.series[0].y))
        assert height == pytest.approx(np.sqrt(1 - cosine**2))
        assert (cosine.min(), cosine.max()) == pytest.approx((0, 1))


def test_means_are_those_of_ten_bins(points):
    x = np.linspace(0.01, 0.99, 99)
    own = [name for name in SERIES if name.startswith("support")]
    even = [pd.DataFrame({"panel": p, "series": "support point", "x": x, "y": x / 5}) for p in own]
    *_, support = make_plots(pd.concat([points[~points["panel"].isin(own)], *even]), 17)
    for panel in support.panels:
        means = panel.series[-1]
        assert len(means.x) == 10
        assert means.y == pytest.approx([value / 5 for value in means.x])
        assert means.x[0] == pytest.approx(0.055)  # of 0.01 to 0.10


def test_every_caption_names_the_number_of_runs(points):
    plots = list(make_plots(points, 17))
    assert len(plots) == 3
    assert all("17 runs" in plot.caption and "{" not in plot.caption for plot in plots)
