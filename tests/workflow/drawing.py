"""The workflow as a picture: its rules in columns, from left to right, as an SVG."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from html import escape
from itertools import pairwise

Edge = tuple[str, str]
COLUMN, ROW, WIDTH, HEIGHT = 142, 50, 112, 34  # px, of boxes and from box to box
LEGEND = 40
SWEEPS = 12
# Dark words on light boxes, and grey that is seen on white and on black.
TORCH, LIGHT, INK, GREY = "#ffd8a8", "#a5d8ff", "#1b1f24", "#808080"
KINDS = {TORCH: "needs torch", LIGHT: "needs no torch"}


@dataclass
class Layered:
    """Nodes by column; an edge over several columns has a bend, a node of its own, in each."""

    columns: list[list[str]]
    ways: dict[Edge, list[str]] = field(default_factory=dict)  # from node to node over its bends

    def neighbours(self) -> dict[str, list[str]]:
        """Return what is directly before and after every node and bend."""
        found: dict[str, list[str]] = {node: [] for column in self.columns for node in column}
        for way in self.ways.values():
            for one, other in pairwise(way):
                found[one].append(other)
                found[other].append(one)
        return found


def draw(edges: set[Edge], words: Mapping[str, str], uses_torch: set[str]) -> str:
    """Return the picture; `words` are shown where the mouse rests on a rule."""
    layered = layers(reduced(edges))
    order(layered)
    places = _places(layered)
    right = COLUMN * (len(layered.columns) - 1) + WIDTH + 2
    lower = round(max(y for _, y in places.values())) + HEIGHT // 2 + LEGEND
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {right} {lower}" '
        f'width="{right}" height="{lower}" font-family="sans-serif" font-size="15">',
        "<title>The rules of the workflow</title>",
        *(_edge([places[node] for node in way]) for _, way in sorted(layered.ways.items())),
        *(_box(name, places[name], words[name], name in uses_torch) for name in sorted(words)),
        *_legend(lower - LEGEND // 2 + 4),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def reduced(edges: set[Edge]) -> set[Edge]:
    """Return the edges without those that follow from others."""
    after: dict[str, set[str]] = {}
    for one, other in edges:
        after.setdefault(one, set()).add(other)

    def reach(node: str) -> set[str]:
        return {n for near in after.get(node, ()) for n in (near, *reach(near))}

    return {
        (one, other)
        for one, other in edges
        if not any(other in reach(near) for near in after[one] - {other})
    }


def layers(edges: set[Edge]) -> Layered:
    """Put every node right of all that come before it, and what has nothing before it late."""
    depths = _depths(edges)
    columns: list[list[str]] = [[] for _ in range(max(depths.values()) + 1)]
    for node in sorted(depths):
        columns[depths[node]].append(node)
    layered = Layered(columns)
    for one, other in sorted(edges):
        bends = range(depths[one] + 1, depths[other])
        for place in bends:
            columns[place].append(f"{one}>{other}>{place}")
        layered.ways[one, other] = [one, *(f"{one}>{other}>{place}" for place in bends), other]
    return layered


def order(layered: Layered) -> None:
    """Sort each column by the mean place of what its nodes are tied to, forth and back."""
    ties = layered.neighbours()
    for sweep in range(SWEEPS):
        columns = layered.columns if sweep % 2 == 0 else layered.columns[::-1]
        heights = _heights(layered)
        for column in columns:
            means = {n: sum(heights[m] for m in ties[n]) / len(ties[n]) for n in column}
            column.sort(key=lambda n: (means[n], n))
            heights |= _heights(layered)


def _depths(edges: set[Edge]) -> dict[str, int]:
    before: dict[str, set[str]] = {}
    for one, other in edges:
        before.setdefault(one, set())
        before.setdefault(other, set()).add(one)
    depths: dict[str, int] = {}
    for node in TopologicalSorter(before).static_order():
        depths[node] = max((depths[n] + 1 for n in before[node]), default=0)
    for node in (n for n in before if not before[n]):
        depths[node] = min(depths[other] for one, other in edges if one == node) - 1
    return depths


def _heights(layered: Layered) -> dict[str, float]:
    """Return how far below the middle of its column every node is, in rows."""
    return {
        node: row - (len(column) - 1) / 2
        for column in layered.columns
        for row, node in enumerate(column)
    }


def _places(layered: Layered) -> dict[str, tuple[float, float]]:
    """Return the left end of every node, and its height."""
    heights = _heights(layered)
    top = min(heights.values())
    return {
        node: (1 + COLUMN * place, (heights[node] - top) * ROW + HEIGHT / 2 + 1)
        for place, column in enumerate(layered.columns)
        for node in column
    }


def _edge(points: list[tuple[float, float]]) -> str:
    """Return a smooth line from the right of the first box over bends to the left of the last."""
    path = ""
    for (x, y), (to_x, to_y) in pairwise(points):
        middle = (x + WIDTH + to_x) / 2
        path += f"M{x + WIDTH:g} {y:g}" if not path else f"H{x + WIDTH:g}"
        path += f"C{middle:g} {y:g} {middle:g} {to_y:g} {to_x:g} {to_y:g}"
    return f'<path d="{path}" fill="none" stroke="{GREY}" stroke-width="1.5"/>'


def _box(name: str, place: tuple[float, float], words: str, uses_torch: bool) -> str:
    x, y = place
    fill = TORCH if uses_torch else LIGHT
    return (
        f'<g id="{name}"><title>{escape(words)}</title>'
        f'<rect x="{x:g}" y="{y - HEIGHT / 2:g}" width="{WIDTH}" height="{HEIGHT}" rx="7" '
        f'fill="{fill}" stroke="{GREY}"/>'
        f'<text x="{x + WIDTH / 2:g}" y="{y + 5:g}" text-anchor="middle" fill="{INK}">'
        f"{name}</text></g>"
    )


def _legend(y: float) -> Iterator[str]:
    for number, (fill, words) in enumerate(KINDS.items()):
        x = 1 + number * COLUMN
        yield (
            f'<rect x="{x}" y="{y - 12:g}" width="16" height="16" rx="4" fill="{fill}" '
            f'stroke="{GREY}"/><text x="{x + 24}" y="{y + 1:g}" fill="{GREY}">{words}</text>'
        )
