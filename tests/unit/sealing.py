"""Records for files that a test made up: what the jobs that would have made them write."""

from pathlib import Path

from collateral.results import layout
from collateral.results.chain import SEAL, seal_folder, write_record, write_sealed
from collateral.results.files import read_json, write_json
from collateral.results.gates import write_gates

OF_JOBS = (
    *(layout.MODEL, layout.OUTPUTS, layout.HISTORY, layout.EPOCHS, layout.EMBEDDINGS),
    *(layout.TRIALS, layout.SELECTED, layout.SUPPORT_SIZES),
)


def seal(root: Path) -> Path:
    """Write the records of all files below a benchmark's folder, and return it."""
    if not (root / layout.PROBLEMS).exists():
        write_json(root / layout.PROBLEMS, {"problems": []})
    if not (root / layout.GATES).exists():
        write_gates(root / layout.GATES, [])
    for name in (layout.TABLES, layout.FIGURES):
        if (root / name).is_dir():
            seal_folder(root / name)
    files: dict[Path, list[Path]] = {}
    for path in sorted(root.rglob("*")):
        if path.name in OF_JOBS or layout.RECORDS.get(path.name, layout.GLANCE) != layout.GLANCE:
            files.setdefault(layout.record_of(path), []).append(path)
    for record, made in files.items():
        known = _plain(record) if record.exists() else {}
        write_record(record, known, root=root, files=made)
    for path in root.rglob(layout.COST):
        write_sealed(path, _plain(path), root)
    return root


def _plain(path: Path) -> dict:
    """Return what a JSON file says, without what sealing it adds."""
    content = read_json(path)
    return {key: value for key, value in content.items() if key not in (SEAL, "place", "files")}
