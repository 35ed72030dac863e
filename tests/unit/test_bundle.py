"""Results that travel: packed, unpacked, joined, and refused where they are not what they seem."""

import io
import json
import os
import shutil
import tarfile
from base64 import urlsafe_b64encode
from dataclasses import replace

import pytest
from fake_benchmark import BEGIN, FakeBenchmark

from collateral.cli import main
from collateral.plan import paths
from collateral.results import bundle, layout
from collateral.results.bundle import MANIFEST, METADATA, write_bundle
from collateral.results.files import write_json
from collateral.results.metadata import STATE, read_metadata, write_metadata
from collateral.results.unbundle import unbundle

HOUR = 3600 * 10**9
LEFT_BEHIND = ("model.safetensors", "dataset.npz", "embeddings.npz")


def pack(project, fake=None, with_models=True):
    """Write a benchmark into a project of its own, and its archive."""
    archive, fake = project / "a.tar", fake or FakeBenchmark()
    write_bundle(archive, [fake.write(project)], with_models=with_models)
    return archive


def unpack(project, *archives):
    project.mkdir(exist_ok=True)
    return unbundle(archives, project / "results")


def contents(project):
    """Return content and time of every file of results."""
    results = project / "results"
    return {
        path.relative_to(results).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in results.rglob("*")
        if path.is_file()
    }


def everything(project):
    """Return content and time of every file, Snakemake's included."""
    return {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in project.rglob("*") if p.is_file()}


def metadata(project):
    """Return what Snakemake knows of files, as it keeps it."""
    folder = project / STATE / "metadata"
    return {path.name: json.loads(path.read_text()) for path in folder.iterdir()}


@pytest.fixture
def one(tmp_path):
    return tmp_path / "one"


@pytest.fixture
def two(tmp_path):
    return tmp_path / "two"


@pytest.fixture
def new(tmp_path):
    return tmp_path / "new"


# There and back.


def test_with_models_everything_comes_back_with_its_times(one, new):
    unpack(new, pack(one))
    assert len(contents(one)) > 20
    assert contents(new) == contents(one)
    assert metadata(new) == metadata(one)
    assert {path.name for path in new.iterdir()} == {"results", STATE}


def test_without_models_all_but_the_large_files_come_back(one, new):
    unpack(new, pack(one, with_models=False))
    kept = {name: file for name, file in contents(one).items() if not name.endswith(LEFT_BEHIND)}
    assert len(contents(one)) - len(kept) == 4
    assert contents(new) == kept


def test_snakemake_is_told_also_of_what_stayed_behind(one, new):
    """Of a job with an output that it knows nothing of, Snakemake compares no parameter."""
    unpack(new, pack(one, with_models=False))
    assert metadata(new) == metadata(one)
    again = new / "again.tar"
    write_bundle(again, [new / "results/b"], with_models=False)
    assert again.read_bytes() == (one / "a.tar").read_bytes()


def test_theory_and_index_go_along_if_the_index_shows_nothing_else(one, new):
    root = FakeBenchmark().write(one)
    (one / "results/theory").mkdir()
    (one / "results/theory/checks.csv").write_text("checks")
    (one / "results/report.html").write_text("index")
    write_bundle(one / "a.tar", [root], with_models=False)
    unpack(new, one / "a.tar")
    assert (new / "results/report.html").read_text() == "index"
    assert (new / "results/theory/checks.csv").read_text() == "checks"
    other = FakeBenchmark(name="c").write(one)
    write_bundle(one / "b.tar", [root], with_models=False)
    with tarfile.open(one / "b.tar") as file:
        assert "results/report.html" not in file.getnames()
    write_bundle(one / "c.tar", [root, other], with_models=False)
    with tarfile.open(one / "c.tar") as file:
        assert "results/report.html" in file.getnames()


def test_an_index_is_not_put_where_there_are_other_pages(one, new):
    root = FakeBenchmark().write(one)
    (one / "results/report.html").write_text("index")
    write_bundle(one / "a.tar", [root], with_models=False)
    FakeBenchmark(name="c").write(new)
    unpack(new, one / "a.tar")
    assert (new / "results/b/report.html").exists()
    assert not (new / "results/report.html").exists()


def test_hidden_files_stay_and_links_are_followed(one, new):
    root = FakeBenchmark().write(one)
    (root / "cell/.numbers").mkdir()
    (root / "cell/.numbers/kept.csv").write_text("kept")
    elsewhere = one / "large-disk.npz"
    (root / "dataset.npz").rename(elsewhere)
    (root / "dataset.npz").symlink_to(elsewhere)
    write_bundle(one / "a.tar", [root], with_models=True)
    unpack(new, one / "a.tar")
    assert not (new / "results/b/cell/.numbers").exists()
    assert (new / "results/b/dataset.npz").read_bytes() == elsewhere.read_bytes()
    assert not (new / "results/b/dataset.npz").is_symlink()


def test_the_same_results_give_the_same_archive(one, two):
    assert pack(one).read_bytes() == pack(two).read_bytes()


def test_the_names_inside_are_those_of_the_rules():
    assert paths.RESULTS == bundle.RESULTS
    assert f"{bundle.RESULTS}/{bundle.THEORY}" == paths.THEORY
    assert f"{bundle.RESULTS}/{bundle.INDEX}" == paths.INDEX


# What is not packed.


def test_what_is_not_sound_is_not_packed(one):
    root = FakeBenchmark().write(one)
    (root / "cell/seed-0/ga/outputs.npz").write_text("another")
    with pytest.raises(ValueError, match=r"seed-0/ga/outputs\.npz: its content is not the one"):
        write_bundle(one / "a.tar", [root], with_models=False)
    assert not (one / "a.tar").exists()


def test_what_a_killed_job_left_is_not_packed(one):
    root, output = FakeBenchmark().write(one), "results/b/cell/seed-0/ga/outputs.npz"
    name = urlsafe_b64encode(output.encode()).decode()
    assert name in metadata(one)
    (one / STATE / "incomplete" / name).write_text("{}")
    with pytest.raises(ValueError, match=rf"{output}: its job did not end; run again"):
        write_bundle(one / "a.tar", [root], with_models=False)


def test_a_copy_gets_no_metadata_of_the_original(one):
    root = FakeBenchmark().write(one)
    (one / "results").rename(one / "copy")
    made = write_bundle(one / "a.tar", [one / "copy/b"], with_models=False)
    assert "b/plan.json" in made.unwatched
    assert root.name in made.unwatched[0]
    with tarfile.open(one / "a.tar") as file:
        assert json.loads(file.extractfile(METADATA).read()) == {}


def test_an_archive_among_the_results_is_refused(one):
    root = FakeBenchmark().write(one)
    with pytest.raises(ValueError, match=r"--out: .*lies in the results"):
        write_bundle(root / "a.tar", [root], with_models=False)


def test_what_is_no_benchmark_is_refused(one):
    FakeBenchmark().write(one)
    with pytest.raises(ValueError, match=r"results: no benchmark's folder: there is no data\.json"):
        write_bundle(one / "a.tar", [one / "results"], with_models=False)


# Joining.


def test_seeds_made_apart_are_joined(one, two, new):
    """Numbers, tables and page are of other seeds in each: they are left out."""
    first = pack(one)
    done = unpack(new, first, pack(two, FakeBenchmark(seeds=(1,))))
    found = contents(new)
    for seed, project in ((0, one), (1, two)):
        for name in (f"b/base/seed-{seed}/model.safetensors", f"b/cell/seed-{seed}/ga/record.json"):
            assert found[name] == contents(project)[name]
    assert done.left_out == [
        *("b cell metrics", "b cell neighbours", "b cell pictures", "b page", "index")
    ]
    of_all = (
        "metrics",
        "costs",
        "neighbours",
        "pictures",
        "tables",
        "plan",
        "report",
        "glance",
        "check",
    )
    assert [name for name in found if any(word in name for word in of_all)] == []
    outputs = [f"results/{name}" for name in found]
    assert read_metadata(new, outputs).keys() == {*outputs}
    assert read_metadata(new, ["results/b/metrics.csv", "results/b/tables"]) == {}


def test_methods_made_apart_are_joined_with_one_cost_of_what_both_had_to_make(one, two, new):
    """The base is the same; what it cost is not."""
    other = FakeBenchmark(methods=("rl",), seconds=2.5)
    done = unpack(new, pack(one), pack(two, other))
    found = contents(new)
    assert found["b/base/seed-0/cost.json"] == contents(one)["b/base/seed-0/cost.json"]
    assert {"b/cell/seed-0/ga/cost.json", "b/cell/seed-0/rl/cost.json"} <= found.keys()
    assert "b/cell/neighbours.npz" in found
    assert done.left_out == ["b cell metrics", "b page", "index"]


def test_cells_made_apart_keep_their_numbers(one, two, new):
    done = unpack(new, pack(one), pack(two, FakeBenchmark(cell="other-cell")))
    found = contents(new)
    assert {"b/cell/metrics.csv", "b/other-cell/metrics.csv"} <= found.keys()
    assert done.left_out == ["b page", "index"]
    assert not {"b/metrics.csv", "b/report.html", "b/tables/record.json"} & found.keys()


@pytest.mark.parametrize("hours", [-5, 5])
def test_what_was_made_before_is_older_also_after_joining(one, two, new, hours):
    """Of two equal data sets the first is kept; runs of another day must not look stale."""
    other = FakeBenchmark(methods=("rl",), begin=BEGIN + hours * HOUR)
    root = FakeBenchmark().write(one)
    shutil.rmtree(root / "base")  # which the other has: to be older than what was made from it
    write_bundle(one / "a.tar", [root], with_models=True)
    unpack(new, one / "a.tar", pack(two, other))
    time = {name: when for name, (_, when) in contents(new).items()}
    assert time["b/dataset.npz"] == BEGIN
    for method in ("ga", "rl"):
        made = time[f"b/cell/seed-0/{method}/outputs.npz"]
        assert made >= time["b/base/seed-0/model.safetensors"] >= time["b/dataset.npz"]
        assert made >= time["b/cell/split.json"]


def test_a_data_set_that_comes_later_is_as_old_as_its_record(one, two, new):
    unpack(new, pack(one, with_models=False))
    unpack(new, pack(two, FakeBenchmark(begin=BEGIN + 5 * HOUR)))
    time = {name: when for name, (_, when) in contents(new).items()}
    assert time["b/dataset.npz"] <= time["b/data.json"] <= time["b/cell/seed-0/ga/outputs.npz"]
    assert time["b/base/seed-0/model.safetensors"] <= time["b/cell/seed-0/ga/outputs.npz"]


def test_no_file_is_of_the_future(one, new):
    unpack(new, pack(one, replace(FakeBenchmark(), begin=2 * BEGIN)))
    assert (new / "results/b/plan.json").stat().st_mtime_ns < 2 * BEGIN


def test_what_is_here_stays_and_more_is_added(one, new):
    FakeBenchmark(seeds=(1,), methods=("ga", "rl")).write(new)
    before = contents(new)
    done = unpack(new, pack(one))
    after = contents(new)
    assert {name: after[name] for name in before} == before
    assert after.keys() - before.keys() == {name for name in contents(one) if "seed-0" in name}
    assert done.num_files == len(after) - len(before)


def test_a_second_time_nothing_is_new(one, new):
    archive = pack(one)
    unpack(new, archive)
    before = everything(new)
    assert unpack(new, archive).num_files == 0
    assert everything(new) == before


def test_a_copy_that_snakemake_knows_nothing_of_gets_its_metadata(one, new):
    """Beside equal files what it says is true."""
    archive = pack(one)
    FakeBenchmark().write(new)
    (new / STATE).rename(new / "lost")
    unpack(new, archive)
    assert metadata(new) == metadata(one)


# Conflicts.


def conflicts(project, *archives):
    """Return why archives are refused, a line each; nothing may have changed."""
    project.mkdir(exist_ok=True)
    before = everything(project)
    with pytest.raises(ValueError, match="nothing was changed") as error:
        unbundle(archives, project / "results")
    assert everything(project) == before
    assert {path.name for path in project.iterdir()} <= {"results", STATE}
    return str(error.value).splitlines()[:-1]


def test_a_conflict_is_named_by_file_and_field(one, two, new):
    first, second = pack(one), pack(two, FakeBenchmark(lr=0.2))
    lines = conflicts(new, first, second)
    record = "results/b/cell/seed-0/ga/record.json"
    assert f"{record}: params.lr: 0.1 in {first}, 0.2 in {second}" in lines
    outputs = "results/b/cell/seed-0/ga/outputs.npz"
    assert f"{outputs}: is another in {first} than in {second}" in lines
    assert {line.partition(": ")[0] for line in lines} == {
        record, outputs, outputs.replace("outputs.npz", "model.safetensors")
    }  # fmt: skip
    assert not any("epochs" in line or "sha256" in line for line in lines)


def test_what_is_here_is_in_conflict_too(one, new):
    FakeBenchmark(lr=0.2).write(new)
    archive = pack(one)
    lines = conflicts(new, archive)
    assert any(f"params.lr: 0.2 in {new / 'results'}, 0.1 in {archive}" in line for line in lines)


def test_other_neighbours_of_the_same_seeds_are_a_conflict(one, two, new):
    first, root = pack(one), FakeBenchmark().write(two)
    remove(root, "cell/metrics.*", "**/problems.json", "metrics.*", "tables/*", "tables/*/*")
    remove(root, "cell/pictures.*")
    path = root / "cell/neighbours.npz"
    path.write_text("others")
    bundle.write_record(layout.record_of(path), {"seeds": [0]}, root=root, files=[path])
    write_bundle(two / "a.tar", [root], with_models=True)
    lines = conflicts(new, first, two / "a.tar")
    assert any("cell/neighbours.json: files.neighbours.npz: " in line for line in lines)


def remove(root, *patterns):
    for pattern in patterns:
        for path in root.glob(pattern):
            if path.is_file():
                path.unlink()


def test_numbers_here_that_were_made_from_others_are_a_conflict(one, new):
    """The cell's own are gone, and those of the archive are not what the page shows."""
    root = FakeBenchmark(seeds=(0, 1)).write(new)
    remove(root, "cell/metrics.*", "cell/problems.json", "cell/neighbours.*", "cell/pictures.*")
    [line] = conflicts(new, pack(one))
    assert line.startswith("results/b/metrics.json: made from another b/cell/metrics.csv than ")


def test_what_is_here_must_be_sound(one, new):
    root = FakeBenchmark().write(new)
    (root / "cell/seed-0/ga/outputs.npz").write_text("another")
    assert any("outputs.npz: its content is not" in line for line in conflicts(new, pack(one)))


# Hostile, damaged and foreign archives.


def add(archive, name, content=b"x", **more):
    with tarfile.open(archive, "a") as file:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        for key, value in more.items():
            setattr(member, key, value)
        file.addfile(member, io.BytesIO(content))


@pytest.mark.parametrize(
    "name",
    [
        *("../x", "results/../../x", "/tmp/x", "results/b/../../../x", "x", "results"),
        *("results//b/x", "./results/b/x", "results/b/.numbers/x", "results/b\\..\\x"),
    ],
)
def test_a_name_that_leaves_the_results_is_refused(one, new, name):
    archive = pack(one)
    add(archive, name)
    with pytest.raises(ValueError, match=r"is not below results/; do not trust it"):
        unpack(new, archive)
    assert list(new.iterdir()) == []
    assert not (new.parent / "x").exists()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_a_link_is_refused(one, new, kind):
    archive = pack(one)
    add(archive, "results/b/x", b"", type=kind, linkname="results/b/plan.json")
    with pytest.raises(ValueError, match=r"'results/b/x' is not a plain file; do not trust it"):
        unpack(new, archive)
    assert list(new.iterdir()) == []


def test_a_second_file_of_a_name_is_refused(one, new):
    archive = pack(one)
    add(archive, "results/b/plan.json")
    with pytest.raises(ValueError, match="several files of one name"):
        unpack(new, archive)


def test_one_file_more_than_the_manifest_counts_is_refused(one, new):
    archive = pack(one)
    add(archive, "results/b/more.csv")
    with pytest.raises(
        ValueError, match=r"\d+ of its \d+ files are there; copy or bundle it again"
    ):
        unpack(new, archive)


def rewritten(archive, change):
    """Write an archive again with each file's content changed by `change(name, content)`."""
    out = archive.with_name(f"changed-{archive.name}")
    with tarfile.open(archive) as old, tarfile.open(out, "w") as file:
        for member in old.getmembers():
            content = change(member.name, old.extractfile(member).read())
            if content is not None:
                member.size = len(content)
                file.addfile(member, io.BytesIO(content))
    return out


def test_a_damaged_file_is_named(one, new):
    archive = pack(one)
    flipped = rewritten(
        archive, lambda name, said: said[::-1] if name.endswith("ga/outputs.npz") else said
    )
    lines = conflicts(new, flipped)
    named = (
        "results/b/cell/seed-0/ga/outputs.npz: its content is not the one that record.json names"
    )
    assert lines == [f"{flipped}: {named}"]


def test_damaged_metadata_are_noticed(one, new):
    archive = pack(one)
    changed = rewritten(
        archive, lambda name, said: said.replace(b"0.1", b"0.2") if name == METADATA else said
    )
    with pytest.raises(ValueError, match=r"metadata\.json: its content is not the one"):
        unpack(new, changed)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
def test_a_truncated_archive_is_refused(one, new, share):
    archive = pack(one)
    whole = archive.read_bytes().rstrip(b"\0")  # the zeros at the end of an archive mean nothing
    archive.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match=r"a\.tar: .*copy or bundle it again"):
        unpack(new, archive)
    assert list(new.iterdir()) == []


def test_an_archive_that_lacks_a_file_is_refused(one, new):
    archive = rewritten(pack(one), lambda name, said: None if name.endswith("plan.json") else said)
    with pytest.raises(ValueError, match=r"\d+ of its \d+ files are there"):
        unpack(new, archive)


@pytest.mark.parametrize("content", [b"", b"no tar", b"\0" * 10240])
def test_something_else_is_refused(tmp_path, new, content):
    archive = tmp_path / "a.tar"
    archive.write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.tar: .*no bundle"):
        unpack(new, archive)


def test_another_tar_is_refused(tmp_path, new):
    archive = tmp_path / "a.tar"
    with tarfile.open(archive, "w"):
        pass
    add(archive, "results/b/plan.json")
    with pytest.raises(ValueError, match=r"no bundle: there is no manifest\.json in it"):
        unpack(new, archive)


def test_no_archive_is_named(new):
    with pytest.raises(ValueError, match=r"a\.tar: there is no such file"):
        unpack(new, new / "a.tar")


def test_another_version_is_refused(one, new, monkeypatch):
    monkeypatch.setattr(bundle, "VERSION", 2)
    archive = pack(one)
    with pytest.raises(ValueError, match="version 2, and this Collateral reads 1"):
        unpack(new, archive)


def forged(archive, metadata=None, **about):
    """Write an archive with other metadata, or another manifest, that fits its seal."""
    folder = archive.parent / "forged"
    folder.mkdir()
    with tarfile.open(archive) as file:
        parts = {part: json.loads(file.extractfile(part).read()) for part in (METADATA, MANIFEST)}
    write_json(folder / METADATA, parts[METADATA] if metadata is None else metadata)
    own = {k: v for k, v in parts[MANIFEST].items() if k not in ("sha256", "place", "files")}
    files = [folder / METADATA]
    bundle.write_record(folder / MANIFEST, {**own, **about}, root=folder, files=files)
    return rewritten(
        archive, lambda name, said: (folder / name).read_bytes() if name in parts else said
    )


def test_metadata_of_other_benchmarks_are_not_taken(one, new):
    unpack(new, forged(pack(one), metadata={"results/c/plan.json": {"rule": "any"}}))
    assert metadata(new) == {}
    assert len(contents(new)) == len(contents(one))


@pytest.mark.parametrize("name", ["..", "../x", "/tmp", ".snakemake", "b/cell", ""])
def test_a_benchmark_whose_name_is_a_path_is_refused(one, new, name):
    archive = forged(pack(one), benchmarks=["b", name])
    with pytest.raises(ValueError, match="is no benchmark's name; do not trust it"):
        unpack(new, archive)
    assert list(new.iterdir()) == []


def test_a_file_of_a_benchmark_that_is_not_named_is_refused(one, new):
    archive = forged(pack(one), benchmarks=["c"])
    with pytest.raises(ValueError, match="'b' is no benchmark that it names"):
        unpack(new, archive)


# Where Snakemake keeps what it knows.


@pytest.mark.parametrize("output", ["results/b/plan.json", f"results/{'long/' * 200}plan.json"])
def test_metadata_are_where_snakemake_looks_for_them(tmp_path, output):
    persistence = pytest.importorskip("snakemake.persistence.file")
    known = persistence.FilePersistence(path=tmp_path / STATE)
    write_metadata(tmp_path, {output: {"rule": "plan", "params": ["1"]}})
    assert known._read_record(output).params == ["1"]
    assert known._read_record(output).rule == "plan"
    assert read_metadata(tmp_path, [output, "results/b/other"]).keys() == {output}


# The command line.


def test_bundle_warns_of_files_that_snakemake_does_not_watch(one, capsys, monkeypatch):
    FakeBenchmark().write(one)
    (one / STATE).rename(one / "lost")
    monkeypatch.chdir(one)
    main(["bundle", "results/b", "--out", "a.tar", "--with-models"])
    num = len(contents(one)) - 1  # the time of the tables' folder is no file of a rule
    assert f"{num} files without metadata of Snakemake, as b/" in capsys.readouterr().out


def test_bundle_and_unbundle_say_what_they_did(one, new, capsys, monkeypatch):
    monkeypatch.chdir(one.parent)
    FakeBenchmark().write(one)
    monkeypatch.chdir(one)
    main(["bundle", "results/b", "--out", "a.tar"])
    assert "a.tar: " in capsys.readouterr().out
    new.mkdir()
    monkeypatch.chdir(new)
    main(["unbundle", os.fspath(one / "a.tar")])
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"b: {len(contents(new))} new files"
    assert said[1].startswith("b: not compared")
