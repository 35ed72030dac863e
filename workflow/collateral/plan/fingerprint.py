"""Fingerprint of code: a hash of the syntax trees of modules, without docstrings.

An import within the package counts as the hash of the imported module. So moving a module changes
no fingerprint, and editing it changes the fingerprint of every module that imports it.
"""

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from collateral.plugins.find import STAGE
from collateral.plugins.modules import PACKAGE, SHIPPED, find_module

ROOTS = (f"{PACKAGE}.", f"{SHIPPED}.")  # prefixes of the modules that a fingerprint includes
# Modules that a fingerprint excludes, because changes of their code cannot change results.
UNCOUNTED = frozenset(
    f"{PACKAGE}.{name}"
    for name in (
        "contract.data",
        "contract.params",
        "contract.probes",
        "contract.messages",
        "contract.terminal",
        "contract.work",
        "plugins.find",
        "plugins.modules",
        "results.provenance",
        "results.layout",
        "results.record",
        "training.locks",
    )
)

# Prefixes of modules that a fingerprint excludes: their values are in a job's description.
DECLARING = (f"{PACKAGE}.config.", f"{PACKAGE}.jobs.")

# Fields of a syntax node that contain nested statements.
STATEMENTS = ("body", "orelse", "finalbody", "handlers", "cases")


def fingerprint(modules: Iterable[str]) -> str:
    """Return a hash of `modules` and of all modules of the package that they import."""
    return hash_texts(*sorted({_module_hash(module) for module in modules}))


@cache
def stage_code(stage: str, *modules: str) -> str:
    """Return the fingerprint of a stage and of `modules`, which the stage loads by name."""
    return fingerprint([STAGE.module(stage), *modules])


def hash_texts(*texts: str) -> str:
    """Return a short hash of texts, such as templates."""
    return _hash(*texts)[:16]


def _hash(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def _is_counted(module: str) -> bool:
    is_declaring = module.startswith(DECLARING) or module.endswith(".params")
    return not is_declaring and module not in UNCOUNTED


_known: dict[str, str] = {}


def _module_hash(module: str, above: tuple[str, ...] = ()) -> str:
    """Return the hash of a module; `above` lists the modules through which it is imported."""
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
        # Imports are sorted, because renaming a module may reorder them and must keep the hash.
        _known[module] = _hash(code.text, *sorted(imports))
    return _known[module]


class _Code(ast.NodeTransformer):
    """A syntax tree without docstrings; imports within the package are stored separately."""

    def __init__(self, tree: ast.Module) -> None:
        self.imports: list[tuple[str, list[str]]] = []  # imported names with their modules
        self.visit(tree)
        self.text = ast.dump(tree)

    def visit(self, node: ast.AST) -> ast.AST | None:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = node.body[1:] if ast.get_docstring(node) else node.body
        result: ast.AST | None = super().visit(node)
        return result

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Visit only statements, a tenth of all nodes; docstrings and imports are statements."""
        for name in STATEMENTS:
            if isinstance(inner := getattr(node, name, None), list):
                visited = map(self.visit, inner)
                setattr(node, name, [statement for statement in visited if statement])
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = []  # code under TYPE_CHECKING never runs
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
            # `from collateral.results import files` may import a module or a member.
            inner = [name for name in [f"{module}.{alias.name}"] if find_module(name)]
            names = (alias.asname or alias.name) if inner else f"{alias.name} {alias.asname}"
            self.imports.append((names, [module, *inner]))
        return None


def _read(module: str) -> _Code:
    spec = find_module(module)
    if spec is None:
        raise ModuleNotFoundError(f"no module {module}, so no fingerprint of it")
    # A folder without __init__.py is a module without a file, so its code is empty.
    return _Code(ast.parse(Path(spec.origin).read_bytes() if spec.origin else ""))
