"""Every figure draws what the long table says: each mean, interval, level, band, line and name.

Figures are read from what matplotlib draws, and what they must show is worked out from the rows of
metrics.csv and costs.csv (expected_pictures.py).
"""

import itertools
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from expected_pictures import (
    AFFECTED,
    SHARES,
    Cell,
    Long,
    Panel,
    Point,
    localization,
    mean,
    span,
)
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.patches import Rectangle
from matplotlib.text import Annotation
from unlike_benchmark import write_unlike

from paper.theory.figure import PLOTS, render

KEPT = Path(__file__).parents[2] / "docs" / "data"
BENCHMARKS = ("unlike", "cifar-small", "cifar-more", "cifar-teacher")
NOISE_LABEL = "Retrain vs. Retrain (95 %)"


@pytest.fixture(scope="module", params=BENCHMARKS)
def long(request, tmp_path_factory):
    """A benchmark of numbers all unlike, and the results that docs keep."""
    if request.param != "unlike":
        return Long(KEPT / request.param)
    return Long(write_unlike(tmp_path_factory.mktemp("benchmark") / "unlike"))


@pytest.fixture(scope="module")
def figures(long):
    """All figures: by cell and name; the cell of those over all cells is None."""
    over_all = long.drawn("figure", "figures_across", long.table)
    found = {(None, name): picture.figure for name, picture in over_all.items()}
    for cell in long.cells:
        drawn = long.drawn("figure", "figures", cell.table)
        found |= {(cell.name, name): picture.figure for name, picture in drawn.items()}
    return found


def of_name(long, figures, name):
    """Yield every cell's figure of a name."""
    for cell in long.cells:
        if (cell.name, name) in figures:
            yield cell, figures[cell.name, name]


# What is drawn in a panel.


def same(drawn, expected) -> None:
    """Compare rows of numbers, whatever their order."""
    found, wanted = (
        np.array(sorted(tuple(row) for row in rows if not np.isnan(list(row)).any()))
        for rows in (drawn, expected)
    )
    assert found.shape == wanted.shape
    assert found == pytest.approx(wanted, rel=1e-9, abs=1e-9)


def is_data(axes, artist) -> bool:
    return artist.get_transform() == axes.transData


def look_of(line) -> tuple[str, str, str]:
    return to_hex(line.get_color()), line.get_linestyle(), str(line.get_marker())


def looks_in(figure) -> dict[str, tuple[str, str, str]]:
    """Return how each line of the legend is drawn."""
    handles = itertools.chain.from_iterable(
        zip(*a.get_legend_handles_labels(), strict=True) for a in figure.axes
    )
    return {
        label: look_of(h)
        for h, label in handles
        if hasattr(h, "get_linestyle") and hasattr(h, "get_marker")
    }


def points_in(axes, look=None) -> list[tuple[float, float]]:
    """Return the points of lines, those of one look or of all, as far as there are any."""
    lines = [line for line in axes.lines if is_data(axes, line) and line.get_linestyle() != "None"]
    return [
        (float(x), float(y))
        for line in lines
        if look is None or look_of(line) == look
        for x, y in line.get_xydata()
    ]


def bars_in(axes) -> list[tuple[float, float, float]]:
    """Return place and ends of all error bars."""
    bars = [c.lines[2][0] for c in axes.containers if isinstance(c, ErrorbarContainer)]
    return [ends for bar in bars for ends in segments_of(bar)]


def segments_of(lines: LineCollection) -> list[tuple[float, float, float]]:
    """Return (x, low, high) of vertical segments."""
    return [(s[0][0], s[0][1], s[1][1]) for s in lines.get_segments() if len(s)]


def bands_in(axes, colour=None) -> list[tuple[float, float, float]]:
    """Return (x, low, high) at every place of the bands of a colour, of coloured ones or of all."""
    found = []
    for band in axes.collections:
        if isinstance(band, PolyCollection) and colour in (None, to_hex(band.get_facecolor()[0])):
            for path in band.get_paths():
                for x in np.unique(path.vertices[:, 0]):
                    heights = path.vertices[path.vertices[:, 0] == x, 1]
                    found.append((x, heights.min(), heights.max()))
    return found


def levels_in(axes, style="--", across="y") -> list[float]:
    """Return where lines across the whole panel are."""
    lines = [line for line in axes.lines if not is_data(axes, line)]
    of_style = [line for line in lines if line.get_linestyle() == style]
    places = [(line.get_ydata(), line.get_xdata()) for line in of_style]
    own, other = (0, 1) if across == "y" else (1, 0)
    return [float(p[own][0]) for p in places if list(p[other]) == [0, 1]]


def spans_in(axes, across="y") -> list[tuple[float, float]]:
    """Return the ends of grey spans over the whole panel."""
    whole, end = (0, 1) if across == "y" else (1, 0)
    boxes = [
        (p.get_xy(), (p.get_width(), p.get_height())) for p in axes.patches if _is_span(axes, p)
    ]
    return [
        (at[end], at[end] + size[end]) for at, size in boxes if (at[whole], size[whole]) == (0, 1)
    ]


def _is_span(axes, patch) -> bool:
    of_bars = [bar for c in axes.containers if isinstance(c, BarContainer) for bar in c.patches]
    return isinstance(patch, Rectangle) and patch not in of_bars


def boxes_in(bars: BarContainer) -> list[tuple[float, float, float, float]]:
    """Return left, right, bottom and top of bars."""
    return [box_of(bar) for bar in bars.patches]


def box_of(patch: Rectangle) -> tuple[float, float, float, float]:
    x, y = patch.get_xy()
    return x, x + patch.get_width(), y, y + patch.get_height()


def with_bars(axes) -> dict[str, BarContainer]:
    """Return the bars by their names in the legend."""
    return {c.get_label(): c for c in axes.containers if isinstance(c, BarContainer)}


# Figures of lines.


def check_lines(figure, axes, panel: Panel, dashed=True) -> None:
    """Compare every line's points, Retrain's level and the grey around it."""
    known = looks_in(figure)
    for label, points in panel.lines.items():
        is_known = not all(math.isnan(p.y) for p in points)
        assert (label in known) == is_known
        same(points_in(axes, known[label]) if is_known else [], [(p.x, p.y) for p in points])
    assert len(points_in(axes)) == len(list(panel.points()))
    if dashed:
        same([[y] for y in levels_in(axes)], [[panel.level]])
        same(spans_in(axes), [panel.band])


def errors(panel: Panel) -> list[tuple[float, float, float]]:
    """Return every standard error that is drawn as a bar."""
    return [(p.x, p.y - p.error, p.y + p.error) for _, p in panel.points() if p.error]


def check_bands(figure, axes, panel: Panel, ends, more=()) -> None:
    """Compare the bands of every line, as far as they have some height; and what else is filled."""
    known, wanted = looks_in(figure), [*more]
    for label, points in panel.lines.items():
        own = [(p.x, *ends(p)) for p in points if len(p.known) > 1]
        drawn = bands_in(axes, known[label][0])
        assert all(any(row == pytest.approx(one, rel=1e-9) for row in drawn) for one in own), label
        wanted += own
    same(
        *(
            [band for band in bands if band[2] - band[1] > 1e-9]
            for bands in (bands_in(axes), wanted)
        )
    )


def standard_error(p: Point) -> tuple[float, float]:
    return p.y - p.error, p.y + p.error


def whole_range(p: Point) -> tuple[float, float]:
    return p.known.min(), p.known.max()


def test_similarity(long, figures):
    for cell, figure in of_name(long, figures, "similarity"):
        panels, known = cell.similarity(), looks_in(figure)
        for place, (axes, panel) in enumerate(zip(figure.axes[:4], panels, strict=True)):
            edges = cell.edges(("retain", "test")[place % 2])
            for label, points in panel.lines.items():
                check_bins(points_in(axes, known[label]), points, edges)
            check_intervals(axes, panel, edges)
            check_noise(axes, panel, edges)
            low, high = axes.get_ylim()
            sound = [p.y for label, p in panel.points() if is_sound(cell, panel.runs[label])]
            assert all(low <= y <= high for y in sound)
        for name, axes in zip(("retain", "test"), figure.axes[4:], strict=True):
            check_counts(axes, cell.edges(name), counts_of(cell, name))


def is_sound(cell: Cell, run: str) -> bool:
    """Tell whether a run sets the scale."""
    return run not in cell.lost and cell.number(run, "verdict") != 0


def check_bins(drawn, points, edges) -> None:
    """Compare means bin by bin; each stands in the middle third of its own."""
    wanted = [(edge, p) for edge, p in zip(edges, points, strict=True) if not math.isnan(p.y)]
    assert len(drawn) == len(wanted)
    for (x, y), ((low, high), p) in zip(sorted(drawn), wanted, strict=True):
        assert abs(x - p.x) <= (high - low) / 6 + 1e-9
        assert y == pytest.approx(p.y, rel=1e-9, abs=1e-9)


def check_intervals(axes, panel, edges) -> None:
    """Compare each error bar with that of the mean that it goes through."""
    drawn = [bar for bar in bars_in(axes) if not math.isnan(bar[1]) and bar[1] != bar[2]]
    places = {x: y for x, y in points_in(axes)}
    middles = sorted((p.x, p.y, p.error) for _, p in panel.points() if p.error > 1e-9)
    width = edges[0][1] - edges[0][0]
    found = []
    for x, low, high in drawn:
        [own] = {p.x for _, p in panel.points() if abs(p.x - x) < width / 2}
        assert (low + high) / 2 == pytest.approx(places[x], abs=1e-9)
        found.append((own, (low + high) / 2, (high - low) / 2))
    same([row for row in found if row[2] > 1e-9], middles)


def check_noise(axes, panel, edges) -> None:
    points = next(iter(panel.lines.values()))
    grey = with_bars(axes).get(NOISE_LABEL)
    wanted = [(*e, -p.chance, p.chance) for e, p in zip(edges, points, strict=True)]
    same(boxes_in(grey) if grey else [], wanted)


def counts_of(cell, name):
    bins = cell.places("retrain", "bin_count", name)
    return [mean(cell.values("retrain", "bin_count", name, b)) for b in bins]


def check_counts(axes, edges, counts) -> None:
    [bars] = [c for c in axes.containers if isinstance(c, BarContainer)]
    drawn = [((low + high) / 2, top) for low, high, _, top in boxes_in(bars)]
    same(drawn, [(sum(e) / 2, n) for e, n in zip(edges, counts, strict=True)])
    assert all(bottom == 0 for _, _, bottom, _ in boxes_in(bars))


def test_epochs(long, figures):
    for cell, figure in of_name(long, figures, "epochs"):
        for axes, panel in zip(figure.axes, cell.epochs(), strict=True):
            assert axes.get_title() == panel.title
            check_lines(figure, axes, panel)
            check_bands(figure, axes, panel, standard_error)


def test_sweeps(long, figures):
    for cell in long.cells:
        drawn = {name for where, name in figures if where == cell.name and name[:6] == "sweep-"}
        wanted = [s for sweep in cell.table.plan.sweeps for s in cell.swept(sweep).items()]
        assert drawn == {name for name, _ in wanted}
        for name, panels in wanted:
            figure = figures[cell.name, name]
            for axes, panel in zip(figure.axes, panels, strict=True):
                assert axes.get_title() == panel.title
                check_lines(figure, axes, panel)
                same([b for b in bars_in(axes) if b[1] < b[2]], errors(panel))
                rings = [line for line in axes.lines if line.get_label() == "own value"]
                own = [(p.x, p.y) for _, p in panel.points() if p.is_own]
                same([tuple(ring.get_xydata()[0]) for ring in rings], own)


def test_localization(long, figures):
    figure = figures[None, "localization"]
    for axes, panel in zip(figure.axes, localization(long), strict=True):
        assert axes.get_title() == panel.title
        check_lines(figure, axes, panel)
        same([b for b in bars_in(axes) if b[1] < b[2]], errors(panel))


def test_relearning(long, figures):
    for cell, figure in of_name(long, figures, "relearn"):
        for axes, panel in zip(figure.axes, cell.relearning(), strict=True):
            check_lines(figure, axes, panel)
            check_bands(figure, axes, panel, standard_error)


def test_supports(long, figures):
    for cell, figure in of_name(long, figures, "support-kl"):
        [panel] = cell.supports()["support-kl"]
        axes = figure.axes[0]
        check_lines(figure, axes, panel, dashed=False)
        floors = [(p.x, 0, p.chance) for [points] in [panel.lines.values()] for p in points]
        check_bands(figure, axes, panel, whole_range, floors)
        check_sizes(axes, cell)
        check_similarities(axes, cell)
    for cell, figure in of_name(long, figures, "support-accuracy"):
        for axes, panel in zip(figure.axes, cell.supports()["support-accuracy"], strict=True):
            check_lines(figure, axes, panel, dashed=False)
            check_bands(figure, axes, panel, whole_range)
            check_sizes(axes, cell)
        check_similarities(figure.axes[0], cell)
    for cell, figure in of_name(long, figures, "support-retrain"):
        left, right = cell.supports()["support-retrain"]
        for axes, panel in zip(figure.axes, (left, right), strict=True):
            check_lines(figure, axes, panel, dashed=False)
            check_bands(figure, axes, panel, whole_range)
            check_sizes(axes, cell)
            same(spans_in(axes), [panel.band])
        same([[y] for y in levels_in(figure.axes[1])], [[right.level]])


def check_sizes(axes, cell) -> None:
    """Compare the k of the runs, and that of `k: auto` and its range."""
    own, auto = (cell.values("ltd", f"support_{name}") for name in ("size", "auto"))
    assert levels_in(axes, "-", "x") == pytest.approx([mean(own)])
    assert levels_in(axes, ":", "x") == pytest.approx([mean(auto)])
    assert spans_in(axes, "x") == [pytest.approx((auto.min(), auto.max()))]
    labels = {
        line.get_linestyle(): line.get_label() for line in axes.lines if not is_data(axes, line)
    }
    assert labels["-"] == f"k of the runs: {span(own)}"
    assert labels[":"] == f"k: auto: {span(auto)}"


def check_similarities(axes, cell) -> None:
    """Compare what is written above: of every size, or of some where there are many."""
    [top] = axes.child_axes
    ticks = zip(top.get_xticks(), top.get_xticklabels(), strict=True)
    found, name = {int(x): label.get_text() for x, label in ticks}, "support_least_similarity"
    known = {int(k): mean(cell.values("ltd", name, at=k)) for k in cell.places("ltd", name)}
    assert found == {k: f"{known[k]:.2f}" for k in found}
    assert len(found) >= min(len(known), 5)


def test_what_one_step_costs(long, figures):
    for cell, figure in of_name(long, figures, "support-drop"):
        upper, lower = figure.axes
        low, high, drop = (cell.step(name) for name in ("bin_low", "bin_high", "drop"))
        edges = list(itertools.pairwise([*low.mean(axis=1), high[-1].mean()]))
        bars = boxes_in(with_bars(upper)["Mean over seeds"])
        means = [((left + right) / 2, top) for left, right, _, top in bars]
        same(means, [(sum(e) / 2, 100 * mean(v)) for e, v in zip(edges, drop, strict=True)])
        points = [line for line in upper.lines if line.get_linestyle() == "None"]
        single = [tuple(xy) for line in points for xy in line.get_xydata()]
        same(single, zip(((low + high) / 2).ravel(), 100 * drop.ravel(), strict=True))
        check_counts(lower, edges, cell.step("bin_count").mean(axis=1))
        for axes in (upper, lower):
            same(spans_in(axes, "x"), cell.taken())


# Other figures.


def test_affected_classes(long, figures):
    for cell, figure in of_name(long, figures, "affected"):
        [axes] = figure.axes
        bars = with_bars(axes)
        grey = bars.pop(NOISE_LABEL, None)
        assert list(bars) == list(cell.labels.values())
        wanted = [(-cell.chance(m), cell.chance(m)) for m in AFFECTED]
        same([box[2:] for box in boxes_in(grey)] if grey else [], wanted)
        texts = iter(axes.texts)
        for run, label in cell.labels.items():
            check_group(bars[label], cell, run, [next(texts) for _ in AFFECTED])
        titles = [tick.get_text().partition("\n")[0] for tick in axes.get_xticklabels()]
        assert titles == ["RA affected", "UA affected", "TA affected"]


def check_group(bars, cell, run, texts) -> None:
    for place, (box, text, p) in enumerate(
        zip(boxes_in(bars), texts, cell.affected(run), strict=True)
    ):
        height = cell.affected_mean(run, AFFECTED[place])
        assert box[2:] == pytest.approx((0, height), nan_ok=True)
        assert round(sum(box[:2]) / 2) == place
        written = "" if math.isnan(height) else f"{height:+.0f}".replace("-", "−")
        assert text.get_text() == (written if written.strip("+−") != "0" else "0")
        if p.error > 0:
            drawn = {round(x): ends for x, *ends in segments_of(bars.errorbar.lines[2][0])}
            assert drawn[place] == pytest.approx([height - p.error, height + p.error])


def test_classes(long, figures):
    for cell, figure in of_name(long, figures, "classes"):
        panels = {axes.get_title(): axes for axes in figure.axes if axes.get_visible()}
        assert list(panels) == list(cell.labels.values())
        for run, label in cell.labels.items():
            check_classes(panels[label], cell, run)


def check_classes(axes, cell, run) -> None:
    points = {name: p for name, p in cell.classes(run).items() if not math.isnan(p.x + p.y)}
    [marks] = [c for c in axes.containers if isinstance(c, ErrorbarContainer)]
    same(marks.lines[0].get_xydata(), [(p.x, p.y) for p in points.values()])
    intervals = [(p.x, p.y - p.half, p.y + p.half) for p in points.values()]
    same(segments_of(marks.lines[2][0]), intervals)
    [fit] = [line for line in axes.lines if line.get_label() == "Linear fit"]
    at = np.array([p.x for p in points.values()])
    same(fit.get_xydata(), zip(at, cell.fit(run)(at), strict=True))
    [grey] = [c for c in axes.collections if c.get_label() == NOISE_LABEL]
    same(segments_of(grey), [(p.x, -p.chance, p.chance) for p in points.values()])
    names = {t.get_text(): t.xy for t in axes.texts if isinstance(t, Annotation)}
    assert {*names} == {name.rpartition("_")[2] for name in points}
    for name, p in points.items():
        assert names[name.rpartition("_")[2]] == pytest.approx((p.x, p.y))
    [slope] = [t.get_text() for t in axes.texts if not isinstance(t, Annotation)]
    assert slope.splitlines()[0] == f"slope {cell.slope(run)}"


def test_teachers_of_other_seeds(long, figures):
    for cell, figure in of_name(long, figures, "teacher-noise"):
        [axes] = figure.axes
        known = {line.get_label(): line for line in axes.lines if line.get_linestyle() == "None"}
        for sweep in cell.table.plan.sweeps:
            if sweep.key == "teacher_seed":
                pairs = [
                    zip(cell.rate(r, "teacher_ua"), cell.rate(r, "ua"), strict=True)
                    for r in sweep.values
                ]
                same(known[sweep.method].get_xydata(), itertools.chain.from_iterable(pairs))
        same([[y] for y in levels_in(axes)], [[mean(cell.rate("retrain", "ua"))]])
        level, chance = mean(cell.rate("retrain", "ua")), cell.chance("ua")
        same(spans_in(axes), [(max(level - chance, 0), min(level + chance, 100))])


def test_trajectory(long, figures):
    for cell, figure in of_name(long, figures, "trajectory"):
        plane, course = figure.axes
        for run, label in cell.tracked.items():
            error, damage, gap = (
                cell.course(run, p) for p in ("forgetting_error", "damage", "avg_gap")
            )
            check_way(plane, cell, run, label, error, damage)
            if len(gap) > 1:
                check_way(course, cell, run, label, cell.seconds(run)[1:], gap[1:])
        check_anchors(plane, cell)
        limit = cell.chance_by_sd("damage", "retain")
        same(spans_in(plane), [(-limit, limit)])
        same(spans_in(course), [(0, 100 * cell.number("retrain", "floor", at="avg_gap"))])
        start = np.mean([cell.course(run, "avg_gap")[0] for run in cell.tracked])
        assert levels_in(course, ":") == pytest.approx([start])
        check_budgets(course, mean(cell.values("retrain", "rte")))


def check_way(axes, cell, run, label, x, y) -> None:
    """Compare a run's line, which is found by the colour of its name; beyond the axes, at them."""
    [name] = [t for t in axes.texts if t.get_text() == label and isinstance(t, Annotation)]
    x, y = np.clip(x, *axes.get_xlim()), np.clip(y, *axes.get_ylim())
    ways = [
        line
        for line in axes.lines
        if is_data(axes, line) and line.get_linestyle() not in ("None", "")
    ]
    own = [line for line in ways if to_hex(line.get_color()) == to_hex(name.get_color())]
    [line] = [
        line
        for line in own
        if len(line.get_xdata()) == len(x)
        and line.get_xydata() == pytest.approx(np.column_stack([x, y]), nan_ok=True)
    ]
    is_control = cell.kind(run) == "control"
    assert is_control or (line.get_linestyle() == "--") == (run in cell.table.plan.paced)


def check_anchors(plane, cell) -> None:
    ring, cross = (
        next(
            line.get_xydata()[0]
            for line in plane.lines
            if line.get_marker() == m and line.get_zorder() == z
        )
        for m, z in (("o", 5), ("P", 6))
    )
    assert tuple(cross) == (0, 0)
    parts = ("forgetting_error", "damage")
    start = [np.mean([cell.course(run, part)[0] for run in cell.tracked]) for part in parts]
    assert ring == pytest.approx(start)


def check_budgets(course, cost) -> None:
    assert levels_in(course, "--", "x") == pytest.approx([cost])
    least = course.get_xlim()[0]
    shares = {f"{share} %": share / 100 * cost for share in SHARES if share / 100 * cost > least}
    above = {
        t.get_text(): t.get_position()[0] for t in course.texts if not isinstance(t, Annotation)
    }
    assert above.pop("Original") == 0.02
    assert above == pytest.approx({"Retrain": cost, **shares})
    assert levels_in(course, "-", "x") == pytest.approx(list(shares.values()))


def test_the_names_of_retrain_and_of_the_base_stand_at_their_marks(long, figures):
    """Each is right above or below its own mark, which is nearer to it than the other's."""
    for _, figure in of_name(long, figures, "trajectory"):
        figure.draw_without_rendering()
        plane = figure.axes[0]
        marks = {
            name: plane.transData.transform(line.get_xydata()[0])
            for line in plane.lines
            for name, zorder in (("Original", 5), ("Retrain", 6))
            if line.get_zorder() == zorder
        }
        for name, other in (("Original", "Retrain"), ("Retrain", "Original")):
            [text] = [t for t in plane.texts if t.get_text() == name]
            box = super(Annotation, text).get_window_extent()
            assert distance(box, marks[name]) < distance(box, marks[other])
            assert distance(box, marks[name]) < 10 * figure.dpi / 72
            assert box.x0 <= marks[name][0] <= box.x1 + 1


def distance(box, place) -> float:
    across = max(box.x0 - place[0], place[0] - box.x1, 0)
    return math.hypot(across, max(box.y0 - place[1], place[1] - box.y1, 0))


def test_verdict(long, figures):
    for cell, figure in of_name(long, figures, "verdict"):
        [axes] = figure.axes
        marks = [c for c in axes.collections if isinstance(c, PathCollection)]
        named = {c.get_label(): c for c in marks if not len(c.get_offsets())}
        drawn = [c for c in marks if len(c.get_offsets())]
        wanted = cell.verdicts()
        assert {one.label for one in wanted} == {*named}
        intervals = []
        for one in wanted:
            [own] = [c for c in drawn if is_like(c, named[one.label])]
            check_mark(own, one, axes)
            intervals += [] if one.is_edge else [(own.get_offsets()[0][0], *one.ends)]
        lines = [c for c in axes.collections if isinstance(c, LineCollection)]
        same([s for c in lines for s in segments_of(c)], intervals)
        grey = [p for p in axes.patches if p.get_label() == NOISE_LABEL]
        (low, high), right = axes.get_ylim(), axes.get_xlim()[1] / 1.03
        same([box_of(patch) for patch in grey], [cell.corner(right, (high - low) / 1.06)])


def is_like(one, other) -> bool:
    """Tell whether two marks have one look."""
    paths = [c.get_paths()[0].vertices for c in (one, other)]
    colours = [(c.get_facecolor().tolist(), c.get_edgecolor().tolist()) for c in (one, other)]
    return colours[0] == colours[1] and paths[0].shape == paths[1].shape and np.allclose(*paths)


def check_mark(mark, one, axes) -> None:
    """Compare place and area; a run that collapsed is drawn no further than the others reach."""
    [(x, y)], [area] = mark.get_offsets(), mark.get_sizes()
    low, high = axes.get_ylim()
    room = 0.03 * (high - low) / 1.06
    right = axes.get_xlim()[1] / 1.03
    assert x == pytest.approx(min(one.error, right))
    assert y == pytest.approx(np.clip(one.damage, low + room, high - room))
    assert one.is_edge or (x, y) == pytest.approx((one.error, one.damage))
    assert area == pytest.approx(one.area)


def test_exposure(long, figures):
    for cell, figure in of_name(long, figures, "exposure"):
        changes, counts, forgotten = figure.axes
        runs = [r for r in cell.table.labels if cell.number(r, "exposure_models") > 0]
        edges = cell.edges("retain")
        drawn = {c.get_label(): c for c in changes.containers if isinstance(c, ErrorbarContainer)}
        assert list(drawn) == [cell.long.plan.labels[r] for r in runs]
        for run in runs:
            check_change(drawn[cell.long.plan.labels[run]], cell, run, edges)
        check_counts(
            counts,
            edges,
            [cell.number("retrain", "exposure_count", "retain", b) for b in range(10)],
        )
        names = [t.get_text() for t in forgotten.get_yticklabels()]
        for place, one in enumerate(forgotten.containers):
            run = next(r for r in runs if cell.long.plan.labels[r] == names[place])
            value, low, high = (
                cell.number(run, f"ulira_auc{e}", "forget") for e in ("", "_low", "_high")
            )
            assert one.lines[0].get_xydata()[0] == pytest.approx((value, place))
            [segment] = one.lines[2][0].get_segments()
            assert segment[:, 0] == pytest.approx((low, high))
        assert levels_in(forgotten, "--", "x") == pytest.approx(
            [cell.number("retrain", "lira_auc", "forget")]
        )
        assert levels_in(forgotten, "-", "x") == [0.5]


def check_change(drawn, cell, run, edges) -> None:
    values = [
        [cell.number(run, f"exposure_change{end}", "retain", b) for end in ("", "_low", "_high")]
        for b in range(len(edges))
    ]
    points = [Point(sum(e) / 2, np.array([v[0]])) for e, v in zip(edges, values, strict=True)]
    check_bins(drawn.lines[0].get_xydata().tolist(), points, edges)
    ends = [(low, high) for _, low, high in segments_of(drawn.lines[2][0])]
    same(ends, [v[1:] for v in values])


def test_theory():
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


def test_every_figure_is_compared(figures):
    compared = {
        "similarity",
        "epochs",
        "localization",
        "relearn",
        "affected",
        "classes",
        "exposure",
    }
    compared |= {"teacher-noise", "trajectory", "verdict", "support-kl", "support-accuracy"}
    compared |= {"support-retrain", "support-drop"}
    assert {name for _, name in figures if name[:6] != "sweep-"} <= compared
