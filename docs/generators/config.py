"""Tables of docs/config.md, made from the schema of a config and of the forget sets."""

from collections.abc import Iterator
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from collateral.config.schema import Config
from collateral.contract.data import DataOptions
from collateral.plugins.find import FORGET
from generators.tables import Key, list_of, owners, rows_of


def inner(annotation: Any) -> tuple[type[BaseModel], bool] | None:
    """Return the model of a nested block, if any, and whether there are several by name."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, False
    for part in get_args(annotation):
        if found := inner(part):
            return found[0], found[1] or get_origin(annotation) is dict
    return None


def blocks_in(model: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
    """Yield the nested blocks of a model at every depth, each under its key."""
    for key, info in model.model_fields.items():
        if found := inner(info.annotation):
            yield key, found[0]
            yield from blocks_in(found[0])


# Models by their mark in the page; DataOptions is not in the schema, as plug-ins add to it.
MODELS = {
    "config": Config,
    **dict(blocks_in(Config)),
    "data": DataOptions,
    **dict(blocks_in(DataOptions)),
}


def config_tables() -> dict[str, str]:
    """Return the table of every block and of the forget sets by mark."""
    return dict(_tables()) | {"kinds": _kinds()}


def _tables() -> Iterator[tuple[str, str]]:
    """Yield the table of each block; a key that an earlier table has is only a link to it."""
    first: dict[Key, str] = {}
    for mark, model in MODELS.items():
        rows = list(rows_of(model))
        new = [row for row in rows if first.setdefault(row, mark) == mark]
        parts = [list_of(new)] if new else [] if rows else ["No keys.\n"]
        parts += [
            f"{row.key}: as in [{first[row]}](#{first[row]}).\n" for row in rows if row not in new
        ]
        yield mark, "\n".join(parts)


def _kinds() -> str:
    """Return one line per kind of forget set and the table of their keys."""
    modules = {name: FORGET.load(name) for name in FORGET.names()}
    lines = "".join(f"- `{name}`: {_first(module)}\n" for name, module in modules.items())
    of = owners((name, row) for name, module in modules.items() for row in rows_of(module.Params))
    return f"{lines}\n{list_of(list(of), of)}"


def _first(module: Any) -> str:
    return " ".join(str(module.__doc__).split("\n\n")[0].split())
