"""Types that the `numbers` modules of findings use: results of a cell or a run, epochs, caches.

Type checkers read the classes themselves. At run time the classes are not imported, so that the
cached rows of a finding stay valid when only the code that reads results changes.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collateral.results.cell import CellResults as CellResults
    from collateral.results.cell import Result as Result
    from collateral.results.outputs import Epoch as Epoch
    from collateral.results.row_cache import Cached as Cached
else:
    CellResults = Result = Epoch = Cached = Any
