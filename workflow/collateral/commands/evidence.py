"""Write the record of a deletion request: a web page, the same numbers as JSON, and their sources.

The folder is an RO-Crate, so that archives can read it. The record has measurements and says what
they do not show; it does not say whether a law is met. `collateral verify evidence.json` computes
its numbers again. Options: --pictures adds images that the method harmed, --sign signs
evidence.json.
"""

import hashlib
import shutil
import subprocess
from datetime import UTC, date, datetime
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from subprocess import DEVNULL
from tempfile import TemporaryDirectory
from typing import IO, Annotated, Any

import collateral
from collateral.commands.verify import compute_again
from collateral.plan.diff import first_lines
from collateral.report.evidence import (
    changed_files,
    check_again,
    copy_records,
    differences,
    gather,
    hash_records,
    read_cell,
    render,
)
from collateral.report.images import build_gallery
from collateral.report.own_part import same_parts
from collateral.results import layout
from collateral.results.address import RESULTS, FoundRun, check_has_model, find_run
from collateral.results.files import InvalidResultError, read_json, write_json
from collateral.results.provenance import hash_files

PAGE, RECORD, RECORDS = "evidence.html", "evidence.json", "records"
CRATE = "ro-crate-metadata.json"
NAMESPACE = "collateral-evidence"  # namespace of the SSH signature
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
SIGNATURE = f"{RECORD}.sig"
# Keys of the record that are not computed from results. The record's author states the first three.
STATED, OTHERS = ("made", "requested", "version"), ("pictures", "files")
FORMATS = {".html": "text/html", ".json": "application/json", ".csv": "text/csv"}
ELSEWHERE = "The config has changed since the record was made, but not what concerns this run"
TERMS = "Not stated. The record is for the file of a request."


def evidence(
    cell: Annotated[
        str, "cell of the run, such as digits/untypical_3", {"metavar": "BENCHMARK/CELL"}
    ],
    run: Annotated[str, "run, such as ltd or retrain", {"metavar": "RUN"}],
    *,
    seed: Annotated[
        int | None, "seed of the model that is in use; default: the run's first seed"
    ] = None,
    requested: Annotated[
        date | None,
        "date of the deletion request, such as 2026-03-31",
        {"type": date.fromisoformat},
    ] = None,
    out: Annotated[Path | None, "new folder; default: evidence/BENCHMARK-CELL-RUN-SEED"] = None,
    pictures: Annotated[bool, "show images on the page"] = False,
    sign: Annotated[Path | None, "your SSH key, such as ~/.ssh/id_ed25519"] = None,
) -> None:
    """Write the folder of the record; print its path and the command that checks it."""
    found = find_run(cell, run, seed)
    if run == layout.ORIGINAL:
        raise ValueError("original is the model before: nothing was unlearned")
    check_has_model(found)
    name = f"{found.benchmark.name}-{found.cell}-{found.run}-{found.seed}"
    folder = out or Path("evidence") / name
    _check_folder(folder, found)
    if sign:
        _check_key(sign)
    table = read_cell(found)
    content = {
        "made": date.today().isoformat(),
        "requested": requested and requested.isoformat(),
        "version": collateral.__version__,
        "pictures": pictures,
        **gather(found, table),
    }
    gallery = build_gallery(found.benchmark, table) if pictures else None
    try:
        write_folder(folder, found, content, render(content, gallery))
        if sign:
            _sign(folder, sign)
    except BaseException:  # delete an incomplete record, which would block the next attempt
        shutil.rmtree(folder, ignore_errors=True)
        raise
    print(f"{folder / PAGE}: {found}{f'; {SIGNATURE}: namespace {NAMESPACE}' if sign else ''}")
    print(f"check it: collateral verify {folder / RECORD}")


def _check_folder(folder: Path, found: FoundRun) -> None:
    """Raise an error if the record cannot be written to the folder, or if rocrate is missing."""
    if folder.is_dir() and any(folder.iterdir()):
        raise ValueError(f"--out: {folder}: is not empty; name a new folder")
    if found.benchmark.parent.resolve() != RESULTS.resolve():
        raise ValueError(
            f"{found.benchmark}: not in {RESULTS}/ of this folder, where `collateral verify` looks "
            "for it; run the command in the folder above the results"
        )
    if folder.resolve().is_relative_to(RESULTS.resolve()):
        raise ValueError(f"--out: {folder}: lies in the results; choose a place outside of them")
    if not find_spec("rocrate"):
        raise ValueError("needs rocrate; install it: pip install 'collateral[evidence]'")


def _check_key(key: Path) -> None:
    """Raise if the record could not be signed: no key, or no ssh-keygen."""
    if not key.expanduser().is_file():
        raise ValueError(f"--sign: {key}: there is no such file")
    if not shutil.which("ssh-keygen"):
        raise ValueError("--sign: there is no program ssh-keygen here (of OpenSSH)")


def write_folder(folder: Path, found: FoundRun, content: dict[str, Any], page: str) -> None:
    """Write the page, the records and the crate; then write their hashes to the JSON file."""
    for place, copy in copy_records(found).items():
        target = folder / RECORDS / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(copy)
    (folder / PAGE).write_text(page, encoding="utf-8")
    parts = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    _write_crate(folder, content, [*parts, Path(RECORD)])
    files = hash_files([folder / name for name in (*parts, Path(CRATE))], folder)
    write_json(folder / RECORD, {**content, "files": files}, sort_keys=False)


def _write_crate(folder: Path, content: dict[str, Any], parts: list[Path]) -> None:
    """Describe the folder as an RO-Crate 1.1 with the profile Process Run Crate."""
    # Imported here and not at the top, because only this function needs rocrate.
    crate = import_module("rocrate.rocrate").ROCrate(version="1.1")
    entity = import_module("rocrate.model.contextentity").ContextEntity

    def add(identifier: str, kind: str, **properties: Any) -> Any:
        return crate.add(entity(crate, identifier, {"@type": kind, **properties}))

    run = content["run"]
    crate.name = f"Record of unlearning: {run['address']}, {run['label']}, seed {run['seed']}"
    crate.description = "Measurements of a model from which images were unlearned."
    crate.datePublished = datetime.now(UTC)
    crate.license = add("#terms", "CreativeWork", name="Terms of use", description=TERMS)
    crate.root_dataset["conformsTo"] = add(
        PROFILE, "CreativeWork", name="Process Run Crate", version="0.5"
    )
    files = {
        path: crate.add_file(
            dest_path=path.as_posix(),
            properties={"name": path.name, "encodingFormat": FORMATS[path.suffix]},
        )
        for path in parts
    }
    results = [files[Path(name)] for name in (PAGE, RECORD)]
    crate.root_dataset["mentions"] = add(
        "#record",
        "CreateAction",
        name=content["commands"]["record"],
        description="Collect the numbers of a run, and write them as a record.",
        instrument=add(
            "#collateral", "SoftwareApplication", name="Collateral", version=collateral.__version__
        ),
        object=[file for file in files.values() if file not in results],
        result=results,
        endTime=datetime.now(UTC).isoformat(timespec="seconds"),
        actionStatus="http://schema.org/CompletedActionStatus",
    )
    crate.metadata.write(folder)


def _sign(folder: Path, key: Path) -> None:
    """Sign evidence.json with an SSH key."""
    # The file is passed as standard input.
    # With a file name, ssh-keygen might keep an old signature and report success.
    with (folder / SIGNATURE).open("wb") as signature:
        if not _keygen(folder / RECORD, "sign", "-f", key.expanduser(), stdout=signature):
            raise ValueError(f"--sign: {key}: ssh-keygen could not sign; no record was written")


def verify_evidence(path: Path) -> None:
    """Compare a record with its folder's files, its signature and the results; print faults."""
    record, signature = _read_record(path), path.with_name(SIGNATURE)
    listed = record["files"]
    faults = [
        f"{name}: {'not the' if name in listed else 'no'} file that {path.name} lists"
        for name in changed_files(path.parent, listed, (path.name, SIGNATURE))
    ]
    is_signed = signature.exists()
    # This checks the signature, but not whose key made it.
    if is_signed and not _keygen(path, "check-novalidate", "-s", signature):
        faults.append(f"{SIGNATURE}: no signature of {path.name}")
    about = record["run"]
    found = find_run(about["address"], about["run"], about["seed"])
    differing, elsewhere = _compare_with_results(record, path.parent, found)
    faults += differing
    print("\n".join(faults) or f"{path}: all numbers are those of {found.benchmark}")
    if faults:
        raise SystemExit(1)
    if elsewhere:
        print(f"{ELSEWHERE}; other than in the record: {', '.join(elsewhere)}")
    stated = ", ".join(f"{key} ({record[key] or 'not stated'})" for key in STATED)
    print(f"not checked, {'only' if is_signed else 'and not'} signed: {stated}, {CRATE}")
    if is_signed:
        print(f"{SIGNATURE} fits; whose key it is: ssh-keygen -Y verify (docs/trust.md)")


def _read_record(path: Path) -> dict[str, Any]:
    try:
        record = read_json(path)
    except InvalidResultError as error:
        # Only the reason is shown, because the full message advises to delete the file.
        raise ValueError(f"{path}: {error.reason}") from None
    if not isinstance(record, dict) or not {"run", *STATED, *OTHERS} <= record.keys():
        raise ValueError(f"{path}: neither a folder of results nor an evidence.json")
    return record


def _compare_with_results(
    record: dict[str, Any], folder: Path, found: FoundRun
) -> tuple[list[str], list[str]]:
    """Compute a record's numbers, files and page again from the results, and compare.

    Returns the differences, and the files that differ only in what does not concern the record.
    """
    with TemporaryDirectory() as name:
        long = compute_again(found.benchmark / found.cell / layout.METRICS_RECORD, Path(name))
        table, text = check_again(found, long), long.read_bytes()
    checked = {key: record[key] for key in record if key not in (*STATED, *OTHERS)}
    now = gather(found, table)
    if faults := list(differences(checked, now)):
        # If numbers differ, the page also differs and is not compared.
        is_other = any(line.startswith("request.indices_sha256") for line in faults)
        other = [f"{found.benchmark}: made for another request"] if is_other else []
        return [*other, *first_lines(faults)], []
    gallery = build_gallery(found.benchmark, table) if record["pictures"] else None
    page = hashlib.sha256(render(record, gallery).encode()).hexdigest()
    copies = {f"{RECORDS}/{place}": digest for place, digest in hash_records(found).items()}
    expected = {PAGE: page, **copies}
    names = sorted({*expected, *record["files"]} - {CRATE})
    differing = [name for name in names if record["files"].get(name) != expected.get(name)]
    copies_now = {**copy_records(found), f"{found.cell}/{layout.METRICS}": text}
    same = same_parts(folder / RECORDS, copies_now, found.cell, record["columns"])
    elsewhere = [name for name in differing if name.removeprefix(f"{RECORDS}/") in same]
    return [
        f"{name}: not what Collateral {collateral.__version__} writes from these results"
        for name in differing
        if name not in elsewhere
    ], elsewhere


def _keygen(
    file: Path, action: str, option: str, value: Path, stdout: IO[bytes] | int = DEVNULL
) -> bool:
    """Sign a file, or check its signature; return whether ssh-keygen was successful."""
    command = ["ssh-keygen", "-Y", action, "-n", NAMESPACE, option, str(value)]
    try:
        with file.open("rb") as signed:
            return subprocess.run(command, stdin=signed, stdout=stdout, check=False).returncode == 0
    except FileNotFoundError:
        raise ValueError(
            f"{file}: its signature needs the program ssh-keygen (of OpenSSH)"
        ) from None
