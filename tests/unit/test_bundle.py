"""Results that travel: packed, unpacked, joined, and refused where they are not what they seem."""

import io
import json
import os
import tarfile
from base64 import urlsafe_b64encode

import pytest
from fake_benchmark import BEGIN, FakeBenchmark

from collateral.cli import main
from collateral.plan import paths
from collateral.results import bundle
from collateral.results.bundle import (
    MANIFEST,
    METADATA,
    STATE,
    read_metadata,
    unbundle,
    write_bundle,
    write_metadata,
)
from collateral.results.files import write_json

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
    """Return the content of every file of results."""
    results = project / "results"
    return {
        path.relative_to(results).as_posix(): path.read_bytes()
        for path in results.rglob("*")
        if path.is_file()
    }


def times(project):
    """Return the time of every file of results."""
    results = project / "results"
    return {name: (results / name).stat().st_mtime_ns for name in contents(project)}


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


def test_with_models_everything_comes_back_and_nothing_looks_older_than_its_inputs(one, new):
    unpack(new, pack(one))
    assert len(contents(one)) > 20
    assert contents(new) == contents(one)
    assert len({*times(new).values()}) == 1
    assert metadata(new) == metadata(one)
    assert {path.name for path in new.iterdir()} == {"results", STATE}


def test_without_models_all_but_the_large_files_come_back(one, new):
    unpack(new, pack(one, with_models=False))
    kept = {name: file for name, file in contents(one).items() if not name.endswith(LEFT_BEHIND)}
    assert len(contents(one)) - len(kept) == 4
    assert contents(new) == kept


def test_metadata_of_files_that_were_not_packed_are_unpacked_too(one, new):
    """Of a job with an output that it knows nothing of, Snakemake compares no parameter."""
    unpack(new, pack(one, with_models=False))
    assert metadata(new) == metadata(one)
    again = new / "again.tar"
    write_bundle(again, [new / "results/b"], with_models=False)
    assert again.read_bytes() == (one / "a.tar").read_bytes()


def test_archives_of_seeds_have_what_each_seed_made_and_are_joined(one, new):
    """The near examples follow from the embeddings of all seeds, so these go along."""
    root = FakeBenchmark(seeds=(4, 11, 1)).write(one)
    for seed in (4, 11, 1):
        write_bundle(one / f"{seed}.tar", [root], with_models=False, seeds=[seed])
    unpack(new, one / "1.tar")
    ours = {name for name in contents(one) if "seed-1/" in name}
    assert {name for name in contents(new) if "/seed-" in name} == {
        name for name in ours if not name.endswith("model.safetensors")
    }
    known = {name for name in bundle.read_metadata(new, ["b"]) if "/seed-" in name}
    assert known and all("/seed-1/" in name for name in known)
    unpack(new, one / "11.tar", one / "4.tar")
    of_seeds = {name: file for name, file in contents(one).items() if "/seed-" in name}
    kept = {name: of_seeds[name] for name in of_seeds if not name.endswith("model.safetensors")}
    found = contents(new)
    assert {name: found[name] for name in found if "/seed-" in name} == kept
    assert "b/data.json" in found
    assert not {name for name in found if name.endswith(("metrics.csv", "neighbours.npz", "html"))}


def test_an_archive_of_a_seed_without_results_is_not_written(one):
    root = FakeBenchmark(seeds=(4, 11)).write(one)
    with pytest.raises(ValueError, match=r"--seeds: 1: no results of this seed"):
        write_bundle(one / "a.tar", [root], with_models=False, seeds=[4, 1])
    assert not (one / "a.tar").exists()


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


def test_unsound_results_are_not_packed(one):
    root = FakeBenchmark().write(one)
    (root / "cell/seed-0/ga/outputs.npz").write_text("another")
    reason = r"seed-0/ga/outputs\.npz: its content is not the one .*\nnothing was written"
    with pytest.raises(ValueError, match=reason) as error:
        write_bundle(one / "a.tar", [root], with_models=False)
    assert "archive" not in str(error.value)
    assert not (one / "a.tar").exists()


def test_temporary_files_of_a_killed_job_are_not_packed(one):
    root, output = FakeBenchmark().write(one), "results/b/cell/seed-0/ga/outputs.npz"
    name = urlsafe_b64encode(output.encode()).decode()
    assert name in metadata(one)
    (one / STATE / "incomplete" / name).write_text("{}")
    with pytest.raises(ValueError, match=rf"{output}: its job did not end; run again"):
        write_bundle(one / "a.tar", [root], with_models=False)


def test_a_killed_job_without_results_is_no_obstacle(one):
    root, output = FakeBenchmark().write(one), "results/b/cell/seed-0/gone/outputs.npz"
    (one / STATE / "incomplete" / urlsafe_b64encode(output.encode()).decode()).write_text("{}")
    assert write_bundle(one / "a.tar", [root], with_models=False).num_files > 20


def test_metadata_of_results_that_are_gone_are_not_packed(one):
    root, known = FakeBenchmark().write(one), metadata(one)
    gone = "results/b/cell/seed-0/gone"
    write_metadata(one, {f"{gone}/{name}": {"rule": "old"} for name in ("outputs.npz", "x.json")})
    (root / "cell/seed-0/ga/model.safetensors").unlink()
    write_bundle(one / "a.tar", [root], with_models=True)
    with tarfile.open(one / "a.tar") as file:
        packed = json.loads(file.extractfile(METADATA).read())
    assert {urlsafe_b64encode(output.encode()).decode() for output in packed} == known.keys()


def test_a_copy_gets_no_metadata_of_the_original(one):
    FakeBenchmark().write(one)
    (one / "results").rename(one / "copy")
    made = write_bundle(one / "a.tar", [one / "copy/b"], with_models=False)
    assert "b/plan.json" in made.unwatched
    with tarfile.open(one / "a.tar") as file:
        assert json.loads(file.extractfile(METADATA).read()) == {}


def test_an_archive_among_the_results_is_refused(one):
    root = FakeBenchmark().write(one)
    with pytest.raises(ValueError, match=r"--out: .*lies in the results"):
        write_bundle(root / "a.tar", [root], with_models=False)


def test_a_folder_without_a_benchmark_is_refused(one):
    FakeBenchmark().write(one)
    with pytest.raises(ValueError, match=r"results: no benchmark's folder: there is no data\.json"):
        write_bundle(one / "a.tar", [one / "results"], with_models=False)


# Joining.


PAGE, INDEX = "b metrics, tables, figures and page", "index"
NEIGHBOURS = "b cell neighbours and pictures"


def test_seeds_made_apart_are_joined_without_what_is_derived_from_all(one, two, new):
    first = pack(one)
    done = unpack(new, first, pack(two, FakeBenchmark(seeds=(1,))))
    found = contents(new)
    for seed, project in ((0, one), (1, two)):
        for name in (f"b/base/seed-{seed}/model.safetensors", f"b/cell/seed-{seed}/ga/record.json"):
            assert found[name] == contents(project)[name]
    assert done.left_out == [NEIGHBOURS, PAGE, INDEX]
    derived = ("metrics", "costs", "neighbours", "pictures", "tables", "plan", "report", "glance")
    assert [name for name in found if any(word in name for word in (*derived, "check"))] == []
    assert len({*times(new).values()}) == 1
    assert read_metadata(new, ["b"]).keys() == {f"results/{name}" for name in found}


def test_joined_archives_have_one_cost_for_shared_results(one, two, new):
    """The base is the same; what it cost is not."""
    other = FakeBenchmark(methods=("rl",), seconds=2.5)
    done = unpack(new, pack(one), pack(two, other))
    found = contents(new)
    assert found["b/base/seed-0/cost.json"] == contents(one)["b/base/seed-0/cost.json"]
    assert {"b/cell/seed-0/ga/cost.json", "b/cell/seed-0/rl/cost.json"} <= found.keys()
    assert "b/cell/neighbours.npz" in found
    # Pictures of the examples that the other one's methods hurt most are not needed.
    for name in ("b/cell/pictures.npz", "b/cell/pictures.json"):
        assert found[name] == contents(one)[name]
    assert found["b/cell/pictures.json"] != contents(two)["b/cell/pictures.json"]
    assert done.left_out == [PAGE, INDEX]


def test_cells_made_apart_keep_their_neighbours(one, two, new):
    done = unpack(new, pack(one), pack(two, FakeBenchmark(cell="other-cell")))
    found = contents(new)
    assert {"b/cell/neighbours.npz", "b/other-cell/neighbours.npz"} <= found.keys()
    assert done.left_out == [PAGE, INDEX]
    assert not {"b/metrics.csv", "b/report.html", "b/tables/record.json"} & found.keys()


def test_runs_that_come_later_are_not_older_than_what_they_were_made_from(one, two, new):
    """Neither do files that are here look stale because of a data set that comes later."""
    unpack(new, pack(one, with_models=False))
    unpack(new, pack(two, FakeBenchmark(methods=("ga", "rl"), begin=BEGIN - HOUR)))
    time = times(new)
    assert time["b/dataset.npz"] <= time["b/data.json"] <= time["b/cell/seed-0/ga/outputs.npz"]
    assert time["b/base/seed-0/model.safetensors"] <= time["b/cell/seed-0/ga/outputs.npz"]
    assert time["b/base/seed-0/model.safetensors"] <= time["b/cell/seed-0/rl/outputs.npz"]


def test_existing_results_stay_and_new_ones_are_added(one, new):
    FakeBenchmark(seeds=(1,), methods=("ga", "rl")).write(new)
    before, before_times = contents(new), times(new)
    done = unpack(new, pack(one))
    after = contents(new)
    assert {name: after[name] for name in before} == before
    assert before_times.items() <= times(new).items()
    # The files here are inputs of the new runs.
    added = [time for name, time in times(new).items() if name not in before]
    assert min(added) >= max(before_times.values())
    assert after.keys() - before.keys() == {name for name in contents(one) if "seed-0" in name}
    assert done.num_files == len(after) - len(before)


def test_derived_files_are_not_mixed_with_others(one, new):
    """Numbers of a cell are gone here; those of the archive are not what the page here shows."""
    root = FakeBenchmark(seeds=(0, 1)).write(new)
    remove(root, "cell/metrics.*", "cell/problems.json")
    before = contents(new)
    assert unpack(new, pack(one)).left_out == [NEIGHBOURS, PAGE, INDEX]
    assert contents(new) == before


def test_a_second_time_nothing_is_new(one, new):
    archive = pack(one)
    unpack(new, archive)
    before = everything(new)
    assert unpack(new, archive).num_files == 0
    assert everything(new) == before


def test_a_copy_without_snakemake_metadata_gets_them_from_the_archive(one, new):
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


def test_files_that_differ_are_named(one, two, new):
    first, second = pack(one), pack(two, FakeBenchmark(lr=0.2))
    run = "results/b/cell/seed-0/ga"
    names = ("model.safetensors", "outputs.npz", "record.json")
    assert conflicts(new, first, second) == [
        f"{run}/{name}: differs: {first} and {second}" for name in names
    ]


def test_existing_results_can_be_in_conflict_with_an_archive(one, new):
    FakeBenchmark(lr=0.2).write(new)
    archive, name = pack(one), "results/b/cell/seed-0/ga/model.safetensors"
    assert conflicts(new, archive)[0] == f"{name}: differs: {new / 'results'} and {archive}"


def test_a_damaged_archive_among_others_is_named(one, two, new):
    first, second = pack(one), pack(two, FakeBenchmark(methods=("rl",)))
    damaged = "results/b/cell/seed-0/rl/outputs.npz"
    rewrite(lambda name, old: old[::-1] if name == damaged else old)(second)
    (line,) = conflicts(new, first, second)
    assert line.startswith(f"{second}: {new / damaged}: its content is not the one")


def remove(root, *patterns):
    for pattern in patterns:
        for path in root.glob(pattern):
            path.unlink()


def test_a_file_that_others_here_were_not_made_from_is_refused(one, new):
    """The neighbours of both seeds are gone here; the numbers made from them are not."""
    remove(FakeBenchmark(seeds=(0, 1)).write(new), "cell/neighbours.*", "cell/pictures.*")
    lines = conflicts(new, pack(one))
    cell = new / "results/b/cell"
    made = f"its job used another version of {cell}/neighbours.npz"
    assert f"{cell}/metrics.json: {made}" in lines


def test_existing_results_must_be_sound(one, new):
    root = FakeBenchmark(methods=("rl",)).write(new)
    (root / "cell/seed-0/rl/outputs.npz").write_text("another")
    (line,) = conflicts(new, pack(one))
    assert line.startswith(f"{root}/cell/seed-0/rl/outputs.npz: its content is not")


def test_missing_results_are_unpacked_with_their_metadata(one, new):
    archive = pack(one)
    FakeBenchmark().write(new)
    (new / OUTPUTS).unlink()
    write_metadata(new, {OUTPUTS: {"rule": "of the file that is gone"}})
    assert unpack(new, archive).num_files == 1
    assert contents(new) == contents(one)
    assert metadata(new) == metadata(one)


# Hostile, damaged and foreign archives.


def add(name, content=b"x", **more):
    """Return a damage: one more member of an archive."""

    def damage(archive):
        with tarfile.open(archive, "a") as file:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            for key, value in more.items():
                setattr(member, key, value)
            file.addfile(member, io.BytesIO(content))

    return damage


def rewrite(change):
    """Return a damage: each file's content changed by `change(name, content)`; None: left out."""

    def damage(archive):
        with tarfile.open(archive) as old:
            members = [(member, old.extractfile(member).read()) for member in old.getmembers()]
        with tarfile.open(archive, "w") as file:
            for member, content in members:
                if (changed := change(member.name, content)) is not None:
                    member.size = len(changed)
                    file.addfile(member, io.BytesIO(changed))

    return damage


def cut(share):
    def damage(archive):
        whole = archive.read_bytes().rstrip(b"\0")  # the zeros at the end mean nothing
        archive.write_bytes(whole[: int(share * len(whole))])

    return damage


def forge(metadata=None, **about):
    """Return a damage: other metadata, or another manifest, with hashes that fit."""

    def damage(archive):
        folder = archive.parent / "forged"
        folder.mkdir()
        with tarfile.open(archive) as file:
            parts = {name: json.load(file.extractfile(name)) for name in (METADATA, MANIFEST)}
        write_json(folder / METADATA, parts[METADATA] if metadata is None else metadata)
        own = {k: v for k, v in parts[MANIFEST].items() if k not in ("sha256", "place", "files")}
        files = [folder / METADATA]
        bundle.write_record(folder / MANIFEST, {**own, **about}, root=folder, files=files)
        rewrite(lambda name, old: (folder / name).read_bytes() if name in parts else old)(archive)

    return damage


ELSEWHERE = ("../x", "/tmp/x", "x", "results", "./results/b/x", "results/../x")
OUTSIDE = ("results/../../x", "results/b/../../../x")
UNLISTED = ("results//b/x", "results/b/.numbers/x", "results/b\\..\\x")
LINKS = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE)
NO_NAMES = ("..", "../x", "/tmp", ".snakemake", "b/cell", "")
OUTPUTS = "results/b/cell/seed-0/ga/outputs.npz"
PLAN = "results/b/plan.json"
DAMAGES = [
    *(
        (add(name), "is no plain file below results/; do not trust it")
        for name in (*ELSEWHERE, *OUTSIDE)
    ),
    *((add(name), r"\d+ of its \d+ files are there, or others too") for name in UNLISTED),
    *(
        (add("results/b/x", b"", type=kind, linkname=PLAN), "'results/b/x' is no plain file")
        for kind in LINKS
    ),
    (add(PLAN), "files are there"),
    (add("results/b/more.csv"), r"\d+ of its \d+ files are there, or others too; copy or"),
    (rewrite(lambda name, old: None if name == PLAN else old), r"\d+ of its \d+ files are there"),
    (
        rewrite(lambda name, old: old[::-1] if name == OUTPUTS else old),
        rf"{OUTPUTS}: its content is not the one that record\.json names\nnothing was changed",
    ),
    (
        rewrite(lambda name, old: old.replace(b"0.1", b"0.2") if name == METADATA else old),
        "its content is not the one that manifest.json names",
    ),
    *((cut(share), r"a\.tar: .*copy or bundle the archive") for share in (0.0, 0.1, 0.5, 0.9)),
    *(
        (lambda archive, c=content: archive.write_bytes(c), r"a\.tar: .*no bundle")
        for content in (b"", b"no tar", b"\0" * 10240)
    ),
    (
        rewrite(lambda name, old: old if name == PLAN else None),
        r"a\.tar: broken, or no bundle",
    ),
    (lambda archive: archive.unlink(), r"a\.tar: .*No such file"),
    (lambda archive: [archive.unlink(), os.mkfifo(archive)], r"a\.tar: no plain file; copy"),
    (forge(metadata=[1, 2]), r"a\.tar: broken, or no bundle: metadata\.json is not a mapping"),
    (forge(version=2), "version 2, and this Collateral reads 1"),
    *((forge(benchmarks=["b", name]), "files are there") for name in NO_NAMES),
    (forge(benchmarks=["c"]), "files are there"),
]


@pytest.mark.parametrize(("damage", "reason"), DAMAGES)
def test_an_archive_that_bundle_did_not_write_is_refused(one, new, damage, reason):
    archive = pack(one)
    damage(archive)
    with pytest.raises(ValueError, match=reason):
        unpack(new, archive)
    assert list(new.iterdir()) == []
    assert not (new.parent / "x").exists()


def test_metadata_of_other_benchmarks_are_not_unpacked(one, new):
    archive = pack(one)
    forge(metadata={"results/c/plan.json": {"rule": "any"}})(archive)
    unpack(new, archive)
    assert metadata(new) == {}
    assert len(contents(new)) == len(contents(one))


def test_the_first_of_two_metadata_of_a_file_is_unpacked_with_the_file(one, two, new):
    first, second = pack(one), pack(two)
    forge(metadata={OUTPUTS: {"rule": "another"}})(second)
    unpack(new, first, second)
    assert metadata(new) == metadata(one)


# Where Snakemake keeps what it knows.


@pytest.mark.parametrize("output", ["results/b/plan.json", f"results/{'long/' * 200}plan.json"])
def test_metadata_are_where_snakemake_looks_for_them(tmp_path, output):
    persistence = pytest.importorskip("snakemake.persistence.file")
    known = persistence.FilePersistence(path=tmp_path / STATE)
    write_metadata(tmp_path, {output: {"rule": "plan", "params": ["1"]}})
    assert known._read_record(output).params == ["1"]
    assert known._read_record(output).rule == "plan"
    assert read_metadata(tmp_path, ["b", "long"]).keys() == {output}


def test_names_have_at_most_255_bytes_if_the_file_system_states_no_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "pathconf", lambda *_: 0)
    output = f"results/{'long/' * 200}plan.json"
    write_metadata(tmp_path, {output: {"rule": "plan"}})
    assert read_metadata(tmp_path, ["long"]).keys() == {output}


# The command line.


def test_bundle_warns_of_files_that_snakemake_does_not_watch(one, capsys, monkeypatch):
    FakeBenchmark().write(one)
    (one / STATE).rename(one / "lost")
    monkeypatch.chdir(one)
    main(["bundle", "results/b", "--out", "a.tar", "--with-models"])
    num = len(contents(one)) - 1  # the time of the tables' folder is no file of a rule
    assert f"files without metadata of Snakemake: {num}, as b/" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["theory.csv", "figures/synthetic.png", "report.html"])
def test_the_theory_is_one_group_of_derived_files(name):
    assert bundle._derived_group(f"theory/{name}") == "theory"


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
