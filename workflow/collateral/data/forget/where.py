"""All train examples with given values in a metadata column, such as every image of a person.

Metadata columns are other arrays of an .npz file, other columns of parquet files, or columns of the
table of a folder. Values are compared as text.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field, StrictBool, StrictInt, StrictStr

from collateral.contract.messages import (
    IN_QUOTES,
    did_you_mean,
    listed,
    printable,
    quoted,
    unknown_name,
)
from collateral.contract.params import Strict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from collateral.contract.data import DatasetSize
    from collateral.results.dataset import Labels


def _as_list(value: Any) -> Any:
    """Convert a single value to a tuple that contains only this value."""
    return (value,) if isinstance(value, str | int) else value


Values = Annotated[
    tuple[StrictBool | StrictInt | StrictStr, ...], BeforeValidator(_as_list), Field(min_length=1)
]


TrainWhere = Annotated[
    dict[str, Values] | None,
    Field(
        description="Examples that `test_share` must leave in the train set, by values of metadata "
        "columns, e.g. {subject: [17, 23]}: those that you want to forget."
    ),
]
KINDS = "only whole numbers, yes and no, and text count"


class Params(Strict):
    """Parameters: the metadata column, and its values to forget."""

    column: str = Field(description="Name of the metadata column.")
    is_: Values = Field(
        alias="is",
        description="Value, or list of values. Examples that have one of them in the column are "
        "forgotten.",
    )


def select(labels: Labels, params: Params) -> NDArray[np.int64]:
    """Return the sorted indices of train examples with one of the given values in the column."""
    import numpy as np

    columns = {name: column.tolist() for name, column in labels.columns.items()}
    tested = {name: column.tolist() for name, column in labels.test_columns.items()}
    return np.array(find_indices(params, columns, tested), np.int64)


def count(size: DatasetSize, params: Params) -> int:
    """Return the number of examples that `select` returns; raise for an unknown value."""
    return len(find_indices(params, size.columns(), size.test_columns()))


def chosen(_labels: Labels, params: Params) -> dict[str, Any]:
    """Return the parameters of the forget set, which are stored in split.json."""
    return {"column": params.column, "is": list(params.is_)}


def find_staying(given: TrainWhere, columns: Mapping[str, Sequence[Any]]) -> set[int]:
    """Return the indices of examples that `train_where` describes; they stay in the train set."""
    found = set[int]()
    for column, values in (given or {}).items():
        try:
            params = Params.model_validate({"column": column, "is": values})
            found |= {*find_indices(params, columns)}
        except ValueError as error:
            raise ValueError(f"data.train_where: {str(error).partition(': ')[2]}") from None
    return found


def find_indices(
    params: Params,
    columns: Mapping[str, Sequence[Any]],
    tested: Mapping[str, Sequence[Any]] = MappingProxyType({}),
) -> list[int]:
    """Return the indices of examples with given values; raise for a value that no example has.

    `tested` has the columns of the test set, for errors.
    """
    if not columns:
        raise ValueError(f"column: none is beside this data set's images and labels; {KINDS}")
    if params.column not in columns:
        kinds = "" if did_you_mean(params.column, columns) else f"; {KINDS}"
        raise ValueError(f"column: {unknown_name('column', params.column, columns)}{kinds}")
    values = [str(value) for value in columns[params.column]]
    wanted, there = {str(value) for value in params.is_}, dict.fromkeys(values)
    for value in params.is_:
        if str(value) not in there:
            count = sum(str(one) == str(value) for one in tested.get(params.column, ()))
            hint = _hint(value, there, count)
            column = f"column {printable(params.column)}"
            found = f"no value {quoted(str(value))} in {column}{hint}"
            raise ValueError(f"is: {found}; {listed('known', sorted(filter(str.strip, there)))}")
    return [place for place, value in enumerate(values) if value in wanted]


def _hint(value: bool | int | str, known: Collection[str], num_tested: int) -> str:
    """Return where a missing value is, or how it is written; never guess: it may be a person."""
    if isinstance(value, bool):
        return f"; {IN_QUOTES}"
    if num_tested:
        return f"; the test set has it ({num_tested} examples), and no model is trained on those"
    text = str(value).lstrip("0")
    same = [one for one in known if str(value).isdecimal() and one.lstrip("0") == text]
    return f"; with other zeros it is there: {', '.join(map(repr, same))}" if same else ""
