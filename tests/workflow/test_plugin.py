"""The promise of docs/extend.md, kept by running its own code."""

import re
from pathlib import Path

import pytest
from conftest import AFTER_OUTPUTS, REPOSITORY, SMOKE

pytestmark = pytest.mark.workflow
GUIDE = REPOSITORY / "docs/extend.md"


def code_in_guide() -> dict[str, str]:
    """Return the guide's files by name: each code block follows the line that names it."""
    found = re.findall(
        r"`my_methods/last_layer/(\w+\.py)`[^\n]*\n\n```python\n(.*?)```", GUIDE.read_text(), re.S
    )
    return dict(found)


def test_the_guides_method_is_short():
    assert code_in_guide().keys() == {"params.py", "method.py"}
    assert sum(len(code.splitlines()) for code in code_in_guide().values()) < 40


def test_a_dropped_in_folder_appears_in_tables_and_figures(project):
    folder = project.folder / "my_methods/last_layer"
    folder.mkdir(parents=True)
    for name, code in code_in_guide().items():
        (folder / name).write_text(code)
    config = project.folder / "configs/smoke.yaml"
    text = config.read_text().replace(
        "    methods:\n", "    methods:\n      last_layer: {epochs: 1, batch_size: 32}\n"
    )
    config.write_text(f"plugins: [my_methods]\n{text}")
    planned = project.planned(*SMOKE)
    assert planned == {"unlearn": 2, "plan": 1, **dict.fromkeys(AFTER_OUTPUTS, 1)}
    done = project.snakemake(*SMOKE)
    assert done.returncode == 0, done.stdout + done.stderr
    table = Path(project.folder / "results/smoke/tables/digit_3-50/main.md").read_text()
    assert "| CF-1 |" in table
    assert "CF-1" in (project.folder / "results/smoke/report.html").read_text()
