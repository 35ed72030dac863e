"""A method as the config gives it: fixed values, values to tune over, and what they hash to."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from collateral.config.errors import ConfigError, Place, explain, key_of
from collateral.config.lookup import kind_of, params_class, prepare_class
from collateral.config.params import MethodParams


@dataclass(frozen=True)
class MethodSpec:
    """A configured method: `uses` is its folder, `name` its key in the config."""

    name: str
    uses: str
    fixed: Mapping[str, Any]
    grid: Mapping[str, tuple[Any, ...]]  # empty: nothing to tune

    @property
    def kind(self) -> str:
        """Return "method" or "control"."""
        return kind_of(self.uses)

    @property
    def label(self) -> str:
        """Return the name that tables and figures print."""
        label = params_class(self.uses).label
        return label if self.name == self.uses else f"{label} ({self.name})"

    def trials(self) -> list[dict[str, Any]]:
        """Return every combination of the tuned values, in the config's order."""
        return [dict(zip(self.grid, values, strict=True)) for values in self._products()]

    def params(self, overrides: Mapping[str, Any]) -> MethodParams:
        """Return validated parameters: defaults, fixed values, then `overrides`."""
        return params_class(self.uses).model_validate({**self.fixed, **overrides})

    def _products(self) -> itertools.product[tuple[Any, ...]]:
        return itertools.product(*self.grid.values())


def resolve(name: str, raw: Mapping[str, Any], where: Place) -> MethodSpec:
    """Validate a method's entry in the config; every combination of its values must hold."""
    uses = raw.get("uses", name)
    try:
        kind_of(uses)
    except ValueError as error:
        place = where if uses == name else (*where, "uses")
        raise ConfigError([f"{key_of(place)}: {error}"]) from None
    values = {key: value for key, value in raw.items() if key != "uses"}
    grid = {key: tuple(value) for key, value in values.items() if isinstance(value, list)}
    for key, choices in grid.items():
        if not choices:
            raise ConfigError([f"{key_of((*where, key))}: an empty list; give at least one value"])
    fixed = {key: value for key, value in values.items() if key not in grid}
    fixed |= {key: choices[0] for key, choices in grid.items() if len(choices) == 1}
    grid = {key: choices for key, choices in grid.items() if len(choices) > 1}
    spec = MethodSpec(name, uses, fixed, grid)
    for trial in spec.trials():
        validate(spec, trial, where)
    return spec


def validate(spec: MethodSpec, overrides: Mapping[str, Any], where: Place) -> MethodParams:
    """Return the parameters, or raise a ConfigError that names the key."""
    try:
        return spec.params(overrides)
    except ValidationError as error:
        raise ConfigError(explain(error, params_class(spec.uses), where)) from None


def prepare_values(name: str, params: MethodParams) -> dict[str, Any]:
    """Return the values that `prepare` may read."""
    prepare = prepare_class(name)
    assert prepare is not None, f"{name} has no Prepare"
    return params.model_dump(mode="json", include=set(prepare.model_fields))


def prepared_name(name: str, params: MethodParams) -> str:
    """Return the folder's name: equal Prepare values, equal folder."""
    values = json.dumps(prepare_values(name, params), sort_keys=True)
    return f"{name}-{hashlib.sha256(values.encode()).hexdigest()[:10]}"
