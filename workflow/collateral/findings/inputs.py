"""Types of the arguments of `numbers`: results of a cell and of a run, epochs, cached rows.

Type checkers read the classes themselves. At run time they are not imported, so that the rows that
a finding computed stay valid when only the code that reads results changes.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collateral.results.cell import CellResults as CellResults
    from collateral.results.cell import Result as Result
    from collateral.results.outputs import Epoch as Epoch
    from collateral.results.row_cache import Cached as Cached
else:
    CellResults = Result = Epoch = Cached = Any
