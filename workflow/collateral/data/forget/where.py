"""All train examples with some values in a further column: every picture of a person.

Columns are arrays of an .npz beside images and labels, the further columns of parquet files, or
those of a table beside a folder. Values are compared as text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field, StrictBool, StrictInt, StrictStr

from collateral.contract.params import Strict
from collateral.contract.spelling import IN_QUOTES, nearest, plain, unknown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from collateral.contract.data import DatasetSize
    from collateral.results.dataset import Labels


def _listed(value: Any) -> Any:
    """Take a single value for a list of one."""
    return (value,) if isinstance(value, str | int) else value


Values = Annotated[
    tuple[StrictBool | StrictInt | StrictStr, ...], BeforeValidator(_listed), Field(min_length=1)
]


TrainWhere = Annotated[
    dict[str, Values] | None,
    Field(
        description="Values of columns, as `{subject: [17, 23]}`: examples that `test_share` "
        "leaves in the train set, those to be forgotten."
    ),
]
KINDS = "only whole numbers, yes and no, and text count"


class Params(Strict):
    """Which column, and which of its values."""

    column: str = Field(description="The column, by name.")
    is_: Values = Field(alias="is", description="Forget the examples that have one of these.")


def unfit(size: DatasetSize, params: Params) -> Iterator[tuple[str, str]]:
    """Yield a key and what is wrong with its value, as far as the columns can tell."""
    try:
        columns = size.columns()
    except ValueError:
        return  # wrong with the data, which the job that reads them says
    try:
        places(params, columns)
    except ValueError as error:
        key, _, problem = str(error).partition(": ")
        yield key, problem


def select(labels: Labels, params: Params) -> NDArray[np.int64]:
    """Return the train examples with these values, ascending."""
    import numpy as np

    columns = {name: column.tolist() for name, column in labels.columns.items()}
    return np.array(places(params, columns), np.int64)


def count(size: DatasetSize, params: Params) -> int:
    """Return how many examples `select` returns."""
    return len(places(params, size.columns()))


def chosen(_labels: Labels, params: Params) -> dict[str, Any]:
    """Return `params` for the record."""
    return {"column": params.column, "is": list(params.is_)}


def staying(given: Sequence[tuple[str, Any]], columns: Mapping[str, Sequence[Any]]) -> set[int]:
    """Return the places with the values that `train_where` names, by column."""
    found = set[int]()
    for column, values in given:
        try:
            found |= {*places(Params.model_validate({"column": column, "is": values}), columns)}
        except ValueError as error:
            raise ValueError(f"data.train_where: {str(error).partition(': ')[2]}") from None
    return found


def places(params: Params, columns: Mapping[str, Sequence[Any]]) -> list[int]:
    """Return the places in the train set; every value must be there."""
    if not columns:
        raise ValueError(f"column: none is beside this data set's images and labels; {KINDS}")
    if params.column not in columns:
        kinds = "" if nearest(params.column, columns) else f"; {KINDS}"
        raise ValueError(f"column: {unknown('column', params.column, columns)}{kinds}")
    values = [str(value) for value in columns[params.column]]
    wanted, there = {str(value) for value in params.is_}, dict.fromkeys(values)
    for value in params.is_:
        if str(value) not in there:
            column = f"value in column {plain(params.column)}"
            hint = f"; {IN_QUOTES}" if isinstance(value, bool) else ""
            raise ValueError(f"is: {unknown(column, value, sorted(there, key=_in_order))}{hint}")
    return [place for place, value in enumerate(values) if value in wanted]


def _in_order(value: str) -> tuple[int, str]:
    """Let numbers follow each other as numbers."""
    return (int(value), value) if value.isdecimal() and value.isascii() else (0, value)
