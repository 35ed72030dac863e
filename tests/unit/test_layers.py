"""What may import what, read from the source and tried in fresh interpreters."""

import ast
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import collateral
from collateral.plan.fingerprint import UNCOUNTED
from collateral.plugins.find import COMMAND, DATA, FINDING, FORGET, STAGE

ROOT = Path(__file__).parents[2]
PACKAGE = Path(collateral.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
PAPER = PACKAGE.with_name("paper")  # the plug-in that ships
PAPER_FILES = sorted(PAPER.rglob("*.py"))

# What every room may import within the package, itself apart; a stage may import everything.
LAYERS = {
    "cli": {"contract", "plugins", "results"},
    "contract": set(),
    "metrics": {"contract"},
    "plugins": {"contract"},
    "config": {"contract", "data", "plugins", "results"},
    "plan": {"config", "contract", "data", "models", "plugins", "results"},
    "results": {"contract", "metrics"},
    "data": {"contract", "plugins", "results"},
    "models": {"contract", "plugins"},
    "training": {"contract", "metrics", "models", "plugins", "results"},
    "methods": {"contract", "models", "plugins", "training"},
    "controls": {"contract", "methods", "models", "training"},
    "findings": {"contract", "metrics", "plots", "plugins", "results"},
    "plots": {"contract", "results"},
    "report": {"contract", "findings", "metrics", "plots", "plugins", "results"},
    "warm": {"cli", "plan", "results"},
}
# Jobs belong to the plan: they read its grid and paths, and its checks and estimate read them.
# That no two of these modules import each other is tested for modules.
SAME_ROOM = {"jobs": "plan"}
# What is slow to import, or not there on a machine that only draws figures.
TORCH = {"safetensors", "timm", "torch", "torchvision"}
DRAWING = {"adjustText", "altair", "matplotlib", "pandas", "seaborn"}
COMPUTING = {"numpy", "scipy", "sklearn"}
HEAVY = TORCH | DRAWING | COMPUTING
HEAVY_OF = {
    "cli": set(),
    "contract": set(),
    "metrics": COMPUTING,
    "plugins": set(),
    "config": set(),
    "plan": set(),
    "results": {"numpy", "pandas"},
    "data": {"numpy", "sklearn", "torchvision"},
    "models": TORCH | COMPUTING,
    "training": TORCH | COMPUTING,
    "methods": TORCH | COMPUTING,
    "controls": TORCH | COMPUTING,
    "plots": COMPUTING | DRAWING,
    "report": COMPUTING | {"pandas"},
    "warm": set(),
}
# Of the plug-in: what its folders import of the package, and which libraries.
PAPER_LAYERS = {
    "__init__": (set(), set()),
    "printed": ({"results"}, set()),
    "reference": ({"findings", "metrics", "results"}, set()),
    "claims": ({"contract", "findings", "metrics", "results"}, COMPUTING),
    "theory": ({"metrics", "plots", "results"}, COMPUTING | DRAWING),
    "findings": ({"contract", "findings", "metrics", "results"}, {"numpy", "pandas"}),
    "commands": (set(), set()),
    "stages": ({"contract", "plan", "plots", "results", "stages"}, {"numpy", "pandas"}),
}
# In findings the name of the file tells; those that a finding names otherwise are numbers.
HEAVY_OF_FINDINGS = {
    "__init__": set(),
    "numbers": COMPUTING,
    "views": {"numpy", "pandas"},
}
PLOTS_AS_DATA = ("plot", "style")  # of plots/: what findings import
ROOMS = ("config", "contract", "jobs", "plan", "plugins")
# The Snakefile reads these: they import nothing heavy before something is asked of them.
LIGHT = [
    *(path for room in ROOMS for path in (PACKAGE / room).rglob("*.py")),
    *(
        PACKAGE / f"results/{name}.py"
        for name in ("files", "layout", "plan", "provenance", "record")
    ),
    *(PACKAGE / f"data/{name}.py" for name in ("__init__", "_metadata", *DATA.names())),
    *(PACKAGE / f"models/{name}.py" for name in ("__init__", "_metadata")),
    *(PACKAGE / f"data/forget/{name}.py" for name in FORGET.names()),
    *PACKAGE.glob("*/*/params.py"),
    *PACKAGE.glob("findings/*/__init__.py"),
]
TORCH_FREE = [*ROOMS, "findings", "metrics", "report", "results"]
TORCH_FREE_STAGES = [
    "check",
    "figures",
    "gather",
    "index",
    "metrics",
    "neighbours",
    "pictures",
    "report",
    "split",
    "tables",
    "theory",
]
NEED_TORCH = {"export", "weights"}  # commands: they read files of weights


def name_of(path):
    """Return a file as tests print it: methods/ft/params."""
    return path.relative_to(PACKAGE).with_suffix("").as_posix()


def layer_of(path):
    room = name_of(path).split("/")[0]
    return SAME_ROOM.get(room, room)


def imports(path, *, at_once=False):
    """Return what a file imports, but for types alone; `at_once`: when it is imported itself."""
    waiting, found = list(ast.parse(path.read_text()).body), set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{'.' * node.level}{node.module}.{alias.name}" for alias in node.names}
        elif not _is_for_types(node) and not (at_once and isinstance(node, ast.FunctionDef)):
            waiting += ast.iter_child_nodes(node)
    return found


def _is_for_types(node):
    is_named = isinstance(node, ast.If) and isinstance(node.test, ast.Name)
    return is_named and node.test.id == "TYPE_CHECKING"


def heavy(modules):
    return {module.split(".")[0] for module in modules} & HEAVY


def inner(modules):
    """Return the layers of the package that imports name."""
    rooms = {module.split(".")[1] for module in modules if module.startswith("collateral.")}
    return {SAME_ROOM.get(room, room) for room in rooms}


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
    assert {layer_of(path) for path in FILES} == {*LAYERS, "__init__", "commands", "stages"}
    assert {*HEAVY_OF, "findings"} == set(LAYERS)


def test_layers_are_in_an_order():
    TopologicalSorter(LAYERS).prepare()


def test_no_modules_import_each_other():
    files = [*FILES, *PAPER_FILES]
    modules = {p.relative_to(PACKAGE.parent).with_suffix("").as_posix(): p for p in files}
    modules = {name.replace("/", "."): path for name, path in modules.items()}
    known = {name.removesuffix(".__init__"): path for name, path in modules.items()}
    graph = {
        name: {m for found in imports(path) for m in (found, found.rpartition(".")[0])} & {*known}
        for name, path in known.items()
    }
    assert sum(map(len, graph.values())) > len(FILES)
    TopologicalSorter(graph).prepare()


def test_imports_are_absolute():
    relative = [name_of(path) for path in FILES if any(m.startswith(".") for m in imports(path))]
    assert relative == []


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_only_what_is_below_it(layer):
    files = [path for path in FILES if layer_of(path) == layer]
    assert files
    wrong = {name_of(path): inner(imports(path)) - LAYERS[layer] - {layer} for path in files}
    assert {name: found for name, found in wrong.items() if found} == {}


@pytest.mark.parametrize("layer", PAPER_LAYERS)
def test_the_plug_in_that_ships_imports_only_what_is_below_it(layer):
    names = {path: path.relative_to(PAPER).with_suffix("").as_posix() for path in PAPER_FILES}
    files = [path for path, name in names.items() if name.split("/")[0] == layer]
    assert files
    rooms, libraries = PAPER_LAYERS[layer]
    wrong = {names[p]: (inner(imports(p)) - rooms, heavy(imports(p)) - libraries) for p in files}
    assert {name: found for name, found in wrong.items() if any(found)} == {}


def test_every_file_of_the_plug_in_that_ships_belongs_to_a_layer():
    found = {path.relative_to(PAPER).with_suffix("").parts[0] for path in PAPER_FILES}
    assert found == {*PAPER_LAYERS}


def test_the_package_does_not_import_the_plug_in_that_ships():
    assert len(PAPER_FILES) > 15
    wrong = [
        name_of(path) for path in FILES if any(m.split(".")[0] == "paper" for m in imports(path))
    ]
    assert wrong == []


@pytest.mark.parametrize("layer", HEAVY_OF)
def test_a_layer_imports_only_its_own_libraries(layer):
    files = [path for path in FILES if layer_of(path) == layer]
    wrong = {name_of(path): heavy(imports(path)) - HEAVY_OF[layer] for path in files}
    assert {name: found for name, found in wrong.items() if found} == {}


def findings_files():
    return [path for path in FILES if layer_of(path) == "findings"]


def libraries_of(path):
    """Return what a file of findings may import, by its name."""
    if path.parent.name == "_shared":
        return COMPUTING | {"pandas"}
    return HEAVY_OF_FINDINGS.get(path.stem, COMPUTING)


def test_a_part_of_a_finding_imports_only_its_own_libraries():
    found = {path.stem for path in findings_files()}
    assert {*HEAVY_OF_FINDINGS} <= found
    wrong = {name_of(path): heavy(imports(path)) - libraries_of(path) for path in findings_files()}
    assert {name: found for name, found in wrong.items() if found} == {}


def test_findings_draw_nothing_themselves():
    """They return plots as data, which import no library of drawing either."""
    drawing = DRAWING - {"pandas"}
    data = [PACKAGE / f"plots/{name}.py" for name in PLOTS_AS_DATA]
    assert [name_of(p) for p in (*findings_files(), *data) if heavy(imports(p)) & drawing] == []
    allowed = tuple(f"collateral.plots.{name}." for name in PLOTS_AS_DATA)
    found = {m for p in findings_files() for m in imports(p) if m.startswith("collateral.plots")}
    assert found and all(module.startswith(allowed) for module in found)


def test_findings_read_one_another_from_the_long_table():
    """What another finding declares may be imported, and nothing that it computes."""
    strange = {}
    for path in findings_files():
        for module in imports(path):
            _, room, finding, *inner = *module.split("."), "", ""
            is_other = room == "findings" and finding not in ("_shared", path.parent.name)
            if is_other and finding in FINDING.names() and is_file(finding, inner[0]):
                strange[name_of(path)] = module
    assert strange == {}


def test_numbers_are_made_of_what_the_contract_has():
    """So that a plug-in is given all that our own findings are given."""
    numbers = sorted((PACKAGE / "findings").glob("[!_]*/numbers.py"))
    assert len(numbers) > 8
    apart = "collateral.results.cell."
    assert [name_of(p) for p in numbers if any(m.startswith(apart) for m in imports(p))] == []


def is_file(finding, name):
    return (PACKAGE / "findings" / finding / f"{name}.py").is_file()


@pytest.mark.parametrize("kind", ["methods", "controls"])
def test_methods_do_not_import_one_another(kind):
    files = sorted((PACKAGE / kind).glob("[!_]*/*.py"))
    assert {path.parent.name for path in files} >= {"methods": {"ft", "ga", "rl"}}.get(kind, set())
    rooms = ("collateral.methods.", "collateral.controls.")
    for path in files:
        allowed = (f"collateral.{kind}.{path.parent.name}.", "collateral.methods._shared.")
        others = {module for module in imports(path) if module.startswith(rooms)}
        assert all(module.startswith(allowed) for module in others), name_of(path)


def is_declaring(module):
    """Tell whether a module only declares, so that fingerprints skip it."""
    named = {f"collateral.contract.{n}" for n in ("data", "params")}
    assert named <= UNCOUNTED
    return module.endswith(".params") or module in named


def test_modules_excluded_from_fingerprints_give_algorithms_only_types():
    """A constant of an algorithm in a params.py would change results, and rerun nothing."""
    taken = {}
    for path in FILES:
        own = f"collateral.{name_of(path).replace('/', '.')}"
        if is_declaring(own) or layer_of(path) in ("config", "plugins"):
            continue
        for module in imports(path):
            of, _, name = module.rpartition(".")
            if is_declaring(of):
                taken[name_of(path), of, name] = bool(re.fullmatch(r"[A-Z][a-z]\w*", name))
    assert len(taken) > 30
    assert [where for where, is_type in taken.items() if not is_type] == []


def test_the_light_files_are_there():
    assert len(LIGHT) > 60
    assert all(path.is_file() for path in LIGHT)


@pytest.mark.parametrize("path", LIGHT, ids=name_of)
def test_modules_of_the_snakefile_import_nothing_heavy(path):
    assert heavy(imports(path, at_once=True)) == set()


def test_rules_import_only_what_is_light():
    rules = [ROOT / "Snakefile", *sorted((ROOT / "workflow/rules").glob("*.smk"))]
    assert {"Snakefile", "data.smk", "train.smk", "unlearn.smk"} <= {path.name for path in rules}
    # Rules are not Python: their lines are looked at.
    statement = re.compile(r"^[ \t]*(?:from (\S+) import (\w+)|import (\S+))", re.MULTILINE)
    found = {groups for path in rules for groups in statement.findall(path.read_text())}
    modules = {plain or of for of, _, plain in found}
    assert "collateral.plan" in modules
    allowed = r"collateral\.(config|jobs|plan|results)(\.\w+)?|snakemake\..*"
    others = {module for module in modules if not re.fullmatch(allowed, module)}
    assert {module.split(".")[0] for module in others} <= sys.stdlib_module_names


def test_reading_config_and_code_imports_nothing_heavy():
    code = """
import sys
from pathlib import Path
from collateral.config.load import read
from collateral.plan.fingerprint import fingerprint
from collateral.plugins.find import STAGE
from collateral.plan.grid import build_grid
from collateral.plan.estimate import minutes
from collateral.jobs import list_jobs
from collateral.plan.report_plan import PARTS, plan_hash, presenting_code
for benchmark in build_grid(read(Path("config.yaml"))).values():
    print(plan_hash(benchmark))
    for job in list_jobs(benchmark):
        print(getattr(job, "code", ""), minutes(job, 1), job.text, *job.inputs)
print(*map(presenting_code, PARTS))
print(*(fingerprint([f"collateral.stages.{name}"]) for name in STAGE.names()))
print("loaded:", *(set(sys.argv[1:]) & set(sys.modules)))
"""
    words = run_python(code, *HEAVY)
    assert len(words) > len(STAGE.names())
    assert words[-1] == "loaded:"


def torch_free_modules():
    files = [path for layer in TORCH_FREE for path in sorted((PACKAGE / layer).rglob("*.py"))]
    names = [f"collateral.{name_of(path).replace('/', '.')}" for path in files]
    paper = [path.relative_to(PAPER.parent).with_suffix("") for path in PAPER_FILES]
    names += [path.as_posix().replace("/", ".") for path in paper]
    names += [COMMAND.module(name) for name in COMMAND.names() if name not in NEED_TORCH]
    return names + [STAGE.module(name) for name in TORCH_FREE_STAGES]


def test_numbers_tables_figures_and_page_need_no_torch():
    modules = torch_free_modules()
    assert len(modules) > 100
    assert set(TORCH_FREE_STAGES) <= set(STAGE.names())
    # Not `sys.modules["torch"] = None`: scipy takes what stands there for torch.
    code = """
import sys
from importlib import import_module
from collateral.cli import commands
from collateral.plugins.find import STAGE
commands(), STAGE.names()  # now those of the plug-in that ships are found
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
