"""The notebook of docs/ runs from the first cell to the last, and is kept without its outputs."""

import pytest
from conftest import REPOSITORY, Project

nbformat = pytest.importorskip("nbformat")
NOTEBOOK = REPOSITORY / "docs/first-run.ipynb"

pytestmark = pytest.mark.workflow


@pytest.fixture
def notebook():
    return nbformat.read(NOTEBOOK, as_version=4)


def test_the_notebook_is_kept_without_outputs(notebook):
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(cells) > 5
    assert all(cell.outputs == [] and cell.execution_count is None for cell in cells)


@pytest.mark.slow
def test_the_notebook_makes_a_table_a_figure_and_a_page(notebook, tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    for name, value in Project(REPOSITORY).environment().items():
        monkeypatch.setenv(name, value)
    # The kernel of this environment, not one that the user has installed elsewhere.
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "1")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    place = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=None, resources=place).execute()
    table, near, figure = [one.data for cell in notebook.cells for one in results(cell)]
    assert all(f"<th>{label}</th>" in table["text/html"] for label in ("Retrain", "FT", "GA"))
    assert all(f"<th>{run}</th>" in near["text/html"] for run in ("ft", "ga"))
    assert len(figure["image/png"]) > 10_000
    assert "GA" in (tmp_path / "results/first/report.html").read_text()


def results(cell) -> list:
    """Return what a cell shows below itself."""
    return [one for one in cell.get("outputs", []) if one.output_type == "execute_result"]
