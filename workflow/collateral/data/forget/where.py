"""All train examples with given values in a metadata column, such as every image of a person.

Metadata columns are other arrays of an .npz file, other columns of parquet files, or columns of the
table of a folder. Values are compared as text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field, StrictBool, StrictInt, StrictStr

from collateral.contract.messages import IN_QUOTES, did_you_mean, printable, unknown_name
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
        description="Values of columns, as `{subject: [17, 23]}`: examples that `test_share` "
        "leaves in the train set, those to be forgotten."
    ),
]
KINDS = "only whole numbers, yes and no, and text count"


class Params(Strict):
    """Parameters: the metadata column, and its values to forget."""

    column: str = Field(description="The column, by name.")
    is_: Values = Field(alias="is", description="Forget the examples that have one of these.")


def select(labels: Labels, params: Params) -> NDArray[np.int64]:
    """Return the sorted indices of train examples with one of the given values in the column."""
    import numpy as np

    columns = {name: column.tolist() for name, column in labels.columns.items()}
    return np.array(find_indices(params, columns), np.int64)


def count(size: DatasetSize, params: Params) -> int:
    """Return the number of examples that `select` returns; raise for an unknown value."""
    return len(find_indices(params, size.columns()))


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


def find_indices(params: Params, columns: Mapping[str, Sequence[Any]]) -> list[int]:
    """Return the indices of examples with given values; raise for a value that no example has."""
    if not columns:
        raise ValueError(f"column: none is beside this data set's images and labels; {KINDS}")
    if params.column not in columns:
        kinds = "" if did_you_mean(params.column, columns) else f"; {KINDS}"
        raise ValueError(f"column: {unknown_name('column', params.column, columns)}{kinds}")
    values = [str(value) for value in columns[params.column]]
    wanted, there = {str(value) for value in params.is_}, dict.fromkeys(values)
    for value in params.is_:
        if str(value) not in there:
            column = f"value in column {printable(params.column)}"
            hint = f"; {IN_QUOTES}" if isinstance(value, bool) else ""
            raise ValueError(f"is: {unknown_name(column, value, sorted(there))}{hint}")
    return [place for place, value in enumerate(values) if value in wanted]
