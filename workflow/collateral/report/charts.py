"""Charts of the page: the Vega libraries as one script, and the charts' data in a compact form."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import vl_convert

from collateral.plots.page import Chart

PLACEHOLDER = '<script id="library"></script>'  # replaced by the script of the Vega libraries


def insert_library(page: str) -> str:
    """Insert the Vega libraries into the page."""
    return page.replace(PLACEHOLDER, f"<script>{_library()}</script>", 1)


@cache
def _library() -> str:
    """Return the script that defines `vegaEmbed`."""
    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return script.replace("</script", r"<\/script")


def encode_chart(chart: Chart) -> dict[str, Any]:
    """Return a chart in a compact form: its data by column, each Vega channel only once."""
    channels: dict[str, int] = {}
    panels = [
        {**panel, "layer": [_replace_channels(layer, channels) for layer in panel["layer"]]}
        for panel in chart.spec["concat"]
    ]
    spec = {**chart.spec, "concat": panels}
    found = [json.loads(text) for text in channels]
    return {"spec": spec, "channels": found, "columns": _columns(chart.rows)}


def _replace_channels(layer: Mapping[str, Any], channels: dict[str, int]) -> dict[str, Any]:
    """Replace each channel of a layer by its index in `channels`; add a new channel to them."""
    numbers = {
        name: channels.setdefault(json.dumps(channel), len(channels))
        for name, channel in layer.get("encoding", {}).items()
    }
    return {**layer, "encoding": numbers}


def _columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: _column([row.get(name) for row in rows]) for name in names}


def _column(values: list[Any]) -> dict[str, Any]:
    """Return a column as distinct values and an index per row, if that is shorter."""
    known = list(dict.fromkeys(values))
    if 2 * len(known) > len(values):
        return {"is": values}
    index = {value: at for at, value in enumerate(known)}
    return {"of": known, "at": [index[value] for value in values]}
