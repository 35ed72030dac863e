"""docs/images/workflow.svg: the graph of the rules in columns from left to right."""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from html import escape
from importlib import import_module
from itertools import pairwise
from pathlib import Path

from collateral.contract.data import ImageInfo

Edge = tuple[str, str]
ROOT = Path(__file__).resolve().parents[2]
# A config that needs every rule; it has no control, as only `ideal` reads Retrain.
CONFIG = """
benchmarks:
  drawn:
    data: {name: digits}
    model: resnet8
    seeds: [0]
    classes: [digit_3]
    fractions: [0.5]
    select: teacher
    methods:
      ft: {lr: [0.01, 0.1]}
      ltd: {k: [60, 100]}
    track: [ft]
    support_size: {k: [50, 100]}
    given: {theirs: {weights: "theirs-{seed}.safetensors"}}
    probe: [zrf]
    shadows: {count: 6}
"""
TARGETS = {"all", "paper"}  # Rules without a command.

COLUMN, ROW = 142, 50  # Distances between boxes in pixels.
WIDTH, HEIGHT = 112, 34  # Size of a box in pixels.
LEGEND = 40  # Height of the legend in pixels.
SWEEPS = 12  # Passes over the columns that reduce crossings of edges.
# Colours: dark text on light boxes; the grey is visible on white and on black.
TORCH, LIGHT, INK, GREY = "#ffd8a8", "#a5d8ff", "#1b1f24", "#808080"
KINDS = {TORCH: "needs torch", LIGHT: "needs no torch"}


def rule_graph() -> str:
    """Return the SVG of all rules of the workflow; needs snakemake and torch."""
    found, edges = rules(), rule_edges()
    missing = {*found} - {name for edge in edges for name in edge}
    assert not missing, f"CONFIG in {Path(__file__).name} does not use the rules {missing}"
    words = {name: text for name, (text, _) in found.items()}
    return draw(edges, words, {name for name, (_, uses_torch) in found.items() if uses_torch})


def rules() -> dict[str, tuple[str, bool]]:
    """Return the docstring of every rule and whether its environment has torch."""
    texts = [file.read_text() for file in sorted((ROOT / "workflow/rules").glob("*.smk"))]
    text = "\n".join(texts)
    found = dict(re.findall(r"^rule (\w+):\n((?:    .*\n|\n)+)", text, re.M))
    found |= {new: found[old] for old, new in re.findall(r"^use rule (\w+) as (\w+)", text, re.M)}
    return {
        name: (re.findall(r'"""(.*?)"""', body, re.S)[0], "envs/torch.yaml" in body)
        for name, body in found.items()
    }


def rule_edges() -> set[Edge]:
    """Return the pairs of rules where the first makes an input of the second, by Snakemake."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "drawn.yaml").write_text(CONFIG, encoding="utf-8")
        write_weights(Path(folder, "theirs-0.safetensors"))
        command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile")]
        command += ["--directory", folder, "--configfile", str(Path(folder, "drawn.yaml"))]
        done = subprocess.run(
            [*command, "--rulegraph"], cwd=ROOT, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
    names = dict(re.findall(r'^\s*(\d+)\[label = "(\w+)"', done.stdout, re.M))
    pairs = re.findall(r"^\s*(\d+) -> (\d+)", done.stdout, re.M)
    return {(names[a], names[b]) for a, b in pairs if not TARGETS & {names[a], names[b]}}


def write_weights(path: Path) -> None:
    """Write weights that fit the model of CONFIG; torch is imported only here."""
    build = import_module("collateral.models._build").build_model
    info = ImageInfo(num_classes=10, shape=(8, 8, 1), mean=(0.5,), std=(0.5,))
    import_module("safetensors.torch").save_file(build("resnet8", info).state_dict(), path)


@dataclass
class Layered:
    """Nodes by column; an edge that skips columns has an extra node, a bend, in each of them."""

    columns: list[list[str]]
    ways: dict[Edge, list[str]] = field(default_factory=dict)  # Nodes and bends along each edge.

    def neighbours(self) -> dict[str, list[str]]:
        """Return the direct neighbours of every node and bend."""
        found: dict[str, list[str]] = {node: [] for column in self.columns for node in column}
        for way in self.ways.values():
            for one, other in pairwise(way):
                found[one].append(other)
                found[other].append(one)
        return found


def draw(edges: set[Edge], words: Mapping[str, str], uses_torch: set[str]) -> str:
    """Return the SVG; `words` are the tooltips of the rules."""
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
    """Return the transitive reduction of a set of edges."""
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
    """Place each node right of its predecessors, and sources one column before their use."""
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
    """Sort each column by the mean height of the neighbours, in alternating directions."""
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
    """Return the distance of every node below the middle of its column, in rows."""
    return {
        node: row - (len(column) - 1) / 2
        for column in layered.columns
        for row, node in enumerate(column)
    }


def _places(layered: Layered) -> dict[str, tuple[float, float]]:
    """Return the left end and the middle height of every node in pixels."""
    heights = _heights(layered)
    top = min(heights.values())
    return {
        node: (1 + COLUMN * place, (heights[node] - top) * ROW + HEIGHT / 2 + 1)
        for place, column in enumerate(layered.columns)
        for node in column
    }


def _edge(points: list[tuple[float, float]]) -> str:
    """Return an SVG path from the first box over the bends to the last box."""
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
