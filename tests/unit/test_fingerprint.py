"""Which edits change the fingerprint of a stage's code, tried on a small package of its name."""

import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from collateral.plan import fingerprint as module
from collateral.plan.fingerprint import UNCOUNTED, fingerprint
from collateral.plugins import modules
from collateral.plugins.find import STAGE as STAGE_KIND

FILES = {
    "__init__.py": "",
    "config/__init__.py": "",
    "config/limits.py": "LIMIT = 3\n",
    "contract/__init__.py": "",
    "plugins/__init__.py": "",
    "plugins/find.py": "STAGE = None\n",
    "contract/seeds.py": "FIRST = 7\n",
    "contract/messages.py": "near = 2\n",
    "methods/__init__.py": "",
    "methods/mine/params.py": "from collateral.config.limits import LIMIT\n\nEPOCHS = LIMIT\n",
    "methods/mine/method.py": "from collateral.methods.mine.params import EPOCHS\n\nN = EPOCHS\n",
    "plan/__init__.py": "",
    "results/__init__.py": "",
    "results/deep.py": "DEPTH = 1\n",
    "results/files.py": """
from collateral.contract.seeds import FIRST
from collateral.results.deep import DEPTH

write = lambda x: x + DEPTH + FIRST
""",
    "results/unused.py": "X = 1\n",
    "stages/__init__.py": "",
    "stages/unlearn.py": '''"""Unlearn."""

from typing import TYPE_CHECKING

from collateral.config.limits import LIMIT
from collateral.contract.messages import near
from collateral.results.files import write

if TYPE_CHECKING:
    from collateral.results.unused import X


class Stage:
    """A stage."""

    def run(self, x):
        """Run it."""
        return write(x) + LIMIT
''',
}
STAGE = "collateral.stages.unlearn"
METHOD = "collateral.methods.mine.method"
# Arguments: a folder of plug-ins, then modules.
ASK = """
import sys
from collateral import methods
from collateral.plan.fingerprint import fingerprint
methods.__path__.append(sys.argv[1])
print(fingerprint(sys.argv[2:]))
"""
ASK_ALONE = "\n".join(line for line in ASK.splitlines() if "methods" not in line)


class Package:
    """A small package `collateral` that a test may edit."""

    def __init__(self, folder):
        self.folder = folder
        for name, text in FILES.items():
            self.write(name, text)
        self.write("plan/fingerprint.py", inspect.getsource(module))
        self.write("plugins/modules.py", inspect.getsource(modules))

    def write(self, name, text):
        path = self.folder / "collateral" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def move(self, name, other):
        """Rename a module, and in all others its imports, sorted as ruff would sort them."""
        (self.folder / "collateral" / other).parent.mkdir(exist_ok=True)
        (self.folder / "collateral" / name).rename(self.folder / "collateral" / other)
        before, after = (path.removesuffix(".py").replace("/", ".") for path in (name, other))
        for path in (self.folder / "collateral").rglob("*.py"):
            lines = path.read_text().replace(f"collateral.{before}", f"collateral.{after}")
            path.write_text(sorted_imports(lines))

    def edit(self, name, old, new):
        text = (self.folder / "collateral" / name).read_text()
        assert text.count(old) == 1
        self.write(name, text.replace(old, new))

    def fingerprint(self, *modules):
        return asked(self.folder, *modules)


def asked(folder, *modules, question=ASK):
    """Return the fingerprint of modules of the package that lies in a folder."""
    command = [sys.executable, "-B", "-c", question, str(folder / "plugins"), *modules]
    env = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def sorted_imports(text):
    """Sort the block of imports of the package."""
    found = re.findall(r"^from collateral\..*\n", text, re.M)
    block = "".join(found)
    return text.replace(block, "".join(sorted(found))) if block in text else text


@pytest.fixture
def package(tmp_path):
    return Package(tmp_path)


def is_changed_by(package, name, old, new, modules=(STAGE, METHOD)):
    before = package.fingerprint(*modules)
    package.edit(name, old, new)
    return package.fingerprint(*modules) != before


def test_the_fingerprint_does_not_depend_on_the_order_of_the_modules(package):
    first = package.fingerprint(STAGE, METHOD)
    assert package.fingerprint(METHOD, STAGE, STAGE) == first
    assert len(first) == 16


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""Unlearn."""', '"""Unlearn some."""\n# A comment.'),
        ('"""A stage."""', '"""One stage."""'),
        ('        """Run it."""\n', ""),
        ("return write(x) + LIMIT", "return (\n            write(x) + LIMIT  # a sum\n        )"),
    ],
    ids=["module's docstring, comment", "class's docstring", "function's docstring", "formatting"],
)
def test_comments_and_docstrings_do_not_count(package, old, new):
    assert not is_changed_by(package, "stages/unlearn.py", old, new)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("stages/unlearn.py", "write(x) + LIMIT", "write(x) - LIMIT"),
        ("methods/mine/method.py", "N = EPOCHS", "N = 2 * EPOCHS"),
        ("results/files.py", "x + DEPTH", "x * DEPTH"),
        ("results/deep.py", "DEPTH = 1", "DEPTH = 2"),
        ("contract/seeds.py", "FIRST = 7", "FIRST = 8"),
    ],
    ids=["the stage", "the method", "what it imports", "what that imports", "seeds"],
)
def test_changed_code_counts(package, name, old, new):
    assert is_changed_by(package, name, old, new)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("results/unused.py", "X = 1", "X = 2"),
        ("config/limits.py", "LIMIT = 3", "LIMIT = 4"),
        ("contract/messages.py", "near = 2", "near = 3"),
        ("methods/mine/params.py", "EPOCHS = LIMIT", "EPOCHS = 2 * LIMIT"),
    ],
    ids=["imported for types alone", "config", "bookkeeping", "params"],
)
def test_what_is_not_imported_or_on_the_command_line_does_not_count(package, name, old, new):
    assert not is_changed_by(package, name, old, new)


def test_a_method_counts_only_where_it_is_named(package):
    edit = ("methods/mine/method.py", "N = EPOCHS", "N = 2 * EPOCHS")
    assert not is_changed_by(package, *edit, modules=[STAGE])


@pytest.mark.parametrize(
    "statement",
    [
        "import collateral.results.deep",
        "import collateral.results.deep as deep",
        "from collateral.results import deep",
        "from collateral.results.deep import DEPTH",
        "def load():\n    from collateral.results.deep import DEPTH",
        "if True:\n    import json, collateral.results.deep",
        "if True:\n    pass\nelse:\n    import collateral.results.deep",
        "try:\n    pass\nexcept OSError:\n    import collateral.results.deep",
        "try:\n    pass\nfinally:\n    import collateral.results.deep",
        "match 1:\n    case 1:\n        import collateral.results.deep",
    ],
)
def test_every_form_of_import_counts(package, statement):
    package.write("stages/other.py", f"{statement}\n")
    edit = ("results/deep.py", "DEPTH = 1", "DEPTH = 2")
    assert is_changed_by(package, *edit, modules=["collateral.stages.other"])


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("results/deep.py", "results/abyss.py"),
        ("results/files.py", "config_files/files.py"),  # its import is then the first
        ("contract/seeds.py", "results/seeds.py"),  # then the last
        ("config/limits.py", "config/bounds.py"),
    ],
)
def test_moving_a_module_changes_nothing(package, name, other):
    before = package.fingerprint(STAGE, METHOD)
    package.move(name, other)
    assert package.fingerprint(STAGE, METHOD) == before


@pytest.mark.parametrize("others", ["", "json, "])
def test_moving_a_module_that_is_imported_as_a_whole_changes_nothing(package, others):
    package.write("stages/other.py", f"import {others}collateral.results.deep as deep\n")
    before = package.fingerprint("collateral.stages.other")
    package.move("results/deep.py", "results/abyss.py")
    assert package.fingerprint("collateral.stages.other") == before


def test_a_moved_stage_has_its_fingerprint_still(package):
    package.write("stages/copy.py", FILES["stages/unlearn.py"])
    assert package.fingerprint("collateral.stages.copy") == package.fingerprint(STAGE)


def test_where_a_name_comes_from_counts(package):
    """Both modules are imported before and after; who has `pick` from which changes."""
    for name, value in (("one", 1), ("two", 2)):
        package.write(f"results/{name}.py", f"pick = {value}\n")
    text = "from collateral.results.one import pick\nfrom collateral.results.two import pick as p\n"
    package.write("stages/other.py", text)
    before = package.fingerprint("collateral.stages.other")
    package.write(
        "stages/other.py", text.replace("one", "x").replace("two", "one").replace("x", "two")
    )
    assert package.fingerprint("collateral.stages.other") != before


@pytest.mark.parametrize(
    ("text", "swapped"),
    [
        ("from collateral.results import {} as p, {} as q\n", ("one", "two")),
        ("from collateral.results.one import {} as p, {} as q\n", ("first", "second")),
        ("import collateral.results.{} as p, collateral.results.{} as q\n", ("one", "two")),
        ("import {}, collateral.results.one as {}\n", ("json", "csv")),
        ("import {}, collateral.results.one\n", ("json", "csv")),
    ],
)
def test_under_which_name_something_is_imported_counts(package, text, swapped):
    for name in ("one", "two"):
        package.write(f"results/{name}.py", f"first = '{name}'\nsecond = 2\n")
    found = []
    for names in (swapped, swapped[::-1]):
        package.write("stages/other.py", text.format(*names))
        found.append(package.fingerprint("collateral.stages.other"))
    assert found[0] != found[1]


def test_modules_that_import_each_other_are_named(package):
    package.edit(
        "results/deep.py", "DEPTH = 1", "from collateral.results import files\n\nDEPTH = 1"
    )
    with pytest.raises(subprocess.CalledProcessError) as raised:
        package.fingerprint(STAGE)
    files, deep = "collateral.results.files", "collateral.results.deep"
    circle = " -> ".join([STAGE, files, deep, files])
    assert f"ValueError: modules import each other: {circle}" in raised.value.stderr


def test_a_plug_in_counts_with_what_it_imports_beside_it(package):
    plug_in = package.folder / "plugins/own"
    plug_in.mkdir(parents=True)
    (plug_in / "method.py").write_text("from collateral.methods.own.support import pick\n")
    (plug_in / "support.py").write_text("pick = max\n")
    before = package.fingerprint(STAGE, "collateral.methods.own.method")
    (plug_in / "support.py").write_text("pick = min\n")
    assert package.fingerprint(STAGE, "collateral.methods.own.method") != before


def test_computing_a_fingerprint_imports_none_of_the_modules(package):
    package.write("stages/heavy.py", "import torch\nfrom collateral.results.heavy import X\n")
    package.write("results/heavy.py", "raise RuntimeError('imported')\n")
    assert package.fingerprint("collateral.stages.heavy")


def test_a_folder_without_init_is_found_though_nothing_above_it_is_imported(package):
    package.write("stages/other.py", "from collateral.methods.mine.method import N\n")
    stage = "collateral.stages.other"
    assert asked(package.folder, stage, question=ASK_ALONE) == package.fingerprint(stage)
    package.edit("methods/mine/method.py", "N = EPOCHS", "N = 2 * EPOCHS")
    assert asked(package.folder, stage, question=ASK_ALONE) == package.fingerprint(stage)


def test_a_module_that_is_not_there_is_an_error():
    with pytest.raises(ModuleNotFoundError, match=r"collateral\.stages\.unlern"):
        fingerprint(["collateral.stages.unlern"])


def test_excluded_modules_exist():
    files = {modules.PACKAGE + "." + ".".join(path) for path in modules_of_the_package()}
    assert files >= UNCOUNTED


def modules_of_the_package():
    folder = Path(module.__file__).parents[1]
    return [path.relative_to(folder).with_suffix("").parts for path in folder.rglob("*.py")]


def test_algorithms_of_the_contract_count():
    """What a module of the contract decides about results is part of every fingerprint."""
    counted = {"claims", "conventions", "metrics", "rows", "tables", "verdicts"}
    assert not {f"collateral.contract.{name}" for name in counted} & UNCOUNTED
    names = {path[-1] for path in modules_of_the_package() if path[0] == "contract"}
    declaring = {name.rpartition(".")[2] for name in UNCOUNTED if ".contract." in name}
    assert names == declaring | counted | {"__init__"}


TRAINING = ("data", "split", "train", "teacher", "tune", "unlearn", "support_size")
TRAINING += ("shadow", "expose", "neighbours", "pictures", "probe", "given")
# Where the order, the place, the labels and the digits of what is shown are set.
PRESENTING = ("findings/*/__init__.py", "findings/metric_index.py", "contract/metrics.py")


def test_display_code_does_not_count_for_training_jobs(tmp_path):
    """A label, or one digit more, must not cost GPU hours."""
    folder = tmp_path / "collateral"
    shutil.copytree(Path(module.__file__).parents[1], folder, ignore=shutil.ignore_patterns("__p*"))
    training = [f"collateral.stages.{stage}" for stage in TRAINING]
    before = asked(tmp_path, *training), asked(tmp_path, "collateral.stages.tables")
    files = [path for pattern in PRESENTING for path in folder.glob(pattern)]
    assert len(files) > 14
    for path in files:
        path.write_text(f"{path.read_text()}\nCHANGED = True\n")
    assert asked(tmp_path, *training) == before[0]
    assert asked(tmp_path, "collateral.stages.tables") != before[1]


def test_batch_sizes_count_for_all_training_jobs(tmp_path):
    folder = tmp_path / "collateral"
    shutil.copytree(Path(module.__file__).parents[1], folder, ignore=shutil.ignore_patterns("__p*"))
    names = [f"collateral.stages.{stage}" for stage in ("train", "shadow", "unlearn", "probe")]
    before = [asked(tmp_path, name) for name in names]
    path = folder / "contract/conventions.py"
    path.write_text(path.read_text().replace("LEAST_BATCH = 8", "LEAST_BATCH = 9"))
    after = [asked(tmp_path, name) for name in names]
    assert all(new != old for new, old in zip(after, before, strict=True))


ASK_STAGE = """
import sys
from collateral.plan.fingerprint import stage_code
print(stage_code(sys.argv[2]))
"""


@pytest.mark.parametrize(
    "file", ["stages/theory.py", "theory/checks.py", "theory/interpolation.py"]
)
def test_the_code_of_the_plug_in_that_ships_counts(tmp_path, file):
    for name in ("collateral", "paper"):
        source = Path(module.__file__).parents[2] / name
        shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("__p*"))
    before = [asked(tmp_path, name, question=ASK_STAGE) for name in ("theory", "tables")]
    path = tmp_path / "paper" / file
    path.write_text(f"{path.read_text()}\nCHANGED = True\n")
    after = [asked(tmp_path, name, question=ASK_STAGE) for name in ("theory", "tables")]
    assert (before[0] != after[0], before[1] == after[1]) == (True, True)


def test_every_stage_has_a_fingerprint_of_its_own():
    found = {stage: fingerprint([f"collateral.stages.{stage}"]) for stage in STAGE_KIND.names()}
    assert {"data", "split", "train", "unlearn", "metrics", "report"} <= set(found)
    assert len(set(found.values())) == len(found)
