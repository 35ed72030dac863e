"""Every chart of the page shows what the long table says, hovering too; a switch acts in all.

Charts are read from their specification and rows as Vega draws them, and what they must show is
worked out from the rows of metrics.csv and costs.csv (expected_pictures.py).
"""

import itertools
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import vl_convert
from chart_reading import Mark, marks_of
from expected_pictures import (
    AFFECTED,
    MEASURES,
    SETS,
    SHARES,
    Long,
    Panel,
    Point,
    digits,
    localization,
    mean,
    points_said,
    said,
    span,
)
from matplotlib.colors import to_hex
from unlike_benchmark import write_unlike

from collateral.contract.charts import Chart
from collateral.findings._shared.style import looks

KEPT = Path(__file__).parents[2] / "docs" / "data"
BENCHMARKS = ("unlike", "cifar-small", "cifar-teacher")
ROUNDED = {"rel": 6e-5, "abs": 1e-9}  # five digits


@pytest.fixture(scope="module", params=BENCHMARKS)
def long(request, tmp_path_factory):
    """A benchmark of numbers all unlike, and the results that docs keep."""
    if request.param != "unlike":
        return Long(KEPT / request.param)
    return Long(write_unlike(tmp_path_factory.mktemp("benchmark") / "unlike"))


@pytest.fixture(scope="module")
def charts(long):
    """All charts: by cell and name; the cell of those over all cells is None."""
    over_all = long.drawn("chart", "charts_across", long.table)
    found = {(None, name): chart for name, chart in over_all.items()}
    for cell in long.cells:
        drawn = long.drawn("chart", "charts", cell.table)
        found |= {(cell.name, name): chart for name, chart in drawn.items()}
    return found


def of_name(long, charts, name):
    """Yield every cell's chart of a name."""
    for cell in long.cells:
        if (cell.name, name) in charts:
            yield cell, charts[cell.name, name]


def same(drawn, expected) -> None:
    """Compare rows of numbers and texts, whatever their order; what is no number is not drawn."""
    found, wanted = (
        sorted((tuple(row) for row in rows if not any(_is_none(one) for one in row)), key=_order)
        for rows in (drawn, expected)
    )
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        texts = [[v for v in row if isinstance(v, str)] for row in (one, other)]
        numbers = [[float(v) for v in row if not isinstance(v, str)] for row in (one, other)]
        assert texts[0] == texts[1]
        assert numbers[0] == pytest.approx(numbers[1], **ROUNDED)


def _is_none(value) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _order(row):
    return [one if isinstance(one, str) else f"{float(one):+012.4f}" for one in row]


def at(mark: Mark, *channels: str) -> list:
    return [mark.at.get(channel) for channel in channels]


def of_runs(marks):
    """Return those that are a run's."""
    return [m for m in marks if "label" in m.datum]


# Charts of lines.


def check_panel(chart: Chart, panel: Panel, place: int, across: str) -> None:
    """Compare lines, dots, intervals, rings, what hovering says, Retrain's level and the grey."""
    drawn = {kind: of_runs(marks_of(chart, kind, panel=place)) for kind in KINDS}
    low, high = drawn["circle"][0].domain["y"]
    points = [(label, p) for label, p in panel.points() if label in panel.lines]
    places = [(label, p.x, np.clip(p.y, low, high)) for label, p in points]
    for kind in ("circle", "line"):
        same([(m.datum["label"], *at(m, "x", "y")) for m in drawn[kind]], places)
    same(
        [(m.datum["label"], *at(m, "x", "y", "y2")) for m in drawn["area"]],
        [
            (label, p.x, *np.clip([p.y - p.half, p.y + p.half], low, high))
            for label, p in points
            if len(p.known) > 2
        ],
    )
    same([at(m, "x", "y") for m in drawn["point"]], [(p.x, p.y) for _, p in points if p.is_own])
    check_hover(drawn["circle"], panel, across)
    constant = [m for m in marks_of(chart, "rule", "rect", panel=place) if "y" in m.at]
    same([at(m, "y") for m in constant if m.kind == "rule"], [[panel.level]])
    same([at(m, "y", "y2") for m in constant if m.kind == "rect"], [panel.band])


KINDS = ("circle", "line", "area", "point")


def check_hover(dots, panel: Panel, across: str) -> None:
    unit, form = f" {panel.unit}" if panel.unit else "", digits(panel.unit)
    wanted = [
        (
            label,
            panel.title,
            p.x,
            p.said(form, unit),
            said(p.chance, math.nan, math.nan, form, unit),
            len(p.known),
        )
        for label, p in panel.points()
    ]
    names = ("method", "of", across, "mean", "chance, ±", "seeds")
    known = [m for m in dots if m.at.get("y") is not None]
    assert all({*m.hover} == {*names} for m in known)
    same([[m.hover[name] for name in names] for m in known], wanted)


def sound_means(cell, panel: Panel):
    """Return the means of the runs that set the scale."""
    lost = {*cell.lost} | {run for run in cell.labels if cell.number(run, "verdict") == 0}
    return [p.y for label, p in panel.points() if panel.runs.get(label) not in lost]


def test_epochs(long, charts):
    for cell, chart in of_name(long, charts, "epochs"):
        for place, panel in enumerate(cell.epochs()):
            check_panel(chart, panel, place, "epoch")
            low, high = marks_of(chart, "circle", panel=place)[0].domain["y"]
            assert all(low <= y <= high for y in sound_means(cell, panel))


def test_sweeps(long, charts):
    for cell in long.cells:
        wanted = [(s, *one) for s in cell.table.plan.sweeps for one in cell.swept(s).items()]
        drawn = {name for where, name in charts if where == cell.name and name[:6] == "sweep-"}
        assert drawn == {name for _, name, _ in wanted}
        for sweep, name, panels in wanted:
            for place, panel in enumerate(panels):
                check_panel(charts[cell.name, name], panel, place, sweep.key)


def test_localization(long, charts):
    for place, panel in enumerate(localization(long)):
        check_panel(charts[None, "localization"], panel, place, "nearest, %")


def test_supports(long, charts):
    for cell in long.cells:
        for name, panels in cell.supports().items() if (cell.name, "support-kl") in charts else ():
            chart = charts[cell.name, name]
            if name == "support-kl":
                panels = [with_floors(panels[0])]
            for place, panel in enumerate(panels):
                check_panel(chart, panel, place, "k")
                check_sizes(chart, cell, place)


def with_floors(panel: Panel) -> Panel:
    """Return the panel with the line of two seeds' teachers."""
    [points] = panel.lines.values()
    floors = [Point(p.x, np.array([p.chance])) for p in points]
    return replace(panel, lines={**panel.lines, "two seeds' teachers of one k": floors})


def check_sizes(chart, cell, place) -> None:
    own, auto = (cell.values("ltd", f"support_{name}") for name in ("size", "auto"))
    lines = [m for m in marks_of(chart, "rule", "rect", panel=place) if "x" in m.at]
    dash = {tuple(m.look["strokeDash"]): m.at["x"] for m in lines if m.kind == "rule"}
    assert dash == pytest.approx({(2, 3): mean(auto), (1, 0): mean(own)})
    same([at(m, "x", "x2") for m in lines if m.kind == "rect"], [(auto.min(), auto.max())])
    assert f"the k of the runs ({span(own)})" in chart.caption
    assert f"what k: auto takes ({span(auto)})" in chart.caption


def test_similarity(long, charts):
    for cell, chart in of_name(long, charts, "similarity"):
        names = itertools.product(MEASURES, SETS)
        for panel, (metric, name) in zip(cell.similarity(), names, strict=True):
            place = MEASURES[metric], SETS[name]
            check_bins(cell, chart, panel, place, name)
            low, high = marks_of(chart, "circle", panel=place)[0].domain["y"]
            assert all(low <= y <= high for y in sound_means(cell, panel))


def check_bins(cell, chart, panel: Panel, place, name) -> None:
    drawn = {k: of_runs(marks_of(chart, k, panel=place)) for k in ("circle", "line", "rule")}
    points = list(panel.points())
    low, high = scales_of(cell)[MEASURES_OF[place[0]]]
    for kind in ("circle", "line"):
        same(
            [(m.datum["label"], *at(m, "x", "y")) for m in drawn[kind]],
            [(label, p.x, np.clip(p.y, low, high)) for label, p in points],
        )
    ends = [(label, p.x, *np.clip([p.y - p.half, p.y + p.half], low, high)) for label, p in points]
    same([(m.datum["label"], *at(m, "x", "y", "y2")) for m in drawn["rule"]], ends)
    counts = [
        mean(cell.values("retrain", "bin_count", name, b)) for b in range(len(cell.edges(name)))
    ]
    of_bin = dict(zip([p.x for p in next(iter(panel.lines.values()))], counts, strict=True))
    same(
        [
            (*(m.hover[n] for n in BIN), m.at["opacity"])
            for m in drawn["circle"]
            if "y" in m.at and m.at["y"] is not None
        ],
        [
            (
                label,
                p.said("+.1f", " points"),
                points_said(p.chance),
                len(p.known),
                f"{of_bin[p.x]:.0f}",
                0.3 if of_bin[p.x] < 5 else 1.0,
            )
            for label, p in points
        ],
    )
    grey = [at(m, "x", "x2", "y", "y2") for m in marks_of(chart, "rect", panel=place)]
    chances = [p.chance for p in next(iter(panel.lines.values()))]
    same(grey, [(*e, -c, c) for e, c in zip(cell.edges(name), chances, strict=True)])
    assert [m.at["y"] for m in marks_of(chart, "rule", panel=place) if "label" not in m.datum] == [
        0
    ]


BIN = ("method", "difference", "chance, ±", "seeds", "examples")
MEASURES_OF = {title: metric for metric, title in MEASURES.items()}


def scales_of(cell):
    """Return how far the runs reach that set the scale, by measure, and five points at least."""
    found = {}
    for metric, panels in itertools.groupby(
        zip(itertools.product(MEASURES, SETS), cell.similarity(), strict=True),
        key=lambda one: one[0][0],
    ):
        means = [y for _, panel in panels for y in sound_means(cell, panel)]
        low, high = min([*means, -5.0]), max([*means, 5.0])
        found[metric] = low - 0.05 * (high - low), high + 0.05 * (high - low)
    return found


# Other charts.


def test_affected_classes(long, charts):
    for cell, chart in of_name(long, charts, "affected"):
        bars = of_runs(marks_of(chart, "bar"))
        low, high = bars[0].domain["y"]
        wanted, hover, ends = [], [], []
        for run, label in cell.labels.items():
            for metric, p in zip(AFFECTED, cell.affected(run), strict=True):
                height, title = cell.affected_mean(run, metric), title_of(cell, metric)
                said_of = said(height, height - p.half, height + p.half, "+.1f", " points")
                wanted.append((label, title, np.clip(height, low, high)))
                chance = points_said(p.chance)
                hover.append((label, title, said_of, chance, len(p.known)))
                ends.append((label, title, *np.clip([height - p.half, height + p.half], low, high)))
        same([(m.at["xOffset"], *at(m, "x", "y")) for m in bars], wanted)
        names = ("method", "of", "difference", "chance, ±", "seeds")
        same([[m.hover[n] for n in names] for m in bars], hover)
        same(
            [(m.at["xOffset"], *at(m, "x", "y", "y2")) for m in of_runs(marks_of(chart, "rule"))],
            ends,
        )
        grey = [at(m, "x", "y", "y2") for m in marks_of(chart, "bar") if "label" not in m.datum]
        bounds = [
            (title_of(cell, m), min(cell.chance(m), max(-low, high)))
            for m in AFFECTED
            if not math.isnan(cell.chance(m))
        ]
        same(grey, [(title, -bound, bound) for title, bound in bounds])


def title_of(cell, metric) -> str:
    lost = np.isnan(cell.values("retrain", metric)).all()
    return f"{metric[:2].upper()} affected" + ("\n(undefined)" if lost else "")


def test_classes(long, charts):
    for cell, chart in of_name(long, charts, "classes"):
        for run, label in cell.labels.items():
            check_classes(cell, chart, run, label)


def check_classes(cell, chart, run, label) -> None:
    place = f"{label}, slope {cell.slope(run)}"
    points = {n: p for n, p in cell.classes(run).items() if not math.isnan(p.x + p.y)}
    marks = {k: marks_of(chart, k, panel=place) for k in ("circle", "line", "text")}
    same(
        [(m.hover["class"], *at(m, "x", "y")) for m in marks["circle"]],
        [(n, p.x, p.y) for n, p in points.items()],
    )
    same(
        [(*at(m, "x", "y"), m.at["text"]) for m in marks["text"]],
        [(p.x, p.y, n.rpartition("_")[2]) for n, p in points.items()],
    )
    fit = cell.fit(run)
    same([at(m, "x", "y") for m in marks["line"]], [(p.x, fit(p.x)) for p in points.values()])
    bars = [m for m in marks_of(chart, "rule", panel=place) if "x" in m.at]
    own = [at(m, "x", "y", "y2") for m in bars if m.look.get("strokeWidth") != 8]
    same(own, [(p.x, *np.clip([p.y - p.half, p.y + p.half], -105, 105)) for p in points.values()])
    grey = [at(m, "x", "y", "y2") for m in bars if m.look.get("strokeWidth") == 8]
    same(grey, [(p.x, -p.chance, p.chance) for p in points.values()])
    names = ("method", "class", "similarity", "loss", "chance, ±", "seeds")
    same(
        [[m.hover[n] for n in names] for m in marks["circle"]],
        [
            (
                label,
                n,
                p.x,
                p.said("+.1f", " points"),
                points_said(p.chance),
                len(cell.seeds),
            )
            for n, p in points.items()
        ],
    )


def test_teachers_of_other_seeds(long, charts):
    for cell, chart in of_name(long, charts, "teacher-noise"):
        chance, level, wanted = cell.chance("ua"), mean(cell.rate("retrain", "ua")), []
        for sweep in (s for s in cell.table.plan.sweeps if s.key == "teacher_seed"):
            for run in sweep.values:
                both = zip(
                    cell.seeds, cell.rate(run, "teacher_ua"), cell.rate(run, "ua"), strict=True
                )
                wanted += [
                    (
                        sweep.method,
                        int(seed),
                        x,
                        y,
                        f"{y:.1f} %",
                        said(chance, math.nan, math.nan, ".1f", " %"),
                    )
                    for seed, x, y in both
                ]
        dots = marks_of(chart, "circle")
        same(
            [
                (
                    m.hover["method"],
                    m.hover["seed"],
                    *at(m, "x", "y"),
                    m.hover["UA"],
                    m.hover["chance, ±"],
                )
                for m in dots
            ],
            wanted,
        )
        same([at(m, "y") for m in marks_of(chart, "rule")], [[level]])
        same(
            [at(m, "y", "y2") for m in marks_of(chart, "rect")], [(level - chance, level + chance)]
        )
        assert all(m.at["x"] == m.at["y"] for m in marks_of(chart, "line"))


def test_trajectory(long, charts):
    for cell, chart in of_name(long, charts, "trajectory"):
        plane, course, hover = [], [], []
        ends = {
            (p, c): marks_of(chart, "circle", panel=p)[0].domain.get(c)
            for p, c in ((0, "x"), (0, "y"), (1, "y"))
        }
        floor = points_said(cell.chance("avg_gap"))
        for run, label in cell.tracked.items():
            error, damage, gap = (
                cell.course(run, p) for p in ("forgetting_error", "damage", "avg_gap")
            )
            seconds, texts = cell.seconds(run), []
            for values in (gap, error, damage):
                texts.append([said(v, math.nan, math.nan, ".1f", " points") for v in values])
            for k, (e, d, g, s) in enumerate(zip(error, damage, gap, seconds, strict=True)):
                plane.append((label, k, np.clip(e, *ends[0, "x"]), np.clip(d, *ends[0, "y"])))
                course += [(label, k, s, np.clip(g, *ends[1, "y"]))] if k and s > 0 else []
                hover.append(
                    (label, k, *(t[k] for t in texts), f"{s:.3g} s", floor, len(cell.seeds))
                )
        names = (
            "method",
            "epoch",
            "average gap",
            "forgetting error",
            "damage",
            "time",
            "chance, ±",
            "seeds",
        )
        for kind in ("line", "circle"):
            for panel, wanted in ((0, plane), (1, course)):
                drawn = marks_of(chart, kind, panel=panel)
                same(
                    [(m.datum["label"], m.datum["epoch"], *at(m, "x", "y")) for m in drawn], wanted
                )
        for panel, wanted in (
            (0, hover),
            (1, [h for h in hover if h[:2] in [c[:2] for c in course]]),
        ):
            dots = marks_of(chart, "circle", panel=panel)
            same([[m.hover[n] for n in names] for m in dots], wanted)
        dashed = {m.datum["run"] for m in marks_of(chart, "line") if m.at["strokeDash"] == [4, 3]}
        assert dashed == {*cell.table.plan.paced} & {*cell.tracked}
        check_budgets(chart, cell)


def check_budgets(chart, cell) -> None:
    [cross] = marks_of(chart, "point", panel=0)
    assert at(cross, "x", "y") == [0, 0]
    cost = mean(cell.values("retrain", "rte"))
    lines = [(m.at["x"], m.look["strokeDash"] == [4, 4]) for m in marks_of(chart, "rule", panel=1)]
    same(lines, [*((share / 100 * cost, False) for share in SHARES), (cost, True)])
    assert ", ".join(map(str, SHARES)) in chart.caption


def test_verdict(long, charts):
    for cell, chart in of_name(long, charts, "verdict"):
        marks, wanted = marks_of(chart, "point"), cell.verdicts()
        right, (low, high) = marks[0].domain["x"][1] / 1.03, marks[0].domain["y"]
        places = {o.label: (min(o.error, right), np.clip(o.damage, low, high)) for o in wanted}
        same(
            [(m.datum["label"], *at(m, "x", "y", "size")) for m in marks],
            [(one.label, *places[one.label], one.area) for one in wanted],
        )
        names = ("method", "forgetting error", "damage", "chance, ±", "time", "seeds")
        same([[m.hover[n] for n in names] for m in marks], [judged(cell, one) for one in wanted])
        rules = [m for m in marks_of(chart, "rule") if "label" in m.datum]
        same(
            [(m.datum["label"], *at(m, "x", "y", "y2")) for m in rules if "x2" not in m.at],
            [(o.label, places[o.label][0], *o.ends) for o in wanted if not o.is_edge],
        )
        check_names(chart, places, [m for m in rules if "x2" in m.at])
        boxes = [at(m, "x", "x2", "y", "y2") for m in marks_of(chart, "rect")]
        same(boxes, [cell.corner(right, high - low)])


def judged(cell, one):
    """Return what hovering says of a run."""
    damage = said(one.damage, *one.ends, "+.1f", " points")
    time = "–" if math.isnan(one.price) else f"{one.price:.1%} of Retrain's"
    known = np.count_nonzero(~np.isnan(one.damages))
    return (
        one.label,
        points_said(one.error),
        damage,
        points_said(cell.chance_by_sd("damage", "retain")),
        time,
        known,
    )


def check_names(chart, places, ties) -> None:
    """Compare who is named; a tie leads from a run's mark to its own name."""
    names = {m.at["text"]: at(m, "x", "y") for m in marks_of(chart, "text")}
    assert {*names} == {*places}
    for tie in ties:
        label = tie.datum["label"]
        assert at(tie, "x", "y", "x2", "y2") == pytest.approx(
            [*places[label], *names[label]], **ROUNDED
        )


def test_what_one_step_costs(long, charts):
    for cell, chart in of_name(long, charts, "support-drop"):
        low, high, drop = (cell.step(name) for name in ("bin_low", "bin_high", "drop"))
        edges = list(zip(low.mean(axis=1), high.mean(axis=1), strict=True))
        points = [Point(sum(e) / 2, 100 * d) for e, d in zip(edges, drop, strict=True)]
        bars = [m for m in marks_of(chart, "rect") if m.hover]
        wanted = [(*e, 0, p.y) for e, p in zip(edges, points, strict=True)]
        same([at(m, "x", "x2", "y2", "y") for m in bars], wanted)
        counts = cell.step("bin_count").mean(axis=1)
        same(
            [[m.hover[n] for n in ("loss", "examples", "seeds")] for m in bars],
            [
                (p.said("+.1f", " points"), f"{n:.0f}", len(p.known))
                for p, n in zip(points, counts, strict=True)
            ],
        )
        single = zip(((low + high) / 2).ravel(), 100 * drop.ravel(), strict=True)
        same([at(m, "x", "y") for m in marks_of(chart, "circle")], single)
        tints = [at(m, "x", "x2") for m in marks_of(chart, "rect") if not m.hover]
        same(tints, cell.taken())


def test_every_chart_is_compared(charts):
    compared = {"similarity", "epochs", "localization", "affected", "classes", "teacher-noise"}
    compared |= {"trajectory", "verdict", "support-kl", "support-accuracy", "support-retrain"}
    assert {name for _, name in charts if name[:6] != "sweep-"} <= compared | {"support-drop"}


def test_a_method_has_the_colour_of_print_in_every_chart(long, charts):
    runs = {label: run for run, label in long.plan.labels.items()}
    for (name, _), chart in charts.items():
        cells = [cell for cell in long.cells if name in (None, cell.name)]
        known = {run: look for cell in cells for run, look in looks(cell.table).items()}
        for label, colour in colours_in(chart.spec):
            run = runs.get(label.removesuffix("'s teacher"))
            assert run not in known or colour == to_hex(known[run].colour), (name, label)


def colours_in(part):
    """Yield every label and its colour, of all scales of colours in a specification."""
    if isinstance(part, dict) and "color" in part:
        scale = part["color"].get("scale", {}) if isinstance(part["color"], dict) else {}
        yield from zip(scale.get("domain", []), scale.get("range", []), strict=True)
    children = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    for child in children:
        yield from colours_in(child)


# Switches.


def svg(chart: Chart, hidden=(), without=()) -> str:
    """Draw a chart with Vega: with runs switched off, or without rows of runs."""
    rows = [row for row in chart.rows if row.get("run") not in without]
    params = [
        {**one, "value": list(hidden)} if one["name"] == "hidden" else one
        for one in chart.spec["params"]
    ]
    datasets = {**chart.spec.get("datasets", {}), "rows": rows}
    drawn = vl_convert.vegalite_to_svg({**chart.spec, "params": params, "datasets": datasets})
    return re.sub(r"clip\d+", "clip", drawn)  # they are numbered on from chart to chart


def test_a_switch_acts_in_every_layer_of_every_chart(charts):
    """A chart without a method is that of the rows without it, as Vega draws them."""
    for (cell, name), chart in charts.items():
        runs = dict.fromkeys(row["run"] for row in chart.rows if "run" in row)
        run = list(runs)[len(name) % len(runs)]
        assert svg(chart, hidden=[run]) == svg(chart, without=[run]), (cell, name)
        assert svg(chart, hidden=[run]) != svg(chart), (cell, name)
