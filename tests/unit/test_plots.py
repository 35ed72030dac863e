"""Every plot shows the numbers of the long table: means, 95 % intervals, levels, bands and names.

The expected numbers are computed from the rows of metrics.csv and costs.csv alone
(expected_pictures.py). Whether print and page draw these plots is in test_plots_print.py and
test_plots_page.py.
"""

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
import seaborn as sns
from expected_pictures import (
    AFFECTED,
    MEASURES,
    SETS,
    SHARES,
    Cell,
    Long,
    Panel,
    Point,
    localization,
    mean,
    points_said,
    span,
)
from made_benchmark import folder_of

from collateral.plots import plot as data
from collateral.plots.plot import fit_x, fit_y

NOISE_LABEL = "Retrain vs. Retrain (95 %)"
PALETTE = sns.color_palette("colorblind").as_hex()
COLOURS = [*(PALETTE[i] for i in (0, 1, 2, 3, 4, 9)), "#882255", *(PALETTE[i] for i in (5, 6, 8))]
Plots = dict[tuple[str | None, str], data.Plot]


@pytest.fixture(scope="module", params=("made", "cifar-small", "cifar-more", "cifar-teacher"))
def long(request) -> Long:
    """A benchmark of numbers that all differ, and the results that docs keep."""
    return Long(folder_of(request))


@pytest.fixture(scope="module")
def plots(long) -> Plots:
    """All plots by cell and name; the cell of those over all cells is None."""
    return long.plots()


def cells_with(long: Long, plots: Plots, name: str) -> Iterator[tuple[Cell, data.Plot]]:
    """Yield every cell that has a plot of this name, with the plot."""
    for cell in long.cells:
        if (cell.name, name) in plots:
            yield cell, plots[cell.name, name]


def same(found, expected) -> None:
    """Compare rows of numbers in their order; NaN equals NaN."""
    found, expected = (np.array([list(row) for row in rows], float) for rows in (found, expected))
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def filled(values, count: int) -> list:
    """Return the values, or NaN for each place if there are none."""
    return list(values) if len(values) else [math.nan] * count


def check_series(series: data.Series, points: list[Point], has_noise: bool = True) -> None:
    """Compare places, means, interval ends, seeds and the noise floor of a series."""
    count = len(points)
    parts = (series.x, series.y, filled(series.low, count), filled(series.high, count))
    same(zip(*parts, strict=True), [(p.x, p.y, *interval(p)) for p in points])
    assert list(series.n) == [len(p.known) for p in points]
    if has_noise:
        same([filled(series.noise, count)], [[p.chance for p in points]])


def interval(point: Point) -> tuple[float, float]:
    """Return the ends of the 95 % interval; it is drawn from three seeds on."""
    half = point.half if len(point.known) > 2 else math.nan
    return point.y - half, point.y + half


def check_panel(drawn: data.Panel, panel: Panel) -> None:
    """Compare all series of a panel, Retrain's level, the band around it, unit and runs."""
    series = {one.label: one for one in drawn.series if one.label in panel.lines}
    known = {label: p for label, p in panel.lines.items() if any(not math.isnan(q.y) for q in p)}
    assert known.keys() <= series.keys()
    for label, one in series.items():
        check_series(one, panel.lines[label])
        assert one.run == panel.runs.get(label, one.run)
    assert drawn.unit.strip() == (panel.unit if panel.unit != "classes" else "")
    level = [[one.value] for one in drawn.levels if one.axis == "y" and one.dash == "dashed"]
    same(level or [[math.nan]], [[panel.level if panel.level else math.nan]])
    bands = [(one.low, one.high) for one in drawn.bands if math.isinf(one.left)]
    assert len(bands) == (not math.isnan(panel.chance))
    for low, high in bands:
        assert (max(low, 0.0), high) == pytest.approx(panel.band)


def check_counts(panel: data.Panel, edges, counts) -> None:
    """Compare the bars of the examples in each bin."""
    [bars] = panel.series
    assert bars.mark == "bar" and panel.y.scale == "log"
    middles = [sum(edge) / 2 for edge in edges]
    same(zip(bars.x, bars.y, strict=True), zip(middles, counts, strict=True))
    assert fit_x(panel) == pytest.approx((edges[0][0], edges[-1][1]))
    assert 0 < fit_y(panel)[0] < min(c for c in counts if c) <= max(counts) <= fit_y(panel)[1]


def test_similarity(long, plots):
    for cell, plot in cells_with(long, plots, "similarity"):
        names = itertools.product(MEASURES, SETS)
        for drawn, panel, (metric, name) in zip(
            plot.panels, cell.similarity(), names, strict=False
        ):
            check_panel(drawn, panel)
            edges, points = cell.edges(name), next(iter(panel.lines.values()))
            noise = [(*e, -p.chance, p.chance) for e, p in zip(edges, points, strict=True)]
            noise = [row for row in noise if not math.isnan(row[2])]
            same([(b.left, b.right, b.low, b.high) for b in drawn.bands], noise)
            assert {b.label for b in drawn.bands} <= {NOISE_LABEL}
            assert [level.value for level in drawn.levels] == [0]
            counts = counts_in(cell, name)
            for series in drawn.series:
                assert list(series.details["examples"]) == [f"{count:.0f}" for count in counts]
                assert list(series.is_faint) == [count < 5 for count in counts]
                areas = [max(30 * math.sqrt(count / max(counts)), 3) for count in counts]
                assert list(series.areas) == pytest.approx(areas)
            width = min(high - low for low, high in edges)
            assert drawn.dodge == pytest.approx(width / 3)
            assert MEASURES[metric] in plot.panels[0 if metric == "delta_acc" else 2].y.title
        for panel, name in zip(plot.panels[4:], SETS, strict=True):
            check_counts(panel, cell.edges(name), counts_in(cell, name))
        assert [panel.title for panel in plot.panels[:2]] == list(SETS.values())
        for first, second in (plot.panels[:2], plot.panels[2:4]):
            assert fit_y(first) == fit_y(second)


def counts_in(cell: Cell, name: str) -> list[float]:
    bins = cell.places("retrain", "bin_count", name)
    return [mean(cell.values("retrain", "bin_count", name, b)) for b in bins]


def test_epochs(long, plots):
    for cell, plot in cells_with(long, plots, "epochs"):
        for drawn, panel in zip(plot.panels, cell.epochs(), strict=True):
            assert drawn.title == panel.title and drawn.interval == "area"
            check_panel(drawn, panel)


def test_sweeps(long, plots):
    for cell in long.cells:
        expected = [s for sweep in cell.table.plan.sweeps for s in cell.swept(sweep).items()]
        names = {name for where, name in plots if where == cell.name and name[:6] == "sweep-"}
        assert names == {name for name, _ in expected}
        for name, panels in expected:
            for drawn, panel in zip(plots[cell.name, name].panels, panels, strict=True):
                assert drawn.title == panel.title
                check_panel(drawn, panel)
                [series], own = drawn.series, [p.x for _, p in panel.points() if p.is_own]
                assert [series.ring_at] == own or math.isnan(series.ring_at)
                sizes = [p.x for p in next(iter(panel.lines.values()))]
                is_log = min(sizes) > 0 and max(sizes) >= 10 * min(sizes)
                assert (drawn.x.scale == "log") == is_log


def test_localization(long, plots):
    for drawn, panel in zip(plots[None, "localization"].panels, localization(long), strict=True):
        assert drawn.title == panel.title
        assert drawn.x.is_reversed and drawn.x.scale == "log"
        check_panel(drawn, panel)


@pytest.mark.parametrize("name", ["relearn", "resurface"])
def test_probes(long, plots, name):
    for cell, plot in cells_with(long, plots, name):
        for drawn, panel in zip(plot.panels, cell.probed(f"{name}_accuracy"), strict=True):
            check_panel(drawn, panel)


def test_supports(long, plots):
    for cell in long.cells:
        if (cell.name, "support-kl") not in plots:
            continue
        for name, panels in cell.supports().items():
            plot = plots[cell.name, name]
            for drawn, panel in zip(plot.panels, panels, strict=True):
                check_panel(drawn, panel)
                check_sizes(drawn, cell)
            if name != "support-retrain":
                check_similarities(plot.panels[0], cell)
        [panel] = plots[cell.name, "support-kl"].panels
        [floors] = [one for one in panel.series if not one.run]
        [points] = cell.supports()["support-kl"][0].lines.values()
        same(zip(floors.x, floors.y, strict=True), [(p.x, p.chance) for p in points])


def check_sizes(panel: data.Panel, cell: Cell) -> None:
    """Compare the k of the runs, that of `k: auto`, and its range over seeds."""
    own, auto = (cell.values("ltd", f"support_{name}") for name in ("size", "auto"))
    levels = {one.dash: (one.value, one.label) for one in panel.levels if one.axis == "x"}
    assert levels["solid"] == (pytest.approx(mean(own)), f"k of the runs: {span(own)}")
    assert levels["dotted"] == (pytest.approx(mean(auto)), f"k: auto: {span(auto)}")
    ranges = [(one.left, one.right) for one in panel.bands if not math.isinf(one.left)]
    assert ranges == [pytest.approx((auto.min(), auto.max()))]


def check_similarities(panel: data.Panel, cell: Cell) -> None:
    """Compare the texts above some sizes."""
    name, ticks = "support_least_similarity", panel.x.top_ticks
    known = {int(k): mean(cell.values("ltd", name, at=k)) for k in cell.places("ltd", name)}
    assert ticks == {k: f"{known[int(k)]:.2f}" for k in ticks}
    assert len(ticks) >= min(len(known), 5)


def test_the_cost_of_one_step(long, plots):
    for cell, plot in cells_with(long, plots, "support-drop"):
        upper, lower = plot.panels
        low, high, drop = (cell.step(name) for name in ("bin_low", "bin_high", "drop"))
        means, single = upper.series
        centres = ((low + high) / 2).mean(axis=1)
        check_series(means, [Point(x, 100 * d) for x, d in zip(centres, drop, strict=True)])
        assert means.mark == "bar" and single.mark == "point"
        pairs = zip(((low + high) / 2).ravel(), 100 * drop.ravel(), strict=True)
        same(zip(single.x, single.y, strict=True), pairs)
        counts = cell.step("bin_count").mean(axis=1)
        assert list(means.details["examples"]) == [f"{count:.0f}" for count in counts]
        [bars] = lower.series
        same(zip(bars.x, bars.y, strict=True), zip(centres, counts, strict=True))
        for panel in (upper, lower):
            same([(band.left, band.right) for band in panel.bands], list(cell.taken()))
            assert {band.colour for band in panel.bands} == {single.look.colour}
            assert fit_x(panel) == (low.min(), high.max())


def test_affected_classes(long, plots):
    for cell, plot in cells_with(long, plots, "affected"):
        titles = ["RA affected", "UA affected", "TA affected"]
        assert [panel.title for panel in plot.panels] == titles
        for place, (panel, metric) in enumerate(zip(plot.panels, AFFECTED, strict=True)):
            assert [one.label for one in panel.series] == list(cell.labels.values())
            for row, (series, run) in enumerate(zip(panel.series, cell.labels, strict=True)):
                point, middle = cell.affected(run)[place], cell.affected_mean(run, metric)
                low, high = np.subtract(interval(point), point.y)
                parts = (series.x, series.y, series.low, series.high, series.noise)
                expected = (middle, row, middle + low, middle + high, point.chance)
                same(zip(*parts, strict=True), [expected])
                assert series.mark == "point" and series.is_across and series.run == run
                assert list(series.n) == [len(point.known)]
                assert series.details == {"of": [panel.title]}
            bound = cell.chance(metric)
            grey = [(b.left, b.right) for b in panel.bands]
            same(grey, [] if math.isnan(bound) else [(-bound, bound)])
            is_lost = bool(np.isnan(cell.values("retrain", metric)).all())
            assert panel.message == ("undefined" if is_lost else "")
            labels = [*cell.labels.values()] if place == 0 else [""] * len(cell.labels)
            assert [*panel.y.ticks.values()] == labels and panel.y.is_reversed
            assert fit_x(panel) == fit_x(plot.panels[0])


def test_classes(long, plots):
    for cell, plot in cells_with(long, plots, "classes"):
        titles = [panel.title.split("\n") for panel in plot.panels]
        assert [title[0] for title in titles] == list(cell.labels.values())
        assert all(
            title[1:] == [cell.slope(run)] for title, run in zip(titles, cell.labels, strict=True)
        )
        for panel, run in zip(plot.panels, cell.labels, strict=True):
            every = sorted(cell.classes(run).items(), key=lambda item: item[1].x)
            points = {name: p for name, p in every if not math.isnan(p.x + p.y)}
            *fits, series = panel.series
            parts = (series.x, series.y, series.low, series.high, series.noise)
            rows = [(p.x, p.y, p.y - p.half, p.y + p.half, p.chance) for p in points.values()]
            same(zip(*parts, strict=True), rows)
            assert list(series.details["class"]) == list(points)
            written = [n.rpartition("_")[2] for n in points]
            assert len(points) > 12 or list(series.names) == written
            at = np.array([p.x for p in points.values()])
            for fit in fits:
                same(zip(fit.x, fit.y, strict=True), zip(at, cell.fit(run)(at), strict=True))
            known = [p for p in points.values() if not math.isnan(p.chance)]
            grey = [((b.left + b.right) / 2, b.low, b.high) for b in panel.bands]
            same(grey, [(p.x, -p.chance, p.chance) for p in known])


def test_teachers_of_other_seeds(long, plots):
    for cell, plot in cells_with(long, plots, "teacher-noise"):
        [panel] = plot.panels
        diagonal, *series = panel.series
        assert list(diagonal.x) == list(diagonal.y)
        chance, level = cell.chance("ua"), mean(cell.rate("retrain", "ua"))
        sweeps = [s for s in cell.table.plan.sweeps if s.key == "teacher_seed"]
        for one, sweep in zip(series, sweeps, strict=True):
            rates = [(cell.rate(r, "teacher_ua"), cell.rate(r, "ua")) for r in sweep.values]
            pairs = [pair for teacher, own in rates for pair in zip(teacher, own, strict=True)]
            same(zip(one.x, one.y, strict=True), pairs)
            same([one.noise], [[chance] * len(pairs)])
            assert list(one.details["seed"]) == cell.seeds * len(rates)
        assert [one.value for one in panel.levels] == pytest.approx([level])
        band = [] if math.isnan(chance) else [(max(level - chance, 0), min(level + chance, 100))]
        assert [(b.low, b.high) for b in panel.bands] == [pytest.approx(row) for row in band]


def test_trajectory(long, plots):
    for cell, plot in cells_with(long, plots, "trajectory"):
        plane, course = plot.panels
        floor, limit = cell.chance("avg_gap"), cell.chance_by_sd("damage", "retain")
        expected = {"plane": [], "course": []}
        for run, label in cell.tracked.items():
            names = ("forgetting_error", "damage", "avg_gap")
            error, damage, gap = (cell.course(run, part) for part in names)
            seconds, count = cell.seconds(run), len(gap)
            expected["plane"] += [(label, run, error, damage, range(count))]
            expected["course"] += [(label, run, seconds[1:], gap[1:], range(1, count))]
            for panel in (plane, course):
                dots = [s for s in panel.series if s.run == run and s.mark == "point"]
                first, is_cut = int(panel is course), len(dots) > 1
                last = first + len(dots[0].x) if dots else 0
                assert is_cut or last in (0, count)
                for place, one in enumerate(dots):
                    # The second dot of a path that is cut is its end, at the edge of the panel.
                    shown = slice(first, last) if place == 0 else slice(count - 1, count)
                    texts = {
                        "epoch": [str(epoch) for epoch in range(count)[shown]],
                        "time": [f"{s:.3g} s" for s in seconds[shown]],
                        "forgetting error": [points_said(v) for v in error[shown]],
                        "damage": [points_said(v) for v in damage[shown]],
                        "average gap": [points_said(v) for v in gap[shown]],
                    }
                    assert {name: list(many) for name, many in one.details.items()} == texts
                    has_name = place == 1 or not is_cut
                    names = [*[""] * (len(one.x) - 1), label if has_name else ""]
                    assert list(one.names) == names[: len(one.x)]
                    assert one.is_hollow == (place == 1)
                    noise = floor if panel is course else limit
                    same([one.noise], [[noise] * len(one.x)])
        check_paths(plane, cell, expected["plane"])
        check_paths(course, cell, [row for row in expected["course"] if len(row[2])])
        own = [one for one in plane.series if one.run not in cell.tracked]
        marks = {one.label: (one.x[0], one.y[0]) for one in own}
        assert [list(one.names) for one in own] == [[name] for name in marks]
        assert [one.run for one in own] == ["original", ""]  # the page's switch hides Original
        parts = ("forgetting_error", "damage", "avg_gap")
        start = [np.mean([cell.course(run, part)[0] for run in cell.tracked]) for part in parts]
        assert marks == {"Original": pytest.approx(tuple(start[:2])), "Retrain": (0, 0)}
        gap = 100 * cell.number("retrain", "floor", at="avg_gap")
        for panel, low, high in ((plane, -limit, limit), (course, 0, gap)):
            known = [] if math.isnan(high) else [(low, high)]
            assert [(b.low, b.high) for b in panel.bands] == [pytest.approx(row) for row in known]
        check_budgets(course, mean(cell.values("retrain", "rte")), start[2])


def check_paths(panel: data.Panel, cell: Cell, expected) -> None:
    """Compare the line and the dots of every tracked run, and which lines are dashed."""
    lines = [one for one in panel.series if one.mark == "line" and one.run in cell.tracked]
    assert [(one.label, one.run) for one in lines] == [row[:2] for row in expected]
    for line, (_, run, x, y, _) in zip(lines, expected, strict=True):
        dots = [one for one in panel.series if one.mark == "point" and one.run == run]
        inside, ends = dots[0], dots[1:]
        count = len(inside.x)
        same([inside.x, inside.y], [x[:count], y[:count]])
        same([line.x, line.y], [[*d] for d in (edge_path(dots, "x"), edge_path(dots, "y"))])
        assert (line.look.dash == "dashed") == (run in cell.table.plan.paced)
        is_outside = [not is_in(panel, *point) for point in zip(x, y, strict=True)]
        assert bool(ends) == any(is_outside)
        if ends:  # the first point outside is not drawn; the path ends where it crosses the edge
            assert is_outside.index(True) == count
            check_crossing(panel, ends[0], (x, y), count)


def edge_path(dots: list[data.Series], name: str) -> list[float]:
    return [value for one in dots for value in getattr(one, name)]


def is_in(panel: data.Panel, x: float, y: float) -> bool:
    (left, right), (low, high) = fit_x(panel), fit_y(panel)
    return not (x < left or x > right or y < low or y > high)


def check_crossing(panel: data.Panel, end: data.Series, path, count: int) -> None:
    """Check that the end is on the edge, and on the line between the two points around it."""
    limits, [x], [y] = (fit_x(panel), fit_y(panel)), end.x, end.y
    assert any(
        v == pytest.approx(edge) for v, ends in zip((x, y), limits, strict=True) for edge in ends
    )
    if count and all(math.isfinite(part[count - 1]) for part in path):
        scale = math.log if panel.x.scale == "log" else float
        (x0, x1), (y0, y1) = (part[count - 1 : count + 1] for part in path)
        across = (scale(x) - scale(x0)) * (y1 - y0)
        assert across == pytest.approx((y - y0) * (scale(x1) - scale(x0)), abs=1e-6)


def check_budgets(course: data.Panel, cost: float, start: float) -> None:
    least = fit_x(course)[0]
    shares = {f"{s} %": s / 100 * cost for s in SHARES if s / 100 * cost > least}
    levels = [one for one in course.levels if one.axis == "x"]
    assert [one.value for one in levels] == pytest.approx([*shares.values(), cost])
    texts = {one.text: one.value for one in levels if one.text}
    assert texts == pytest.approx({name: {**shares, "Retrain": cost}[name] for name in texts})
    # Texts do not touch: those that would are left out, and Retrain's stays.
    left, right = map(math.log, fit_x(course))
    places = [(math.log(value) - left) / (right - left) for value in texts.values()]
    assert all(b - a > 0.13 for a, b in itertools.pairwise(places)) and "Retrain" in texts
    assert [one.value for one in course.levels if one.axis == "y"] == pytest.approx([start])


def test_verdict(long, plots):
    for cell, plot in cells_with(long, plots, "verdict"):
        [panel], expected = plot.panels, cell.verdicts()
        assert {one.label for one in panel.series} == {one.label for one in expected}
        drawn = {one.label: one for one in panel.series}
        for one in expected:
            series = drawn[one.label]
            ends = (math.nan, math.nan) if one.is_edge else one.ends
            parts = (series.x, series.y, series.low, series.high, series.areas)
            same([[part[0] for part in parts]], [(one.error, one.damage, *ends, one.area)])
            assert list(series.n) == [np.count_nonzero(~np.isnan(one.damages))]
            assert list(series.names) == [one.label]
            assert series.sets_scale != one.is_edge
            is_control = cell.kind(series.run) == "control"
            assert series.is_hollow == (one.is_edge or is_control)
            time = "–" if math.isnan(one.price) else f"{one.price:.1%} of Retrain's"
            texts = {"forgetting error": points_said(one.error), "time": time}
            assert texts.items() <= {name: many[0] for name, many in series.details.items()}.items()
        corner = cell.corner()
        known = [corner] if not math.isnan(sum(corner)) else []
        same([(b.left, b.right, b.low, b.high) for b in panel.bands], known)


def test_exposure(long, plots):
    for cell, plot in cells_with(long, plots, "exposure"):
        changes, forgotten, counts = plot.panels
        runs = [r for r in cell.table.labels if cell.number(r, "exposure_models") > 0]
        edges, labels = cell.edges("retain"), [cell.long.plan.labels[r] for r in runs]
        ends = ("", "_low", "_high")
        assert [one.label for one in changes.series] == labels
        for place, run in enumerate(runs):
            series = changes.series[place]
            bins = range(len(edges))
            rows = [
                [cell.number(run, f"exposure_change{e}", "retain", b) for e in ends] for b in bins
            ]
            middles = [sum(edge) / 2 for edge in edges]
            parts = (series.x, series.y, series.low, series.high)
            same(
                zip(*parts, strict=True), [(x, *row) for x, row in zip(middles, rows, strict=True)]
            )
            one = forgotten.series[place]
            row = [cell.number(run, f"ulira_auc{e}", "forget") for e in ends]
            same([[one.x[0], one.low[0], one.high[0]]], [row])
            assert one.is_across and forgotten.y.ticks[one.y[0]] == one.label == labels[place]
        values = [cell.number("retrain", "exposure_count", "retain", b) for b in range(len(edges))]
        check_counts(counts, edges, values)
        before = cell.number("retrain", "lira_auc", "forget")
        levels = {one.dash: one.value for one in forgotten.levels}
        assert levels == {"solid": 0.5, "dashed": pytest.approx(before)}


def test_every_plot_is_compared(plots):
    compared = {"similarity", "epochs", "localization", "relearn", "affected", "classes"}
    compared |= {"exposure", "teacher-noise", "trajectory", "verdict", "support-kl"}
    compared |= {"support-accuracy", "support-retrain", "support-drop", "resurface"}
    assert {name for _, name in plots if name[:6] != "sweep-"} <= compared
    assert len({name for _, name in plots}) > 4


def test_a_run_has_one_colour_by_its_place_in_the_config(long, plots):
    methods = [run for run in long.plan.labels if "@" not in run]
    for (_, name), plot in plots.items():
        for panel in plot.panels:
            for series in panel.series:
                if series.run in methods and not is_shared_look(series):
                    kinds = {cell.kind(series.run) for cell in long.cells} - {""}
                    place = methods.index(series.run)
                    colour = COLOURS[place % len(COLOURS)] if kinds == {"method"} else "#8c8c8c"
                    assert series.look.colour == colour, (name, series.label)


def is_shared_look(series: data.Series) -> bool:
    """Tell whether a series is grey or dark in every plot: a fit, bars behind points, one mark."""
    is_mark = series.label == "Original" and len(series.x) == 1
    return is_mark or series.label == "Linear fit" or series.label.endswith("mean over seeds")


def test_the_axes_hold_all_means_of_sound_runs(long, plots):
    for (where, name), plot in plots.items():
        lost = {
            run
            for cell in long.cells
            if cell.name == where
            for run in cell.labels
            if cell.lost.get(run) or cell.number(run, "verdict", at="collapsed") == 1
        }
        for panel in plot.panels:
            (left, right), (low, high) = fit_x(panel), fit_y(panel)
            for series in panel.series:
                is_swept = name.startswith(("sweep", "support", "localization", "exposure"))
                if series.mark == "line" and name not in ("trajectory", "classes") and not is_swept:
                    assert series.sets_scale == (series.run not in lost), (name, series.run)
                if series.sets_scale:
                    assert all(left <= x <= right for x in series.x if math.isfinite(x)), name
                    known = [y for y in series.y if math.isfinite(y)]
                    assert all(low <= y <= high or y <= 0 for y in known), (name, series.label)


def test_captions_are_sentences_and_notes_name_every_failure(long, plots):
    for (where, name), plot in plots.items():
        assert plot.caption.endswith(".") and plot.title and plot.name == name
        assert not any("standard error" in text for text in (plot.caption, *plot.notes))
        for cell in (cell for cell in long.cells if cell.name == where):
            for run in cell.lost.keys() & cell.labels.keys():
                if name not in ("exposure",) and not name.startswith("sweep"):
                    label = long.plan.labels[run]
                    assert any(label in note for note in plot.notes), (name, label)
