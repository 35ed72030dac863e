"""The page as a tree of elements, and its tables as fields with what they are called."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

VOID = {"br", "col", "hr", "img", "input", "link", "meta"}


@dataclass(eq=False)
class Element:
    """A tag, its attributes, and what is in it: texts and other elements."""

    tag: str
    attributes: dict[str, str]
    parent: Element | None = None
    children: list[Element | str] = field(default_factory=list)

    def walk(self) -> Iterator[Element]:
        """Yield the element and all elements in it, in the order of the page."""
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child.walk()

    def all(self, tag: str = "", kind: str = "", **attributes: str) -> list[Element]:
        """Return the elements in it of this tag and class, with these attributes."""
        wanted = {name.replace("_", "-"): value for name, value in attributes.items()}
        return [
            one
            for one in self.walk()
            if tag in ("", one.tag)
            and (not kind or kind in one.get("class").split())
            and wanted.items() <= one.attributes.items()
        ]

    def one(self, tag: str = "", kind: str = "", **attributes: str) -> Element:
        """Return the only such element."""
        [found] = self.all(tag, kind, **attributes)
        return found

    def get(self, name: str) -> str:
        """Return an attribute; empty where there is none."""
        return self.attributes.get(name, "")

    def above(self, holds: Callable[[Element], bool]) -> Element | None:
        """Return the nearest element around it of which this holds."""
        at: Element | None = self
        while at is not None and not holds(at):
            at = at.parent
        return at

    @property
    def text(self) -> str:
        """All text in it, with single blanks."""
        parts = (child if isinstance(child, str) else child.text for child in self.children)
        return re.sub(r"\s+", " ", "".join(parts)).strip(" ")

    @property
    def raw(self) -> str:
        """The text in it as it is written."""
        return "".join(child if isinstance(child, str) else child.raw for child in self.children)

    def json(self) -> Any:
        """Return the data in a script, which may be packed."""
        is_packed = "data-packed" in self.attributes
        packed = base64.b64decode(self.raw) if is_packed else b""
        return json.loads(zlib.decompress(packed) if is_packed else self.raw)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.at = Element("", {})

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        made = Element(tag, {name: value or "" for name, value in attrs}, self.at)
        self.at.children.append(made)
        if tag not in VOID:
            self.at = made

    def handle_endtag(self, tag: str) -> None:
        assert self.at.tag == tag, f"</{tag}> closes <{self.at.tag}>"
        assert self.at.parent is not None
        self.at = self.at.parent

    def handle_data(self, data: str) -> None:
        self.at.children.append(data)


def read_page(text: str) -> Element:
    """Return the root of a page's elements."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert reader.at.parent is None, f"<{reader.at.tag}> is not closed"
    return reader.at


Source = tuple[str, str, str, str]  # run, metric, set, at


@dataclass(frozen=True)
class Shown:
    """A field of a table on the page."""

    cell: str  # empty: of the tables over all cells
    table: str
    group: int  # of rows, which are sorted apart
    corner: str
    row: str
    note: str
    heading: str
    value: str
    deviation: str
    is_best: bool
    is_chance: bool
    order: float | None
    sources: tuple[Source, ...]
    of: str  # the cell of which a field over all cells is, or * for every one


def shown_in(page: Element) -> list[Shown]:
    """Return all fields of all tables that findings made, in the order of the page."""
    return [one for figure in page.all("figure", "table") for one in _fields(figure)]


def _fields(figure: Element) -> Iterator[Shown]:
    around = figure.above(lambda at: "data-cell" in at.attributes)
    cell = around.get("data-cell") if around else ""
    for table in figure.all("table"):
        corner, *headings = (one.text for one in table.one("thead").all("th"))
        for group, body in enumerate(table.all("tbody")):
            for row in body.all("tr"):
                label, note = _label(row.one("th"))
                fields = row.all("td")
                assert len(fields) == len(headings)
                for heading, one in zip(headings, fields, strict=True):
                    place = (cell, figure.get("data-name"), group, corner, label, note, heading)
                    yield Shown(*place, *_content(one))


def _label(heading: Element) -> tuple[str, str]:
    note = "".join(one.text for one in heading.all("small"))
    return heading.text.removesuffix(note).strip(), note


def _content(td: Element) -> tuple[Any, ...]:
    deviation = "".join(one.text for one in td.all("span", "deviation"))
    marks = td.all("sup")
    value = td.text.removesuffix("†" * len(marks)).removesuffix(deviation).strip()
    texts = [text for one in td.all("button") for text in _sources(one)]
    of = "".join(one.get("data-of") for one in td.all("button"))
    order = td.get("data-order").replace("Infinity", "inf")
    return (
        *(value, deviation, bool(td.all("", "best")), bool(marks)),
        *(float(order) if order else None, tuple(map(_source, texts)), of),
    )


def _sources(button: Element) -> list[str]:
    return [button.get("data-source"), *filter(None, button.get("data-also").split("\n"))]


def _source(text: str) -> Source:
    run, metric, of, at = text.split("|", 3)
    return run, metric, of, at
