"""What the rules share: the grid by wildcards, and the fingerprint of a stage's code."""

import json
from functools import cache

from collateral.config.lookup import module_of as method_module
from collateral.core.fingerprint import fingerprint
from collateral.models.names import NAMES as MODEL_MODULES


@cache
def code_of(stage, *modules):
    """Return the fingerprint of a stage and of the modules that it will look up by name."""
    return fingerprint([f"collateral.stages.{stage}", *modules])


def benchmark_of(w):
    return GRID[w.benchmark]


def model_module(w):
    return MODEL_MODULES[benchmark_of(w).config.model]


def run_of(w):
    return benchmark_of(w).cells[w.cell].runs[w.run]


def as_json(value):
    return json.dumps(value, sort_keys=True)


def plugins():
    """Return the option that names folders of plug-ins, or nothing."""
    return " ".join(["--plugins", *map(str, CONFIG.plugins)]) if CONFIG.plugins else ""

