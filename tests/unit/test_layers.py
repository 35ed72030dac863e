"""What may import what (STYLE.md 4.5), read from the source and tried in fresh interpreters."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import collateral
from collateral.cli import stages
from collateral.data._facts import DATA, FORGET

ROOT = Path(__file__).parents[2]
PACKAGE = Path(collateral.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))

# What every layer may import within the package, itself apart; a stage may import everything.
LAYERS = {
    "cli": {"core"},
    "paths": set(),
    "core": set(),
    "config": {"core", "paths", "data", "models", "methods", "controls"},
    "grid": {"config", "paths"},
    "estimate": {"core", "config", "data", "grid", "models"},
    "data": {"core"},
    "models": {"core"},
    "training": {"core", "config", "paths", "models"},
    "methods": {"core", "config", "models", "training"},
    "controls": {"core", "config", "models", "training"},
    "metrics": {"core"},
    "theory": {"core"},
    "tables": {"core", "config", "metrics"},
    "figures": {"core", "config", "metrics", "tables"},
    "report": {"core", "config", "metrics", "tables", "figures"},
}
# What is slow to import, or not there on a machine that only draws figures.
HEAVY = {
    "matplotlib",
    "numpy",
    "pandas",
    "safetensors",
    "scipy",
    "seaborn",
    "sklearn",
    "timm",
    "torch",
    "torchvision",
}
TORCH = {"safetensors", "timm", "torch", "torchvision"}
DRAWING = {"matplotlib", "pandas", "seaborn"}
HEAVY_OF = {
    "cli": set(),
    "paths": set(),
    "config": set(),
    "grid": set(),
    "estimate": set(),
    "core": {"numpy"},
    "data": {"numpy", "sklearn", "torchvision"},
    "models": HEAVY - DRAWING,
    "training": HEAVY - DRAWING,
    "methods": HEAVY - DRAWING,
    "controls": HEAVY - DRAWING,
    "metrics": {"numpy", "scipy", "sklearn"},
    "theory": {"numpy", "scipy"},
    "tables": HEAVY - TORCH,
    "figures": HEAVY - TORCH,
    "report": HEAVY - TORCH,
}
# The Snakefile reads these: they import nothing heavy before something is asked of them.
LIGHT = [
    PACKAGE / "models/facts.py",
    PACKAGE / "models/names.py",
    PACKAGE / "data/info.py",
    PACKAGE / "data/lookup.py",
    PACKAGE / "data/names.py",
    *(PACKAGE / f"data/{name}.py" for name in DATA.names()),
    *(PACKAGE / f"data/forget/{name}.py" for name in FORGET.names()),
    *sorted(PACKAGE.glob("methods/*/params.py")),
    *sorted(PACKAGE.glob("controls/*/params.py")),
]
TORCH_FREE = ["estimate", "metrics", "tables", "figures", "report", "theory"]
TORCH_FREE_STAGES = [
    "estimate",
    "figures",
    "metrics",
    "neighbours",
    "original",
    "report",
    "split",
    "tables",
    "theory",
]


def name_of(path):
    """Return a file as tests print it: methods/ft/params."""
    return path.relative_to(PACKAGE).with_suffix("").as_posix()


def layer_of(path):
    return name_of(path).split("/")[0]


def imports(path, *, at_once=False):
    """Return the modules a file names in imports; `at_once`: those that importing it imports."""
    waiting, found = list(ast.parse(path.read_text()).body), set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{'.' * node.level}{node.module}.{alias.name}" for alias in node.names}
        elif not (at_once and _is_later(node)):
            waiting += ast.iter_child_nodes(node)
    return found


def _is_later(node):
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    return isinstance(node, ast.FunctionDef)


def heavy(modules):
    return {module.split(".")[0] for module in modules} & HEAVY


def inner(modules):
    """Return the layers of the package that imports name."""
    return {module.split(".")[1] for module in modules if module.startswith("collateral.")}


def run_python(code, *arguments):
    """Run `code` in a fresh interpreter; return its words."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_every_file_belongs_to_a_layer():
    assert len(FILES) > 100
    assert {layer_of(path) for path in FILES} == {*LAYERS, "__init__", "stages"}
    assert set(HEAVY_OF) == set(LAYERS)


def test_imports_are_absolute():
    relative = [name_of(path) for path in FILES if any(m.startswith(".") for m in imports(path))]
    assert relative == []


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_only_what_is_below_it(layer):
    files = [path for path in FILES if layer_of(path) == layer]
    assert files
    wrong = {name_of(path): inner(imports(path)) - LAYERS[layer] - {layer} for path in files}
    assert {name: found for name, found in wrong.items() if found} == {}


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_only_its_own_libraries(layer):
    files = [path for path in FILES if layer_of(path) == layer]
    wrong = {name_of(path): heavy(imports(path)) - HEAVY_OF[layer] for path in files}
    assert {name: found for name, found in wrong.items() if found} == {}


@pytest.mark.parametrize("kind", ["methods", "controls"])
def test_methods_do_not_import_one_another(kind):
    files = sorted((PACKAGE / kind).glob("*/*.py"))
    assert {path.parent.name for path in files} >= {"methods": {"ft", "ga", "rl"}}.get(kind, set())
    for path in files:
        own = f"collateral.{kind}.{path.parent.name}."
        others = {m for m in imports(path) if m.startswith(f"collateral.{kind}.")}
        assert all(module.startswith(own) for module in others), name_of(path)


def test_the_light_files_are_there():
    assert len(LIGHT) >= 4 + 6 + 1 + 3 + 1
    assert all(path.is_file() for path in LIGHT)


@pytest.mark.parametrize("path", LIGHT, ids=name_of)
def test_what_the_snakefile_reads_imports_nothing_heavy_at_once(path):
    assert heavy(imports(path, at_once=True)) == set()


def test_rules_import_only_what_is_light():
    rules = [ROOT / "Snakefile", *sorted((ROOT / "workflow/rules").glob("*.smk"))]
    assert {"Snakefile", "data.smk", "train.smk", "unlearn.smk"} <= {path.name for path in rules}
    # Rules are not Python: their lines are looked at.
    statement = re.compile(r"^[ \t]*(?:from (\S+) import (\w+)|import (\S+))", re.MULTILINE)
    found = {groups for path in rules for groups in statement.findall(path.read_text())}
    modules = {plain or (f"{of}.{name}" if of == "collateral" else of) for of, name, plain in found}
    assert "collateral.plan.paths" in modules
    light = r"config\.\w+|estimate\.\w+|grid|paths|core\.(fingerprint|slurm)|models\.names"
    allowed = rf"collateral\.({light})|snakemake\..*"
    others = {module for module in modules if not re.fullmatch(allowed, module)}
    assert {module.split(".")[0] for module in others} <= sys.stdlib_module_names


def test_reading_config_and_code_imports_nothing_heavy():
    code = """
import sys
from pathlib import Path
from collateral.cli import stages
from collateral.config.load import read
from collateral.plan.fingerprint import fingerprint
from collateral.plan.workload import Workload
from collateral.plan.grid import build_grid
for benchmark in build_grid(read(Path("config.yaml"))).values():
    print(*benchmark.cells, *(Workload(benchmark).retrain(c) for c in benchmark.cells.values()))
print(*(fingerprint([f"collateral.stages.{name}"]) for name in stages()))
print("loaded:", *(set(sys.argv[1:]) & set(sys.modules)))
"""
    words = run_python(code, *HEAVY)
    assert len(words) > len(stages())
    assert words[-1] == "loaded:"


def torch_free_modules():
    files = [path for layer in TORCH_FREE for path in sorted((PACKAGE / layer).rglob("*.py"))]
    names = [f"collateral.{name_of(path).replace('/', '.')}" for path in files]
    return names + [f"collateral.stages.{name}" for name in TORCH_FREE_STAGES]


def test_numbers_tables_figures_and_page_need_no_torch():
    modules = torch_free_modules()
    assert len(modules) > 40
    assert set(TORCH_FREE_STAGES) <= set(stages())
    # Not `sys.modules["torch"] = None`: scipy takes what stands there for torch.
    code = """
import sys
from importlib import import_module
missing, modules = sys.argv[1].split(), sys.argv[2:]
class Refuse:
    def find_spec(name, *rest):
        if name.split(".")[0] in missing:
            raise ModuleNotFoundError(f"no {name} here")
sys.meta_path.insert(0, Refuse)
for module in modules:
    import_module(module)
print(len(modules))
"""
    assert run_python(code, " ".join(TORCH), *modules) == [str(len(modules))]
