"""Which edits change the fingerprint of a stage's code, tried on a small package of its name."""

import os
import shutil
import subprocess
import sys

import pytest

from collateral.cli import stages
from collateral.core import fingerprint as module
from collateral.plan.fingerprint import fingerprint

FILES = {
    "__init__.py": "",
    "config/__init__.py": "",
    "config/limits.py": "LIMIT = 3\n",
    "core/__init__.py": "",
    "core/deep.py": "DEPTH = 1\n",
    "core/files.py": "from collateral.core.deep import DEPTH\n\nwrite = lambda x: x + DEPTH\n",
    "core/unused.py": "X = 1\n",
    "methods/__init__.py": "",
    "methods/mine/params.py": "from collateral.config.limits import LIMIT\n\nEPOCHS = LIMIT\n",
    "methods/mine/method.py": "from collateral.methods.mine.params import EPOCHS\n\nN = EPOCHS\n",
    "stages/__init__.py": "",
    "stages/unlearn.py": '''"""Unlearn."""

from collateral.config.limits import LIMIT
from collateral.results.files import write


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


class Package:
    """A small package `collateral` that a test may edit."""

    def __init__(self, folder):
        self.folder = folder
        for name, text in FILES.items():
            self.write(name, text)
        shutil.copy(module.__file__, folder / "collateral/core/fingerprint.py")

    def write(self, name, text):
        path = self.folder / "collateral" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def edit(self, name, old, new):
        text = (self.folder / "collateral" / name).read_text()
        assert text.count(old) == 1
        self.write(name, text.replace(old, new))

    def fingerprint(self, *modules):
        command = [sys.executable, "-B", "-c", ASK, str(self.folder / "plugins"), *modules]
        env = {**os.environ, "PYTHONPATH": str(self.folder)}
        done = subprocess.run(
            command, cwd=self.folder, env=env, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()


@pytest.fixture
def package(tmp_path):
    return Package(tmp_path)


def is_changed_by(package, name, old, new, modules=(STAGE, METHOD)):
    before = package.fingerprint(*modules)
    package.edit(name, old, new)
    return package.fingerprint(*modules) != before


def test_it_is_the_same_twice_and_in_any_order(package):
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
def test_what_does_not_run_does_not_count(package, old, new):
    assert not is_changed_by(package, "stages/unlearn.py", old, new)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("stages/unlearn.py", "write(x) + LIMIT", "write(x) - LIMIT"),
        ("methods/mine/method.py", "N = EPOCHS", "N = 2 * EPOCHS"),
        ("core/files.py", "x + DEPTH", "x * DEPTH"),
        ("core/deep.py", "DEPTH = 1", "DEPTH = 2"),
    ],
    ids=["the stage", "the method", "what it imports", "what that imports"],
)
def test_what_runs_counts(package, name, old, new):
    assert is_changed_by(package, name, old, new)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("core/unused.py", "X = 1", "X = 2"),
        ("config/limits.py", "LIMIT = 3", "LIMIT = 4"),
        ("methods/mine/params.py", "EPOCHS = LIMIT", "EPOCHS = 2 * LIMIT"),
    ],
    ids=["not imported", "config", "params"],
)
def test_what_is_not_imported_or_on_the_command_line_does_not_count(package, name, old, new):
    assert not is_changed_by(package, name, old, new)


def test_a_method_counts_only_where_it_is_named(package):
    edit = ("methods/mine/method.py", "N = EPOCHS", "N = 2 * EPOCHS")
    assert not is_changed_by(package, *edit, modules=[STAGE])


@pytest.mark.parametrize(
    "statement",
    [
        "import collateral.core.deep",
        "import collateral.core.deep as deep",
        "from collateral.core import deep",
        "from collateral.core.deep import DEPTH",
        "def load():\n    from collateral.core.deep import DEPTH",
        "if True:\n    import json, collateral.core.deep",
    ],
)
def test_every_form_of_import_counts(package, statement):
    package.write("stages/other.py", f"{statement}\n")
    edit = ("core/deep.py", "DEPTH = 1", "DEPTH = 2")
    assert is_changed_by(package, *edit, modules=["collateral.stages.other"])


def test_the_names_of_modules_count(package):
    package.write("stages/copy.py", FILES["stages/unlearn.py"])
    assert package.fingerprint("collateral.stages.copy") != package.fingerprint(STAGE)


def test_a_plug_in_counts_with_what_it_imports_beside_it(package):
    plug_in = package.folder / "plugins/own"
    plug_in.mkdir(parents=True)
    (plug_in / "method.py").write_text("from collateral.methods.own.support import pick\n")
    (plug_in / "support.py").write_text("pick = max\n")
    before = package.fingerprint(STAGE, "collateral.methods.own.method")
    (plug_in / "support.py").write_text("pick = min\n")
    assert package.fingerprint(STAGE, "collateral.methods.own.method") != before


def test_nothing_is_imported_on_the_way(package):
    package.write("stages/heavy.py", "import torch\nfrom collateral.core.heavy import X\n")
    package.write("core/heavy.py", "raise RuntimeError('imported')\n")
    assert package.fingerprint("collateral.stages.heavy")


def test_a_module_that_is_not_there_is_an_error():
    with pytest.raises(ModuleNotFoundError, match=r"collateral\.stages\.unlern"):
        fingerprint(["collateral.stages.unlern"])


def test_every_stage_has_a_fingerprint_of_its_own():
    found = {stage: fingerprint([f"collateral.stages.{stage}"]) for stage in stages()}
    assert {"data", "split", "train", "unlearn", "metrics", "report"} <= set(found)
    assert len(set(found.values())) == len(found)
