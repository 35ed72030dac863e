"""The record of a request: its numbers are those of the long table, and a change is noticed."""

import csv
import hashlib
import json
import re
import shutil
import subprocess
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest
from made_benchmark import MIXED, PART, RUNS, SEEDS, WHOLE, Behaviour, Made, compute

from collateral.cli import main
from collateral.commands.evidence import NAMESPACE
from collateral.contract.verdicts import MEASURES
from collateral.findings.checks import NEED_RETRAIN
from collateral.results import layout
from collateral.results.address import FoundRun
from collateral.results.gates import read_gates
from collateral.results.plan import About, BenchmarkPlan
from collateral.results.provenance import INPUTS, content_hash
from collateral.stages.split import make_split

pytest.importorskip("rocrate")
SEED = SEEDS[2]
SIGNER = "owner@example.org"
needs_ssh = pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="needs ssh-keygen")


@pytest.fixture
def here(animals, tmp_path, monkeypatch):
    """A folder in which results/ has the made-up benchmark."""
    (tmp_path / "results").symlink_to(animals.root.parent)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(cell: str, run: str, *options: str, seed: int = SEED) -> Path:
    """Write a record, and return its folder."""
    main(["evidence", f"animals/{cell}", run, "--seed", str(seed), "--out", "record", *options])
    return Path("record")


def read(folder: Path) -> dict:
    return json.loads((folder / "evidence.json").read_text())


def numbers_in(content):
    """Yield all numbers with a source, wherever they stand in a record."""
    parts = content.values() if isinstance(content, dict) else content
    if isinstance(content, dict) and "source" in content:
        yield content
    elif isinstance(content, dict | list):
        for part in parts:
            yield from numbers_in(part)


def long_table(root: Path, cell: str) -> dict[tuple[str, ...], dict[str, float]]:
    found = defaultdict(dict)
    with (root / cell / layout.METRICS).open() as file:
        for row in csv.DictReader(file):
            key = (row["run"], row["metric"], row["set"], row["at"])
            if row["value"]:
                found[key][row["seed"]] = float(row["value"])
    return found


@pytest.mark.parametrize(("cell", "run"), [(PART, "ltd"), (MIXED, "ga"), (PART, "ltd@k=20")])
def test_every_number_is_one_of_the_long_table(here, animals, cell, run):
    record, rows = read(write(cell, run)), long_table(animals.root, cell)
    numbers = list(numbers_in(record))
    assert len(numbers) > 30
    for one in numbers:
        place = tuple(one["source"].split("|"))
        by_seed = {seed: value for seed, value in rows[place].items() if seed}
        assert one.get("by_seed", {}) == by_seed
        mean = sum(by_seed.values()) / len(by_seed) if by_seed else rows[place][""]
        assert one["value"] == pytest.approx(mean, abs=1e-15)
        for end in {"low", "high"} & one.keys():
            assert one[end] == rows[place[0], f"{place[1]}_{end}", *place[2:]][""]
    tested = record["verdict"]["measures"]  # none of a run of a sweep
    for row, at in zip(tested, MEASURES if tested else (), strict=True):
        assert row["margin"]["source"] == f"{run}|margin||{at}"
        ends = [rows[run, f"equivalence_{end}", "", at][""] for end in ("low", "high")]
        assert row["equivalence"] == ends


def test_attacks_are_on_this_model_on_retrain_and_on_the_model_before(here):
    record = read(write(PART, "ltd"))
    assert record["columns"] == {
        "ltd": "This model",
        "retrain": "Retrain",
        "original": "Model before",
    }
    assert len(record["attacks"]) == 11  # RMIA TPR takes 1,000 non-members; the last: shadow models
    for row in (*record["accuracies"], *record["attacks"][:-1]):
        assert row["numbers"].keys() == record["columns"].keys()
    assert record["attacks"][-1]["numbers"].keys() == {"ltd", "original"}
    assert [row["numbers"].keys() for row in record["losses"]] == [{"ltd", "original"}] * 4


def test_the_request_has_numbers_classes_and_hashes_but_no_names(here, animals):
    record, split = read(write(MIXED, "ltd")), animals.made.split(MIXED)
    assert record["request"]["images"] == len(split.forget) == 24
    counts = record["request"]["classes"].values()
    assert sum(one["forgotten"] for one in counts) == 24
    assert sum(one["of"] for one in counts) == record["request"]["of"] == split.num_train
    indices = json.dumps(split.forget.tolist()).encode()
    assert record["request"]["indices_sha256"] == hashlib.sha256(indices).hexdigest()
    assert "withdrawn.txt" not in json.dumps(record)


def test_the_page_shows_the_same(here):
    folder = write(PART, "ltd", "--requested", "2026-06-03")
    record, page = read(folder), (folder / "evidence.html").read_text()
    assert record["requested"] == "2026-06-03"
    assert record["verdict"]["sentence"]
    texts = [one["text"] for one in numbers_in({**record, "groups": []})]
    texts += [record["verdict"]["sentence"], *record["limits"], *record["missing"]]
    texts += [row["label"] for row in record["verdict"]["measures"]]
    texts += record["commands"].values()
    texts += ["2026-06-03", record["made"], record["request"]["indices_sha256"]]
    texts += [gate["text"] for gate in record["checks"]]
    plain = re.sub(r"<[^>]*>", "", page)
    missing = [text for text in texts if text.replace("'", "&#39;").replace("`", "") not in plain]
    assert missing == []
    # Holm and Benjamini and Hochberg give each interval a level of its own.
    assert "[at the level of its test]" in plain and "[95 %" not in plain


def test_the_record_never_says_that_a_law_is_met(here):
    folder = write(PART, "ltd")
    texts = [(folder / name).read_text().lower() for name in ("evidence.html", "evidence.json")]
    assert not [text for text in texts if re.search("complian|comply|certif", text)]


def test_checks_are_those_of_the_page_and_green_ones_come_last(here, animals):
    record = read(write(PART, "ltd"))
    gates = [gate for gate in read_gates(animals.root / layout.GATES) if gate.cell == PART]
    found = [(check["name"], check["colour"], check["text"]) for check in record["checks"]]
    assert sorted(found) == sorted((gate.name, gate.colour, gate.text) for gate in gates)
    colours = [check["colour"] for check in record["checks"]]
    assert {"amber", "green"} <= {*colours}
    assert colours == sorted(colours, key=["red", "amber", "grey", "green"].index)


def test_with_a_red_check_there_is_no_verdict(here):
    record = read(write(WHOLE, "ltd"))
    assert record["checks"][0]["colour"] == "red"
    assert record["verdict"]["word"] is None and record["verdict"]["measures"] == []
    assert "a check failed: exact copies" in record["verdict"]["sentence"]


def test_retrain_may_be_the_model_that_is_used(here):
    record = read(write(PART, "retrain"))
    assert "This model is Retrain itself" in record["verdict"]["sentence"]
    assert record["columns"] == {"retrain": "This model", "original": "Model before"}
    assert record["losses"][0]["numbers"].keys() == {"original"}


@pytest.mark.parametrize("run", ["ltd", "retrain"])
def test_the_model_before_is_the_base_of_the_same_seed(here, run):
    before, *_ = read(write(PART, run))["models"]
    assert (before["role"], before["seed"]) == ("before", SEED)
    assert before["file"] == f"base/seed-{SEED}/{layout.MODEL}"


def test_the_model_before_is_the_one_that_the_run_started_from(here, monkeypatch):
    """The run of a later request starts from its own model."""
    own, start = FoundRun.record.fget, f"{WHOLE}/seed-{SEEDS[0]}/ga/{layout.MODEL}"
    later = property(lambda run: {**own(run), INPUTS: {"a.npz": "1", start: "2"}})
    monkeypatch.setattr(FoundRun, "record", later)
    before, after, _ = read(write(PART, "ltd"))["models"]
    assert (before["file"], before["seed"]) == (start, SEEDS[0])
    assert after["file"] == f"{PART}/seed-{SEED}/ltd/{layout.MODEL}"


def test_the_records_behind_the_numbers_are_in_the_folder(here, animals):
    folder = write(PART, "ltd")
    for place in (layout.PLAN, f"{PART}/metrics.csv"):
        assert (folder / "records" / place).read_bytes() == (animals.root / place).read_bytes()
    split = animals.root / PART / "split.json"
    signed, copy = (
        json.loads(path.read_text()) for path in (split, folder / "records" / PART / "split.json")
    )
    del signed["sha256"]
    assert copy == {**signed, "num_earlier": 0, "copy_of_sha256": content_hash(split)}
    found = {path.parent.name for path in (folder / "records" / PART).rglob(layout.RECORD)}
    assert found == {"ltd", "retrain"}
    assert len([*(folder / "records/base").rglob(layout.RECORD)]) == len(SEEDS)
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert files - read(folder)["files"].keys() == {"evidence.json"}


def test_pictures_are_in_it_only_if_asked_for(here):
    plain = (write(PART, "ga") / "evidence.html").read_text()
    shutil.rmtree("record")
    shown = (write(PART, "ga", "--pictures") / "evidence.html").read_text()
    assert "data:image" not in plain
    assert shown.count("data:image") == 1 and "<figure>" in shown


def change(folder: Path, name: str, old: str, new: str) -> None:
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1))


def test_a_record_that_was_not_changed_is_confirmed(here, capsys):
    main(["verify", str(write(PART, "ltd") / "evidence.json")])
    said = capsys.readouterr().out
    assert "all numbers are those of results/animals" in said
    assert "not checked, and not signed: made (20" in said
    assert "requested (not stated)" in said


def test_a_record_with_pictures_is_confirmed(here, capsys):
    main(["verify", str(write(PART, "ga", "--pictures") / "evidence.json")])
    assert "all numbers are those of results/animals" in capsys.readouterr().out


def forge_page(folder, record):
    change(folder, "evidence.html", "Record of unlearning", "Proof of unlearning")


def forge_copy(folder, record):
    change(folder, f"records/{PART}/metrics.csv", "ltd", "LTD")


def forge_key(folder, record):
    record["complies"] = True


def forge_date(folder, record):
    record["made"] = "2020-01-01"


def drop_crate(folder, record):
    del record["files"]["ro-crate-metadata.json"]


def drop_copy(folder, record):
    (folder / "records" / layout.PLAN).unlink()
    del record["files"][f"records/{layout.PLAN}"]


def add_file(folder, record):
    (folder / "certificate.html").write_text("forgotten")
    record["files"]["certificate.html"] = ""


@pytest.mark.parametrize(
    ("forge", "fault"),
    [
        (forge_page, "evidence.html: not what Collateral"),
        (forge_copy, f"records/{PART}/metrics.csv: not what Collateral"),
        (forge_key, "complies: true in the record, null from the results"),
        (forge_date, "evidence.html: not what Collateral"),
        (drop_crate, "ro-crate-metadata.json: no file that evidence.json lists"),
        (drop_copy, "records/plan.json: not what Collateral"),
        (add_file, "certificate.html: not what Collateral"),
    ],
)
def test_a_forgery_with_fitting_hashes_is_noticed(here, capsys, forge, fault):
    folder = write(PART, "ltd")
    record = read(folder)
    forge(folder, record)
    record["files"] = {name: content_hash(folder / name) for name in record["files"]}
    (folder / "evidence.json").write_text(json.dumps(record))
    with pytest.raises(SystemExit):
        main(["verify", str(folder / "evidence.json")])
    assert capsys.readouterr().out.splitlines()[-1].startswith(fault)


def test_a_changed_number_is_noticed(here, capsys):
    folder = write(PART, "ltd")
    value = read(folder)["accuracies"][0]["numbers"]["ltd"]["value"]
    change(folder, "evidence.json", f'"value": {value}', f'"value": {value - 0.01}')
    with pytest.raises(SystemExit) as ended:
        main(["verify", str(folder / "evidence.json")])
    said = capsys.readouterr().out
    assert ended.value.code == 1
    assert said.splitlines()[-1].startswith("accuracies.0.numbers.ltd.value: ")
    assert f"{value} from the results" in said


def test_results_of_another_request_are_said_to_be_so_first(here, capsys):
    folder = write(PART, "ltd")
    record = read(folder)
    record["request"] |= {"indices_sha256": "0", "images": 1}
    record["versions"] = {f"package {number}": "1" for number in range(32)}
    (folder / "evidence.json").write_text(json.dumps(record))
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["verify", str(folder / "evidence.json")])
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.endswith(": made for another request")
    assert lines[-1].startswith("... and ")


def test_a_record_without_its_request_is_named_not_a_crash(here, capsys):
    folder = write(PART, "ltd")
    record = read(folder)
    del record["request"]["indices_sha256"]
    (folder / "evidence.json").write_text(json.dumps(record))
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(["verify", str(folder / "evidence.json")])
    assert ended.value.code == 1
    assert "request.indices_sha256" in capsys.readouterr().out


def test_a_changed_file_is_noticed(here, capsys):
    folder = write(PART, "ltd")
    change(folder, "evidence.html", "Record of unlearning", "Proof of unlearning")
    with pytest.raises(SystemExit):
        main(["verify", str(folder / "evidence.json")])
    assert "evidence.html: not the file that evidence.json lists" in capsys.readouterr().out


def test_numbers_are_computed_from_outputs_and_not_read(animals, tmp_path, monkeypatch, capsys):
    shutil.copytree(animals.root, tmp_path / "results/animals")
    monkeypatch.chdir(tmp_path)
    folder = write(PART, "ltd")
    (tmp_path / "results/animals" / PART / layout.METRICS).write_text("")
    main(["verify", str(folder / "evidence.json")])
    assert "all numbers are those of" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "reason"), [("{", "broken: "), ("{}", "neither a folder of results nor")]
)
def test_verify_says_why_a_file_is_no_record_of_a_request(here, content, reason):
    Path("evidence.json").write_text(content)
    with pytest.raises(SystemExit, match=rf"verify: evidence\.json: {reason}"):
        main(["verify", "evidence.json"])


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("original",), "nothing was unlearned"),
        (("rl", "--seed", str(SEEDS[1])), "diverged"),
        (("ltd", "--out", "results/animals/x"), "lies in the results"),
        (("ltd", "--out", "results"), "is not empty"),
        (("ltd", "--sign", "nokey"), "nokey: there is no such file"),
    ],
)
def test_requests_that_cannot_be_recorded_are_refused(here, words, reason):
    with pytest.raises(SystemExit, match=reason):
        main(["evidence", f"animals/{PART}", *words])
    assert not Path("evidence").exists()


# The signature.


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "key"
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", SIGNER, "-f", str(path)]
    subprocess.run(words, check=True)
    kind, text, _ = path.with_suffix(".pub").read_text().split()
    (tmp_path / "signers").write_text(f'{SIGNER} namespaces="{NAMESPACE}" {kind} {text}\n')
    return path


def is_signed_by_owner(folder: Path) -> bool:
    words = ["ssh-keygen", "-Y", "verify", "-f", "signers", "-I", SIGNER, "-n", NAMESPACE]
    words += ["-s", str(folder / "evidence.json.sig")]
    with (folder / "evidence.json").open("rb") as signed:
        return not subprocess.run(words, stdin=signed, capture_output=True, check=False).returncode


@needs_ssh
def test_a_signature_is_made_and_verified(here, key, capsys):
    folder = write(PART, "ltd", "--sign", str(key))
    assert is_signed_by_owner(folder)
    main(["verify", str(folder / "evidence.json")])
    said = capsys.readouterr().out
    assert "evidence.json.sig fits" in said and "not checked, only signed: made" in said
    change(folder, "evidence.json", "LTD", "XYZ")
    assert not is_signed_by_owner(folder)
    with pytest.raises(SystemExit):
        main(["verify", str(folder / "evidence.json")])
    assert "evidence.json.sig: no signature of evidence.json" in capsys.readouterr().out


@needs_ssh
def test_signing_with_a_file_that_is_no_key_writes_no_record(here, key):
    Path("nokey").write_text("this is no key")
    with pytest.raises(SystemExit, match="could not sign; no record was written"):
        write(PART, "ltd", "--sign", "nokey")
    assert not Path("record").exists()
    shutil.copyfile(key, "nokey")
    Path("nokey").chmod(0o600)
    assert is_signed_by_owner(write(PART, "ltd", "--sign", "nokey"))


def test_results_in_another_place_are_refused(animals, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="not in results/ of this folder"):
        main(["evidence", str(animals.root / PART), "ltd", "--out", "record"])
    assert not Path("record").exists()


# Without Retrain, and a model of another tool.


@dataclass(frozen=True)
class Theirs(Made):
    """A benchmark without Retrain, in which another tool made FT."""

    @property
    def plan(self):
        return replace(super().plan, reference=layout.ORIGINAL)

    tracked = tuned = exposed = support_sized = property(lambda self: [])

    def record(self, root, cell, run, seed):
        found = super().record(root, cell, run, seed)
        file = {"name": "theirs.safetensors", "hash": "12ab", "rename": {}}
        return found | ({"method": "given", "weights": file} if run == "ft" else {})


@pytest.fixture(scope="module")
def without_retrain(tmp_path_factory):
    project = tmp_path_factory.mktemp("theirs")
    runs = {"original": Behaviour(kind="reference"), "ft": Behaviour(forgets=1.0)}
    made = Theirs(cells=(PART,), runs=runs)
    options = {"reference": layout.ORIGINAL}
    compute(made, made.write(project / "results"), more=options, probes=())
    return project


def test_without_retrain_and_for_another_tool_it_says_what_is_missing(without_retrain, monkeypatch):
    monkeypatch.chdir(without_retrain)
    folder = write(PART, "ft")
    record, page = read(folder), (folder / "evidence.html").read_text()
    assert record["verdict"] == {
        "word": None,
        "sentence": "There is no verdict, because there is no Retrain.",
        "measures": [],
    }
    assert record["columns"] == {"ft": "This model", "original": "Model before"}
    assert [model["role"] for model in record["models"]] == ["before", "after"]
    assert record["models"][0]["file"] == f"base/seed-{SEED}/{layout.MODEL}"
    assert record["models"][1]["weights"] == {"sha256": "12ab"}
    assert [row["numbers"].keys() for row in record["losses"]] == [{"ft"}] * 4
    missing = " ".join(record["missing"])
    assert "Another tool unlearned this model" in missing
    assert all(name in missing for name in ("There is no Retrain", "verdict", *NEED_RETRAIN))
    assert "unlearned by another tool, file <code>12ab</code>" in page
    assert "compared with the model before" in page and "against the model before" in missing
    assert not [text for text in (page, json.dumps(record)) if "theirs.safetensors" in text]
    main(["verify", str(folder / "evidence.json")])


# Later requests.

LIST = "/home/anna/withdrawn.txt"


@dataclass(frozen=True)
class Rounds(Made):
    """A benchmark in which the list comes after the request for one class."""

    reference: str = layout.RETRAIN
    tracked = tuned = exposed = support_sized = property(lambda self: [])

    @property
    def plan(self):
        return replace(super().plan, reference=self.reference)

    def split(self, cell):
        found = super().split(cell)
        if cell == PART:
            return found
        chosen = {"kind": "files", "path": LIST, "sha256": "34cd"}
        return make_split(self.labels, found.forget, chosen, [self.split(PART).forget])

    def record(self, root, cell, run, seed):
        found = super().record(root, cell, run, seed)
        if cell == MIXED and self.runs[run].kind == "method":
            found[INPUTS][f"{PART}/seed-{seed}/{run}/{layout.MODEL}"] = "56ef"
        return found


def compute_rounds(project: Path, reference: str, rounds: tuple[str, ...] = ()) -> Path:
    runs = {run: RUNS[run] for run in (layout.RETRAIN, layout.ORIGINAL, "ga")}
    if reference == layout.ORIGINAL:
        del runs[layout.RETRAIN]
        runs[layout.ORIGINAL] = Behaviour(kind="reference")
    made = Rounds(cells=(PART, MIXED), runs=runs, reference=reference)
    root = made.write(project / "results")
    compute(made, root, more={"reference": reference}, probes=())
    if rounds:
        last = replace(made, cells=rounds[-1:])
        compute(last, root, more={"reference": reference, "rounds": rounds}, probes=())
    return project


@pytest.fixture(scope="module")
def rounds(tmp_path_factory):
    return compute_rounds(tmp_path_factory.mktemp("rounds"), layout.RETRAIN)


@pytest.fixture
def later(rounds, monkeypatch):
    """The folder of a record of a later request."""
    monkeypatch.chdir(rounds)
    yield write(MIXED, "ga")
    shutil.rmtree("record")


def test_a_later_request_has_the_records_of_the_model_before(later):
    for seed in SEEDS:
        place = f"{PART}/seed-{seed}/ga/record.json"
        assert (later / "records" / place).read_bytes() == Path(
            "results/animals", place
        ).read_bytes()
    main(["verify", str(later / "evidence.json")])


def test_a_later_request_says_that_the_model_before_was_not_attacked(later):
    record, page = read(later), (later / "evidence.html").read_text()
    assert record["columns"]["original"] == "Base" and "Model before" not in page
    assert record["missing"][0].startswith("The model that was in use before this request was not")
    assert "this method&#39;s model after the request before" in page.replace("'", "&#39;")
    assert any("earlier requests stay forgotten" in text for text in record["limits"])


def test_images_that_were_requested_before_are_counted(later):
    first, second = (Made().split(cell).forget for cell in (PART, MIXED))
    again = np.isin(second, first).sum()
    request = read(later)["request"]
    assert again > 0 and request["requested_before"] == again
    assert (request["images"], request["earlier"]) == (len(second) - again, len(first))
    page = (later / "evidence.html").read_text()
    assert f"{again} more of the list were requested before" in page


def test_neither_earlier_indices_nor_the_path_of_the_list_are_in_the_folder(later):
    copy = json.loads((later / "records" / MIXED / "split.json").read_text())
    assert "earlier" not in copy and copy["num_earlier"] == len(Made().split(PART).forget)
    assert copy["chosen"].keys() == {"kind", "sha256", "requested_before"}
    texts = [path.read_text() for path in later.rglob("*") if path.is_file()]
    assert not [text for text in texts if "anna" in text]


def test_without_retrain_a_later_model_is_compared_with_the_base(tmp_path, monkeypatch):
    monkeypatch.chdir(compute_rounds(tmp_path, layout.ORIGINAL))
    folder = write(MIXED, "ga")
    page = (folder / "evidence.html").read_text()
    assert "compared with the base, which was trained on all images" in page
    assert "lost against the base" in page and "the model before" not in page
    assert "counted against the base" in read(folder)["missing"][0]


# A config that gets more cells, runs or rounds after the record.

LATER_CONFIG = "The config has changed since the record was made, but not what concerns this run"


def change_plan(root: Path, **changes) -> None:
    plan = BenchmarkPlan.load(root / layout.PLAN)
    replace(plan, **changes).save(root / layout.PLAN)


def verify_record(folder: Path, capsys) -> list[str]:
    capsys.readouterr()
    try:
        main(["verify", str(folder / "evidence.json")])
    except SystemExit:
        return ["failed", *capsys.readouterr().out.splitlines()]
    return capsys.readouterr().out.splitlines()


@pytest.fixture
def own(animals, tmp_path, monkeypatch):
    """A copy of the results, which a test may change."""
    shutil.copytree(animals.root, tmp_path / "results/animals")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "results/animals"


def test_a_record_is_confirmed_after_cells_runs_and_sweeps_were_added(own, capsys):
    folder, plan = write(PART, "ltd"), BenchmarkPlan.load(own / layout.PLAN)
    assert not verify_record(folder, capsys)[1].startswith(LATER_CONFIG)
    here, size = plan.cells[PART], plan.cells[PART].sweeps[0]
    here = replace(
        here,
        sweeps=(*here.sweeps, replace(size, name="again", values={"ltd": 50, "ltd@k=9": 9})),
        candidates={**here.candidates, "scrub": 4},
        paced=("scrub",),
    )
    change_plan(
        own,
        cells={**plan.cells, PART: here, "spring-02": plan.cells[WHOLE]},
        labels={**plan.labels, "scrub": "SCRUB", "ltd@k=9": "LTD, k 9"},
        about={"scrub": About("SCRUB")},
        figure_width=3.25,
    )
    lines = verify_record(folder, capsys)
    assert lines[0] == "record/evidence.json: all numbers are those of results/animals"
    assert lines[1] == f"{LATER_CONFIG}; other than in the record: records/plan.json"


def test_a_record_is_confirmed_after_a_sweep_was_added_to_its_cell(own, animals, capsys):
    folder = write(PART, "ltd")
    runs = {
        run: how for run, how in animals.made.runs.items() if not run.endswith("teacher_seed=1")
    }
    fewer = replace(animals.made, runs=runs, cells=(PART,))
    compute(fewer, own)
    lines = verify_record(folder, capsys)
    assert lines[1].endswith(f": records/{PART}/metrics.csv, records/{PART}/metrics.json")


def test_the_record_of_the_last_request_is_confirmed_after_another_request(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(compute_rounds(tmp_path, layout.RETRAIN, rounds=(PART, MIXED)))
    folder = write(MIXED, "ga")
    assert "request_accuracy" in (folder / "records" / MIXED / layout.METRICS).read_text()
    compute_rounds(tmp_path, layout.RETRAIN)  # the cell is no longer the last round
    lines = verify_record(folder, capsys)
    assert lines[1].startswith(LATER_CONFIG)


@pytest.mark.parametrize("change_it", [{"select": "teacher"}, {"sharing": "shared"}])
def test_a_plan_that_concerns_the_record_is_named(own, capsys, change_it):
    folder = write(PART, "ltd")
    change_plan(own, **change_it)
    assert any("records/plan.json: not what" in line for line in verify_record(folder, capsys))


# Groups.


@dataclass(frozen=True)
class Grouped(Made):
    """A benchmark whose examples have the columns sex and site."""

    tracked = tuned = exposed = support_sized = property(lambda self: [])

    @cached_property
    def labels(self):
        plain = super().labels
        columns = [
            {
                "sex": np.array(["f", "m"])[of % 2],
                "site": np.array(["a", "b"])[np.arange(len(of)) % 2],
            }
            for of in (plain.train, plain.test)
        ]
        return replace(plain, columns=columns[0], test_columns=columns[1])


@pytest.fixture
def grouped(tmp_path, monkeypatch):
    """The folder of a record with groups."""
    runs = {run: RUNS[run] for run in ("retrain", "original", "ga")}
    made = Grouped(cells=(PART,), runs=runs)
    root = made.write(tmp_path / "results")
    compute(made, root, more={"groups": ["sex", "site"], "positive": ["ox"]}, probes=())
    monkeypatch.chdir(tmp_path)
    return write(PART, "ga")


def test_groups_that_differ_come_first(grouped):
    folder, rows = grouped, long_table(Path("results/animals"), PART)
    record, page = read(folder), (folder / "evidence.html").read_text()
    gaps = {key: of[""] for key, of in rows.items() if key[0] == "ga" and key[1].endswith("_gap")}
    gaps = {key: value for key, value in gaps.items() if key[1].startswith("group_")}
    kinds = ("examples", "positives", "negatives")
    sizes = {(key, k): of[""] for key, of in rows.items() for k in kinds if key[1] == f"group_{k}"}
    small = {f"{key[3]}, {key[2]} ({n:.0f} {k})" for (key, k), n in sizes.items() if n < 20}
    assert small == {*record["untested"]} and record["untested"][0] in page
    shown = {tuple(one["source"].split("|")): one for one in numbers_in(record["groups"])}
    assert len(shown) > 8 and {key: one["value"] for key, one in shown.items()} == gaps
    is_found = [one["low"] > 0 or one["high"] < 0 for one in shown.values()]
    assert is_found == sorted(is_found, reverse=True) and any(is_found)
    assert next(iter(shown.values()))["text"] in page
    assert f"The first 8 of {len(shown)} differences, those beyond chance first" in page


# Archives and printers.


@pytest.mark.slow
@pytest.mark.parametrize("run", ["ltd", "ga"])
def test_it_is_printed_on_two_pages(here, run):
    assert 1 <= count_pages(write(PART, run, "--pictures")) <= 2


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["later", "grouped"])
def test_later_requests_and_groups_are_printed_on_two_pages(request, folder):
    assert 1 <= count_pages(request.getfixturevalue(folder)) <= 2


def count_pages(folder: Path) -> int:
    if not (browser := shutil.which("chromium")):
        pytest.skip("needs chromium")
    page = (folder / "evidence.html").resolve()
    words = ["--headless", "--no-sandbox", "--disable-gpu", "--print-to-pdf=printed.pdf"]
    subprocess.run([browser, *words, page.as_uri()], check=True, capture_output=True)
    return len(re.findall(rb"/Type\s*/Page\b", Path("printed.pdf").read_bytes()))


@pytest.mark.slow
def test_the_record_of_a_request_is_a_valid_process_run_crate(here):
    services = pytest.importorskip("rocrate_validator.services")
    models = pytest.importorskip("rocrate_validator.models")
    paths = pytest.importorskip("rocrate_validator.utils.paths")
    cache, context = paths.get_default_http_cache_path(), "https://w3id.org/ro/crate/1.1/context"
    stored = pytest.importorskip("requests_cache").CachedSession(str(cache)).cache
    if not stored.contains(url=context):
        pytest.skip("needs the context: rocrate-validator cache warm -p process-run-crate-0.5")
    folder = write(PART, "ltd")
    settings = models.ValidationSettings(
        rocrate_uri=str(folder),
        profile_identifier="process-run-crate-0.5",
        requirement_severity=models.Severity.REQUIRED,
        offline=True,
        cache_path=cache,
    )
    found = services.validate(settings)
    assert found.passed(), [issue.message for issue in found.get_issues()]
