"""Find modules of the package and of plug-ins without importing them."""

import sys
from functools import cache
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, ModuleSpec, SourceFileLoader
from pathlib import Path

import collateral

PACKAGE = "collateral"
# Name of the plug-in that ships with Collateral, and import name of its package.
SHIPPED = "paper"
FOLDER = Path(collateral.__file__).parent


@cache
def shipped_folder() -> Path | None:
    """Return the folder of the shipped plug-in, and make its modules importable."""
    # In a wheel, the shipped plug-in lies beside the rules; in a checkout, beside the package.
    for folder in (FOLDER / "_workflow/workflow", FOLDER.parent):
        if (folder / SHIPPED / "__init__.py").is_file():
            if str(folder) not in sys.path:
                sys.path.insert(0, str(folder))
            return folder / SHIPPED
    return None


def is_shipped(file: Path) -> bool:
    """Tell whether a file is shipped: in the package or its plug-in, not in a user's folder."""
    return any(file.is_relative_to(folder) for folder in (FOLDER, shipped_folder()) if folder)


@cache
def find_module(module: str) -> ModuleSpec | None:
    """Find a module by its import name, without importing its parent packages."""
    if module == PACKAGE:
        return collateral.__spec__
    if module == SHIPPED:
        folder = shipped_folder()
        return _finder(str(folder.parent)).find_spec(module) if folder else None
    above, _, _ = module.rpartition(".")
    spec = find_module(above)
    # If the package is already imported, its `__path__` may also contain folders of plug-ins.
    path = getattr(sys.modules.get(above), "__path__", spec and spec.submodule_search_locations)
    found = (_finder(folder).find_spec(module) for folder in path or ())
    return next(filter(None, found), None)


@cache
def _finder(folder: str) -> FileFinder:
    # PathFinder is not used: in packages not yet imported, it misses folders without __init__.py.
    return FileFinder(folder, (SourceFileLoader, SOURCE_SUFFIXES))
