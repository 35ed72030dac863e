"""Sentences of the page below its pictures in README and docs; docs/make_pictures.py keeps them."""

import json
from collections.abc import Iterable
from pathlib import Path

FILE = Path(__file__).parents[1] / "images" / "captions.json"


def sentences(pictures: Iterable[str]) -> dict[str, str]:
    """Return the sentence of each picture as a quotation, by its mark in a page."""
    known = json.loads(FILE.read_text(encoding="utf-8"))
    return {f"says {name}": f"> {known[name]}\n" for name in pictures}
