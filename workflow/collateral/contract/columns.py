"""What is known of examples beside their classes: files, subjects, whatever a data set has."""

from collections.abc import Mapping, Sequence
from typing import Any

Columns = Mapping[str, Sequence[Any]]  # one value for each train example, by the column's name
FILE = "file"  # the column with the path of an example's file
