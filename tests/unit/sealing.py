"""Records for files that a test made up: what the jobs that would have made them write."""

from collections.abc import Iterable
from pathlib import Path

from collateral.results import layout
from collateral.results.files import read_json, write_json
from collateral.results.provenance import INPUTS, SEAL, hash_files, write_record, write_signed

OF_JOBS = (
    *(layout.MODEL, layout.OUTPUTS, layout.HISTORY, layout.EPOCHS, layout.EMBEDDINGS),
    *(
        layout.TRIALS,
        layout.SELECTED,
        layout.SUPPORT_SIZES,
        layout.PROBE_RESULT,
        layout.EXPOSURE_MARGINS,
    ),
)


def seal(root: Path) -> Path:
    """Write the records of all files below a benchmark's folder, and return it."""
    for name in ("problems", "gates"):
        if not (root / f"{name}.json").exists():
            write_json(root / f"{name}.json", {name: []})
    for name in (layout.TABLES, layout.FIGURES):
        if (root / name).is_dir():
            sign_folder(root / name)
    for record, made in _by_record(root).items():
        known = _plain(record) if record.exists() else {}
        write_record(record, known, root=root, files=made)
    for path in root.rglob(layout.COST):
        write_signed(path, _plain(path), root)
    return root


def sign_folder(folder: Path, inputs: Iterable[Path] = ()) -> None:
    """Write a record with the hashes of all files in a folder, which were made by one job.

    Hidden files are left out: a job that was killed may have left a temporary one.
    """
    found = {path.relative_to(folder): path for path in sorted(folder.rglob("*")) if path.is_file()}
    is_hidden = {name: any(part.startswith(".") for part in name.parts) for name in found}
    files = [found[name] for name in found if not is_hidden[name] and str(name) != layout.RECORD]
    about = {INPUTS: hash_files(inputs, folder.parent)}
    write_record(folder / layout.RECORD, about, root=folder.parent, files=files)


def _by_record(root: Path) -> dict[Path, list[Path]]:
    """Return the files that a job's record names, by record."""
    files: dict[Path, list[Path]] = {}
    for path in sorted(root.rglob("*")):
        if path.name in OF_JOBS or layout.RECORDS.get(path.name, layout.GLANCE) != layout.GLANCE:
            files.setdefault(layout.record_path(path), []).append(path)
    return files


def _plain(path: Path) -> dict:
    """Return what a JSON file says, without what sealing it adds."""
    content = read_json(path)
    return {key: value for key, value in content.items() if key not in (SEAL, "place", "files")}
