"""What code means, as a hash: of syntax trees, whatever their modules are called.

Docstrings count for nothing, and an import of the package for what the imported code means: moving
a module changes nothing, changing it changes all who import it.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterable
from functools import cache
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, ModuleSpec, SourceFileLoader
from pathlib import Path

import collateral
from collateral.contract.plugins import SHIPPED, STAGE, shipped_folder

PACKAGE = "collateral"
ROOTS = (f"{PACKAGE}.", f"{SHIPPED}.")  # of modules that count
# No result depends on these. They declare what is on the command line or is looked up by name; or
# keep the books: names of files, options, costs, the wording of errors, which GPU is taken.
UNCOUNTED = frozenset(
    f"{PACKAGE}.{name}"
    for name in (
        "contract.data",
        "contract.params",
        "contract.plugins",
        "contract.probes",
        "contract.published",
        "contract.messages",
        "contract.work",
        "results.provenance",
        "results.layout",
        "results.record",
        "stages._options",
        "training.locks",
    )
)

STATEMENTS = ("body", "orelse", "finalbody", "handlers", "cases")  # where a node has them


def fingerprint(modules: Iterable[str]) -> str:
    """Return a hash of `modules` and of all that they import within the package."""
    return _hash(*sorted({_module_hash(module) for module in modules}))[:16]


@cache
def stage_code(stage: str, *modules: str) -> str:
    """Return the fingerprint of a stage and of the modules that it will look up by name."""
    return fingerprint([STAGE.module(stage), *modules])


def files_hash(folder: Path, pattern: str) -> str:
    """Return a hash of a folder's files that are no Python."""
    return _hash(*(path.read_text(encoding="utf-8") for path in sorted(folder.glob(pattern))))[:16]


def _hash(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def _is_counted(module: str) -> bool:
    is_declaring = module.startswith(f"{PACKAGE}.config.") or module.endswith(".params")
    return not is_declaring and module not in UNCOUNTED


_known: dict[str, str] = {}


def _module_hash(module: str, above: tuple[str, ...] = ()) -> str:
    """Return what a module means; `above` are those through which it is imported."""
    if module in above:
        raise ValueError(f"modules import each other: {' -> '.join((*above, module))}")
    if not _is_counted(module):
        return ""
    if module not in _known:
        code = _read(module)
        imports = [
            " ".join([names, *(_module_hash(name, (*above, module)) for name in modules)])
            for names, modules in code.imports
        ]
        # Sorted: an import's place follows from the name of its module.
        _known[module] = _hash(code.text, *sorted(imports))
    return _known[module]


class _Code(ast.NodeTransformer):
    """A syntax tree without docstrings, and apart from it the imports of the package."""

    def __init__(self, tree: ast.Module) -> None:
        self.imports: list[tuple[str, list[str]]] = []  # the names in it, and the modules
        self.visit(tree)
        self.text = ast.dump(tree)

    def visit(self, node: ast.AST) -> ast.AST | None:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = node.body[1:] if ast.get_docstring(node) else node.body
        result: ast.AST | None = super().visit(node)
        return result

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Visit statements alone, a tenth of all nodes: expressions have nothing to be left out."""
        for name in STATEMENTS:
            if isinstance(inner := getattr(node, name, None), list):
                visited = map(self.visit, inner)
                setattr(node, name, [statement for statement in visited if statement])
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = []  # it never runs
        return self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> ast.AST | None:
        inner = [alias for alias in node.names if alias.name.startswith(ROOTS)]
        self.imports += [(alias.asname or "", [alias.name]) for alias in inner]
        node.names = [alias for alias in node.names if alias not in inner]
        return node if node.names else None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        module = node.module or ""
        if not f"{module}.".startswith(ROOTS):
            return node
        for alias in node.names:
            # `from collateral.results import files` names a module, or something within one.
            inner = [name for name in [f"{module}.{alias.name}"] if find_module(name)]
            names = (alias.asname or alias.name) if inner else f"{alias.name} {alias.asname}"
            self.imports.append((names, [module, *inner]))
        return None


def _read(module: str) -> _Code:
    spec = find_module(module)
    if spec is None:
        raise ModuleNotFoundError(f"no module {module}, so no fingerprint of it")
    # A folder without __init__.py has no origin.
    return _Code(ast.parse(Path(spec.origin).read_bytes() if spec.origin else ""))


@cache
def find_module(module: str) -> ModuleSpec | None:
    """Find a module of the package, plug-ins included, and import nothing on the way."""
    if module == PACKAGE:
        return collateral.__spec__
    if module == SHIPPED:
        folder = shipped_folder()
        return _finder(str(folder.parent)).find_spec(module) if folder else None
    above, _, _ = module.rpartition(".")
    spec = find_module(above)
    # A folder of plug-ins is on the path of the imported package alone.
    path = getattr(sys.modules.get(above), "__path__", spec and spec.submodule_search_locations)
    found = (_finder(folder).find_spec(module) for folder in path or ())
    return next(filter(None, found), None)


@cache
def _finder(folder: str) -> FileFinder:
    # Not PathFinder: below what is not imported, it finds no folder without __init__.py.
    return FileFinder(folder, (SourceFileLoader, SOURCE_SUFFIXES))
