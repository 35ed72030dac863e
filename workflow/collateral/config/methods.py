"""A method in the config, with its fixed parameters and its parameters to tune."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from collateral.config.errors import ConfigError, Place, Problem, find_errors
from collateral.contract.params import MethodParams
from collateral.plugins.find import CONTROL, METHOD, method_kind, params_class

MOST_TRIALS = 10_000  # maximum number of combinations of the values of one method


@dataclass(frozen=True)
class MethodSpec:
    """A method in the config: `name` is its key, `uses` is the folder name of its code."""

    name: str
    uses: str
    fixed: Mapping[str, Any]
    # Dict from tuned parameter to the values to try; empty if nothing is tuned.
    grid: Mapping[str, tuple[Any, ...]]

    @property
    def kind(self) -> str:
        """Kind of the method: "method" or "control"."""
        return method_kind(self.uses).what

    @property
    def label(self) -> str:
        """Name of the method in tables and figures."""
        label = params_class(self.uses).label
        return label if self.name == self.uses else f"{label} ({self.name})"

    def trials(self) -> list[dict[str, Any]]:
        """Return every combination of the tuned values, in the order of the config."""
        combinations = itertools.product(*self.grid.values())
        return [dict(zip(self.grid, values, strict=True)) for values in combinations]

    def default_trial(self) -> dict[str, Any] | None:
        """Return the default values of the tuned parameters.

        None if a parameter has no default, or if the defaults contradict the fixed values.
        """
        try:
            own = self.params({}).model_dump(mode="json")
        except ValidationError:
            return None
        return {name: own[name] for name in self.grid}

    def params(self, overrides: Mapping[str, Any]) -> MethodParams:
        """Return validated parameters; `overrides` replace fixed values, which replace defaults."""
        return params_class(self.uses).model_validate({**self.fixed, **overrides})

    def values(self, overrides: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
        """Return all parameters of the first trial, changed by `overrides`, as JSON types."""
        return self.params({**self.trials()[0], **overrides}).model_dump(mode="json")


def resolve(name: str, raw: Mapping[str, Any], where: Place) -> MethodSpec:
    """Validate a method entry of the config; every combination of its values must be valid."""
    uses = raw.get("uses", name)
    _check_names(name, uses, where)
    lists = {
        key: value if isinstance(value, list) else [value]
        for key, value in raw.items()
        if key != "uses"
    }
    if empty := [key for key, choices in lists.items() if not choices]:
        text = "an empty list; give at least one value"
        raise ConfigError(((*where, key), text) for key in empty)
    spec = _spec(name, uses, lists)
    if (count := prod(map(len, spec.grid.values()))) > MOST_TRIALS:
        raise ConfigError([(where, f"its lists make {count} trials; at most {MOST_TRIALS}")])
    tried = [{**spec.fixed, **trial} for trial in spec.trials()]
    found = (one for given in tried for one in find_errors(params_class(uses), given, where))
    if problems := dict.fromkeys(found):
        raise ConfigError(problems)
    # Find repeated values after validation, which converts values: the text '7' becomes 7.
    exact = {
        key: [spec.values({key: value})[key] for value in choices] for key, choices in lists.items()
    }
    for key, choices in exact.items():
        if any(value in choices[:index] for index, value in enumerate(choices)):
            raise ConfigError([((*where, key), f"{choices}: a value stands there twice")])
    return _spec(name, uses, exact)


def method_errors(name: str, raw: Mapping[str, Any], where: Place) -> list[Problem]:
    """Return the errors of a method entry of the config."""
    try:
        resolve(name, raw, where)
    except ConfigError as error:
        return error.problems
    return []


def _check_names(name: str, uses: Any, where: Place) -> None:
    place = where if uses == name else (*where, "uses")
    for given, at in ((name, where), (uses, place)):
        if given in CONTROL.names():
            raise ConfigError([(at, f"'{given}' is a control; list it under `controls:`")])
    if uses not in METHOD.names():
        raise ConfigError([(place, METHOD.no_such(uses))])


def _spec(name: str, uses: str, lists: Mapping[str, list[Any]]) -> MethodSpec:
    """Return a method spec: single values are fixed, several values form the tuning grid."""
    fixed = {key: choices[0] for key, choices in lists.items() if len(choices) == 1}
    grid = {key: tuple(choices) for key, choices in lists.items() if len(choices) > 1}
    return MethodSpec(name, uses, fixed, grid)
