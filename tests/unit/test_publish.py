"""What is published: others compute the same numbers from it, and nothing private is in it."""

import hashlib
import json
import os
import re
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from made_benchmark import MIXED, PART, SEEDS, WHOLE, image_of
from markdown_reading import ROOT, blocks
from recomputing import compare_with_table, recompute

from collateral.cli import main
from collateral.commands.publish import remove_private
from collateral.data._readers.torchvision_sets import SETS as SETS_OF_TORCHVISION
from collateral.plugins.find import DATA
from collateral.report.datasheet import read_source
from collateral.report.published import COLUMNS, SETS
from collateral.results import layout
from collateral.results.dataset import Dataset, Labels
from collateral.results.provenance import JOB, content_hash, read_signed, write_record
from collateral.results.submission import Submission, hash_labels

pq = pytest.importorskip("pyarrow.parquet")
# The user's own files and computed images: nothing is known of the first, no address of the second.
WITHOUT_PAGE = {"arrays", "folder", "parquet", "synthetic"}
EIGHT = {
    *(f"rai:{key}" for key in ("dataLimitations", "dataBiases", "personalSensitiveInformation")),
    *(f"rai:{key}" for key in ("dataUseCases", "dataSocialImpact", "hasSyntheticData")),
    *("prov:wasDerivedFrom", "prov:wasGeneratedBy"),
}
SECRETS = ("/srv/secret-place", "~/hidden", "anna-smith")


@pytest.fixture(scope="module")
def results(animals, tmp_path_factory):
    """A folder of results with a copy of the made-up benchmark, of a data set that has a name."""
    folder = tmp_path_factory.mktemp("to-publish")
    copy_benchmark(animals.root, folder)
    return folder


def copy_benchmark(source, project, data="digits", keep="all", **options):
    """Copy the benchmark into a project; its records say data set, and images that are kept."""
    copy = project / "results" / source.name
    shutil.copytree(source, copy)
    images = [
        np.stack([image_of(part, index) for index in range(count)])
        for part, count in (("train", 210), ("test", 100))
    ]
    labels = Labels.load(copy / layout.LABELS)
    Dataset(*images, labels, mean=(0.5,) * 3, std=(0.25,) * 3).save(copy / layout.DATA)
    job = {JOB: {"kind": "data", "name": data, "options": options}}
    files = [copy / layout.DATA, copy / layout.LABELS]
    write_record(copy / layout.DATA_RECORD, job, root=copy, files=files)
    for cell in (PART, WHOLE, MIXED):
        place = copy / layout.PICTURES_RECORD.format(cell=cell)
        pictures = [copy / layout.PICTURES.format(cell=cell)]
        write_record(place, {"keep": keep}, root=copy, files=pictures)
    return copy


def publish(project, *options, name="animals", out="out"):
    """Publish from within a project; return the folder."""
    before = Path.cwd()
    os.chdir(project)
    try:
        main(["publish", name, "--out", out, *options])
    finally:
        os.chdir(before)
    return project / out


@pytest.fixture(scope="module")
def published(results):
    return publish(results, "--logits", "--creator", "A. Person", "--url", "https://example.org")


def files_of(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_the_lines_of_the_docs_compute_the_numbers_of_the_table(published):
    compared = compare_with_table(published, recompute(published))
    # In three cells with three seeds: retrain, original and four methods; sweeps in one of them.
    runs = 3 * 6 + 3
    assert compared["ua"] == compared["ra"] == compared["ta"] == runs * 3 - 3  # one diverged
    assert compared["mia"] == compared["ua"]
    assert compared["near_loss"] == 2 * (compared["ua"] - 3 * 3)
    assert compared["avg_gap"] == runs - 3 - 3  # neither of Retrain, nor of what diverged


def test_the_lines_of_the_docs_are_those_of_the_published_folder(published):
    shown = [*blocks(published / "README.md", "python")]
    assert len(shown) == 2
    in_docs = [*blocks(ROOT / "docs/formats.md", "python")]
    assert shown == in_docs
    counts = [sum(bool(line.strip()) for line in text.splitlines()) for text in shown]
    assert counts[0] <= 20 and counts[1] <= 25


def test_there_is_a_row_group_per_seed_and_run(published, animals):
    for cell in animals.made.cells:
        file = pq.ParquetFile(published / f"outputs/animals/{cell}.parquet")
        assert file.schema_arrow.names == [*COLUMNS["outputs"]]
        groups = [file.read_row_group(n).to_pandas() for n in range(file.num_row_groups)]
        found = [{*zip(group["seed"], group["run"], strict=True)} for group in groups]
        assert all(len(one) == 1 for one in found)
        expected = {
            (seed, run)
            for run in animals.made.runs_of(cell)
            for seed in SEEDS
            if animals.made.status(run, seed, cell) == "ok"
        }
        assert len(found) == len(expected) and set().union(*found) == expected


def test_every_row_is_the_output_of_its_model(published, animals):
    made = animals.made
    for cell in made.cells:
        rows = pd.read_parquet(published / f"outputs/animals/{cell}.parquet")
        logits = pd.read_parquet(published / f"logits/animals/{cell}.parquet")
        assert len(rows) == len(logits)
        split = made.split(cell)
        for (seed, run), some in rows.groupby(["seed", "run"], observed=True):
            outputs = made.outputs(cell, run, seed)
            sets = {"test": (outputs.test, slice(None))}
            sets |= {name: (outputs.train, getattr(split, name)) for name in ("forget", "retain")}
            parts = logits[(logits["seed"] == seed) & (logits["run"] == run)]
            for name, (of, chosen) in sets.items():
                own = some[some["set"] == name]
                assert (own["prediction"] == of.prediction[chosen]).all()
                assert (own["confidence"] == of.confidence[chosen]).all()
                stored = np.stack([*parts[parts["set"] == name]["logits"]])
                assert stored.dtype == np.float16 and (stored == of.logits[chosen]).all()


def test_similarities_and_parts_are_those_of_the_metrics(published, animals):
    examples = pd.read_parquet(published / "examples.parquet")
    similarity = pd.read_parquet(published / "similarity.parquet")
    for cell in animals.made.cells:
        own = similarity[similarity["cell"] == cell]
        for place, seed in enumerate(SEEDS):
            found = own[own["seed"] == seed]
            both = animals.made.similarity(cell)
            expected = np.concatenate([both["train"][place], both["test"][place]])
            assert (found["similarity"] == expected).all()
        some = examples[examples["cell"] == cell]
        retained = some[some["set"] == "retain"].set_index("example")["part"]
        mean = own[own["set"] == "retain"].groupby("example")["similarity"].mean()
        assert mean[retained == "near"].min() >= mean[retained == "far"].max()
        # Of the class that is forgotten as a whole, test examples are neither near nor far.
        gone = some[(some["set"] == "test") & some["part"].isna()]
        assert {*gone["class"].dropna()} == ({"zebra"} if cell == WHOLE else set())


def test_mlcroissant_finds_no_error_and_reads_a_record_of_each_set(published):
    mlc = pytest.importorskip("mlcroissant")
    data = mlc.Dataset(jsonld=published / "croissant.json")
    issues = data.metadata.ctx.issues
    assert (issues.errors, issues.warnings) == (set(), set())
    names = [one.uuid for one in data.metadata.record_sets]
    assert {*names} == {*COLUMNS} - {"images"}
    for name in names:
        record = next(iter(data.records(name)))
        assert {key.removeprefix(f"{name}/") for key in record} == {*COLUMNS[name]}
        assert record[f"{name}/benchmark"] == b"animals"


def test_the_eight_fields_say_something_of_this_benchmark(published):
    content = json.loads((published / "croissant.json").read_text())
    for key in EIGHT:
        assert content[key] is False if key == "rai:hasSyntheticData" else content[key]
    assert "210 train and 100 test images" in content["rai:dataLimitations"][0]
    assert "seeds: 3, forget sets: 3, classes: 3" in content["rai:dataLimitations"][0]
    assert content["creator"]["name"] == "A. Person" and content["url"] == "https://example.org"
    assert content["version"] == "1.0.0" and content["license"].endswith("CC-BY-4.0")


def test_the_hashes_are_those_of_all_files(published):
    lines = (published / "SHA256SUMS").read_text().splitlines()
    listed = dict(line.split("  ")[::-1] for line in lines)
    found = {p.relative_to(published).as_posix(): p for p in files_of(published)}
    assert listed.keys() == found.keys() - {"SHA256SUMS"}
    for name, digest in listed.items():
        assert hashlib.sha256(found[name].read_bytes()).hexdigest() == digest
    content = json.loads((published / "croissant.json").read_text())
    objects = [one for one in content["distribution"] if one["@type"] == "cr:FileObject"]
    assert len(objects) == 5
    assert all(listed[one["contentUrl"]] == one["sha256"] for one in objects)


def test_a_model_card_has_the_numbers_of_its_run(published, animals):
    cards = sorted((published / "cards/animals").rglob("*.md"))
    runs = [run for run in animals.made.runs if "@" not in run]
    assert {f"{p.parent.name}/{p.stem}" for p in cards} == {
        f"{cell}/{run}" for cell in animals.made.cells for run in runs
    }
    table = pd.read_csv(published / "metrics.csv")
    for card in cards:
        front = yaml.safe_load(card.read_text().split("---\n")[1])
        (model,) = front["model-index"]
        assert model["name"] == f"animals/{card.parent.name}/{card.stem}"
        shown = model["results"][0]["metrics"]
        rows = table[(table["cell"] == card.parent.name) & (table["run"] == card.stem)]
        ua = next(one["value"] for one in shown if one["type"] == "ua")
        assert ua == pytest.approx(rows[rows["metric"] == "ua"]["value"].mean(), abs=1e-12)
    assert "5 diverged" in (published / f"cards/animals/{PART}/rl.md").read_text()


def test_what_diverged_is_listed_and_has_no_outputs(published):
    runs = pd.read_csv(published / "runs.csv")
    bad = runs[runs["status"] != "ok"]
    assert {*bad["run"]} == {"rl"} and {*bad["seed"]} == {5} and len(bad) == 3


def test_records_are_copied_as_they_are(published, animals):
    copies = [p for p in files_of(published / "results") if p.suffix == ".json"]
    names = {path.name for path in copies}
    assert {"record.json", "split.json", "plan.json", "metrics.json", "data.json"} <= names
    assert not names & {"cost.json", "pictures.json", "glance.json"}
    for path in copies:
        if path.name not in ("selected.json", "gates.json"):
            read_signed(path, published / "results/animals")
    trials = published / f"results/animals/{PART}/tune/ft/trials.csv"
    assert trials.read_bytes() == (animals.root / f"{PART}/tune/ft/trials.csv").read_bytes()


def test_nothing_private_is_in_any_file(animals, tmp_path, capsys):
    secrets = {"root": SECRETS[0], "path": SECRETS[1], "train_where": {"subject": [SECRETS[2]]}}
    folder = copy_benchmark(animals.root, tmp_path, "arrays", **secrets)
    assert folder.is_dir()
    out = publish(tmp_path)
    said = " ".join(capsys.readouterr().out.split())
    assert "made from data that is not public" in said
    words = [*SECRETS, str(tmp_path), str(ROOT), str(Path.home() / "x")[:-2] + "/", "train/cat/"]
    for file in files_of(out):
        text = file.read_bytes()
        assert [word for word in words if word.encode() in text] == [], file
        if file.suffix == ".parquet":
            values = pq.read_table(file).to_pandas().select_dtypes(exclude="number")
            assert all(not values[c].astype(str).str.contains("/").any() for c in values)
    data = json.loads((out / "results/animals/data.json").read_text())
    assert data["left out"] == [f"job.options.{key}" for key in ("path", "root", "train_where")]
    assert "sha256" not in data and "copy_of_sha256" in data


def test_what_chose_examples_and_absolute_paths_are_left_out_wherever_they_stand():
    left_out = []
    public = remove_private(
        {
            "chosen": {"kind": "where", "column": "name", "is": ["anna"], "sha256": "0a"},
            "job": {"params": {"path": "lists/anna.txt", "lr": 0.1}, "files": ["a.pt", "/m/b.pt"]},
            "inputs": {"../../anna.npz": "1f", "labels.npz": "2e"},
            "own": "/home/anna/w.pt",
            "table": None,
        },
        left_out,
    )
    assert public == {
        "chosen": {"kind": "where", "sha256": "0a"},
        "job": {"params": {"lr": 0.1}, "files": ["a.pt"]},
        "inputs": {"labels.npz": "2e"},
        "table": None,
    }
    places = ["chosen.column", "chosen.is", "job.params.path", "job.files", "inputs", "own"]
    assert left_out == places


def test_images_are_published_only_if_licence_and_config_allow_it(results, animals, tmp_path):
    out = publish(results, "--images", out="with-images")
    rows = pd.read_parquet(out / "images.parquet")
    assert len(rows) == 310 and rows["image"][7].startswith(b"\x89PNG")
    mlc = pytest.importorskip("mlcroissant")
    records = mlc.Dataset(jsonld=out / "croissant.json").records("images")
    seventh = [record for record, _ in zip(records, range(8), strict=False)][7]
    assert (np.asarray(seventh["images/image"]) == image_of("train", 7)).all()
    for place, (data, keep, said) in enumerate(
        (
            ("cifar100", "all", "licence of cifar100 does not allow it: none stated"),
            ("arrays", "all", "licence of arrays does not allow it: the user's"),
            ("digits", "retained", "its key `pictures` keeps images back"),
        )
    ):
        project = tmp_path / str(place)
        copy_benchmark(animals.root, project, data, keep)
        with pytest.raises(SystemExit, match=said):
            publish(project, "--images")
        assert not (project / "out").exists()
        assert "images.parquet" not in {p.name for p in files_of(publish(project))}


@pytest.fixture
def damaged(animals, tmp_path):
    return copy_benchmark(animals.root, tmp_path)


def change(path):
    path.write_bytes(path.read_bytes()[:-1] + b"x")


OUTPUTS = f"{PART}/seed-{SEEDS[1]}/ft/{layout.OUTPUTS}"
OTHER = f"{PART}/seed-{SEEDS[1]}/ga"
DAMAGE = {
    "changed outputs": lambda root: change(root / OUTPUTS),
    "changed numbers": lambda root: change(root / layout.METRICS),
    "no numbers yet": lambda root: (
        [(root / name).unlink() for name in (layout.METRICS, layout.METRICS_RECORD)]
    ),
    "a cell without numbers": lambda root: (root / MIXED / layout.METRICS_RECORD).unlink(),
    "a run that poses as another": lambda root: [
        shutil.copy(root / OTHER / name, (root / OUTPUTS).with_name(name))
        for name in (layout.OUTPUTS, layout.RECORD, layout.COST)
    ],
    "outputs of another run": lambda root: shutil.copy(
        root / OTHER / layout.OUTPUTS, root / OUTPUTS
    ),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_what_is_damaged_unfinished_or_posing_is_refused(damaged, kind):
    DAMAGE[kind](damaged)
    project = damaged.parent.parent
    with pytest.raises(SystemExit) as caught:
        publish(project)
    assert re.fullmatch(r"collateral publish: results/animals/.*; .*", str(caught.value))
    assert [path.name for path in project.iterdir()] == ["results"]


def test_a_folder_in_use_and_an_unknown_benchmark_are_refused(results):
    (results / "used").mkdir()
    (results / "used/file").touch()
    with pytest.raises(SystemExit, match="--out: used: is not empty"):
        publish(results, out="used")
    with pytest.raises(SystemExit, match="--out: results/new: lies in the results"):
        publish(results, out="results/new")
    with pytest.raises(SystemExit, match="nothing: no benchmark's folder; there are: animals"):
        publish(results, name="nothing")


@pytest.mark.parametrize("name", DATA.names())
def test_every_shipped_data_set_says_what_is_known_of_its_images(name):
    file = DATA.file(name).with_suffix(".toml")
    assert file.is_file() == (name not in WITHOUT_PAGE - {"synthetic"})
    source = read_source(name, {})
    assert source.licence and source.source
    assert source.is_known == file.is_file()
    assert bool(source.url) == (name not in WITHOUT_PAGE)
    if file.is_file():
        assert {"people", "biases", "limits"} <= tomllib.loads(file.read_text()).keys()
    assert source.images == (name in ("digits", "synthetic"))


def test_every_data_set_of_torchvision_has_its_licence():
    file = DATA.file("torchvision").with_suffix(".toml")
    known = tomllib.loads(file.read_text())["sets"]
    assert known.keys() == SETS_OF_TORCHVISION.keys()
    assert all(one["licence"] and one["url"].startswith("http") for one in known.values())
    source = read_source("torchvision", {"dataset": "KMNIST"})
    assert (source.name, source.licence, source.images) == ("KMNIST", "CC BY-SA 4.0", False)


def test_an_author_who_has_only_the_published_folder_submits(published, animals, tmp_path, capsys):
    """Another program: it reads the published tables, and writes arrays in their order."""
    for cell in animals.made.cells:
        logits = pd.read_parquet(published / f"logits/animals/{cell}.parquet")
        for seed in SEEDS:
            of = logits[(logits["run"] == "original") & (logits["seed"] == seed)]
            parts = {"train": of[of["set"] != "test"], "test": of[of["set"] == "test"]}
            arrays = {
                f"{name}_logits": np.stack([*part.sort_values("example")["logits"]])
                for name, part in parts.items()
            }
            path = tmp_path / f"theirs/{cell}/seed-{seed}/outputs.npz"
            path.parent.mkdir(parents=True)
            np.savez(path, **arrays)
    words = ["submit", "animals", "mine", "--published", published, "--outputs"]
    main([*map(str, words), str(tmp_path / "theirs"), "--out", str(tmp_path / "sent")])
    said = capsys.readouterr().out
    label = Labels.load(animals.root / layout.LABELS).test
    right = [
        (animals.made.outputs(PART, "original", seed).test.logits.argmax(axis=1) == label).mean()
        for seed in SEEDS
    ]
    assert f"{PART}: right are" in said and f"{100 * np.mean(right):.1f} % of the test set" in said
    stated = Submission.load(tmp_path / "sent").stated
    made, root = animals.made, animals.root
    assert stated.cells.keys() == set(made.cells)
    for cell, own in stated.cells.items():
        assert own.examples == hash_labels(Labels.load(root / layout.LABELS))
        assert own.forget_set == made.split(cell).hash
        for seed in SEEDS:
            base = root / layout.BASE.format(seed=seed) / layout.OUTPUTS
            retrain = root / layout.RUN.format(cell=cell, seed=seed, run="retrain")
            assert own.base[seed] == content_hash(base)
            assert own.retrain[seed] == content_hash(retrain / layout.OUTPUTS)
    assert len({own.forget_set for own in stated.cells.values()}) == 3


def test_what_does_not_fit_the_published_folder_is_not_submitted(published, tmp_path):
    def refused(*words):
        with pytest.raises(SystemExit) as caught:
            main(["submit", *map(str, words), "--out", str(tmp_path / "sent")])
        assert not (tmp_path / "sent").exists()
        return str(caught.value)

    given = ["--published", published, "--outputs", tmp_path]
    place = tmp_path / f"{PART}/seed-{SEEDS[0]}/outputs.npz"
    place.parent.mkdir(parents=True)
    np.savez(place, train_logits=np.zeros((210, 3)), test_logits=np.zeros((99, 3), np.float32))
    said = refused("animals", "mine", *given, "--cells", PART)
    assert f"{PART}: seed-11, seed-5 missing" in said
    assert f"{PART}, seed {SEEDS[0]}: train_logits: type float64" in said
    assert "test_logits: shape (99, 3), not (100, 3)" in said
    assert "no benchmark plants with Retrain; there are: animals" in refused("plants", *given)
    wrong = ["--published", tmp_path, "--outputs", tmp_path]
    assert "not a folder of `collateral publish`" in refused("animals", *wrong)
    assert "name --outputs too" in refused("animals", "ft", "--published", published)


def test_sets_have_one_order_in_all_files(published):
    for file in published.rglob("*.parquet"):
        column = pq.read_table(file).to_pandas()["set"]
        assert [*column.cat.categories] == [*SETS]


def test_a_benchmark_with_results_is_cited_as_its_config(results, capsys, monkeypatch):
    monkeypatch.chdir(results)
    main(["cite", "animals", "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    users = {user for one in found["entries"] for user in one["cited for"]}
    assert {"data set digits", "method ft", "method ga", "method ltd"} <= users
    bib = (results / "out/cite.bib").read_text()
    assert all(one["entry"] in bib for one in found["entries"])
