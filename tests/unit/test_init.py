"""`collateral init`: a config for what it is pointed at, which loads as it was meant."""

import pytest
from image_files import HOSTILE, write_folder
from plug_ins import forgotten_after

from collateral.cli import main
from collateral.config.load import load, read
from collateral.config.yaml import parse
from collateral.data._reading.listing import known_tree
from collateral.plan.proposal import Trained, Wish, propose
from collateral.plan.proposal_text import as_yaml
from collateral.plan.rates import SHIPPED


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    known_tree.cache_clear()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("collateral.stages.init.default_device", lambda: "cpu")


def wish(folder, **more):
    known = {"forget": None, "trained": None, "size": None, "minutes": 60, "cores": 2}
    return Wish(folder, "resnet8", rates=SHIPPED["cpu"], **{**known, **more})


def write_list(folder, names):
    (folder / "withdrawn.txt").write_text("# asked for\n" + "".join(f"{one}\n" for one in names))
    return folder / "withdrawn.txt"


def benchmark(folder):
    (only,) = read(folder / "pictures.yaml").benchmarks.values()
    return only


def test_what_is_written_is_what_was_proposed(tmp_path):
    root = write_folder(tmp_path / "pictures", ("yes", "null", "a: b", *HOSTILE), each=(6, 2))
    found = propose(wish(root))
    assert parse(as_yaml(found)) == found.config()
    assert load(found.config()) == load(parse(as_yaml(found)))


def test_a_list_of_files_is_a_cell_and_none_of_them_is_tested_on(tmp_path):
    root = write_folder(tmp_path / "pictures", tops=("",), each=(20,))
    gone = [f"cat/{number}.png" for number in range(10)]
    main(["init", str(root), "--forget", str(write_list(tmp_path, gone)), "--model", "resnet8"])
    only = benchmark(tmp_path)
    assert only.cells["withdrawn"].forget["kind"] == "files"
    tree = propose(wish(root, forget=tmp_path / "withdrawn.txt")).tree
    assert not set(gone) & {file.path for file in tree.test}
    assert tree.counts(tree.test) == (4, 4)


def test_a_withdrawn_file_that_is_not_there_is_named(tmp_path):
    root = write_folder(tmp_path / "pictures", each=(6, 2))
    listed = write_list(tmp_path, ["train/cat/0.png", "train/cat/1.pgn"])
    with pytest.raises(SystemExit, match=r"line 3: 'train/cat/1.pgn'.*mean train/cat/1.png"):
        main(["init", str(root), "--forget", str(listed), "--model", "resnet8"])
    assert not (tmp_path / "pictures.yaml").exists()


def test_it_says_what_it_saw_and_what_comes_next(tmp_path, capsys):
    root = write_folder(tmp_path / "pictures", each=(6, 2))
    main(["init", str(root), "--model", "resnet8"])
    said = capsys.readouterr().out
    assert "2 classes, images of about 10x12 pixels" in said
    assert "cat        6 train       2 test" in said
    assert "to forget: 3 of 12 train images" in said
    assert "--configfile pictures.yaml" in said


def test_nothing_is_overwritten(tmp_path):
    root = write_folder(tmp_path / "pictures")
    (tmp_path / "pictures.yaml").write_text("mine")
    with pytest.raises(SystemExit, match=r"--out: pictures.yaml is there already"):
        main(["init", str(root)])
    assert (tmp_path / "pictures.yaml").read_text() == "mine"


@pytest.mark.parametrize(("minutes", "seeds"), [(60, 5), (0, 1)])
def test_seeds_are_as_many_as_fit_the_time(tmp_path, minutes, seeds):
    found = propose(wish(write_folder(tmp_path / "pictures", each=(6, 2)), minutes=minutes))
    assert found.seeds == seeds
    assert (found.minutes <= minutes) == (minutes == 60)


def test_images_are_made_as_large_as_they_are_and_time_allows(tmp_path):
    root = write_folder(tmp_path / "pictures", each=(6, 2), height=140, width=300)
    assert propose(wish(root)).size == 128
    assert propose(wish(root, size=96)).size == 96
    assert propose(wish(root, minutes=0)).size == 32


def test_no_part_of_the_data_ends_with_a_batch_of_one(tmp_path):
    root = write_folder(tmp_path / "pictures", each=(65, 2))
    found = propose(wish(root, forget=write_list(tmp_path, ["train/cat/0.png"])))
    assert found.num_forget == 1
    assert 129 % found.batch_size != 1


def test_a_trained_model_is_the_base_and_its_size_must_be_told(tmp_path):
    root = write_folder(tmp_path / "pictures", each=(6, 2))
    (tmp_path / "mine.safetensors").write_bytes(b"")
    given = ["init", str(root), "--model", "resnet8", "--weights", "mine.safetensors"]
    with pytest.raises(SystemExit, match="--size: missing"):
        main(given)
    main([*given, "--size", "12", "--mean", "0.5", "0.5", "0.5", "--std", "0.2", "0.2", "0.2"])
    only = benchmark(tmp_path)
    assert str(only.base.weights) == "mine.safetensors"
    assert only.data["std"] == [0.2, 0.2, 0.2]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--minutes", "nan"], "--minutes: nan: should be above 0"),
        (["--minutes", "-5"], "--minutes: -5: should be above 0"),
        (["--size", "0"], r"benchmarks\.pictures\.data\.size: 0: should be greater than"),
        (["--mean", "0.5"], "--mean, --std: of a trained model; give its --weights"),
        (["--weights", "no.pt", "--size", "8"], r"--weights: there is no file no\.pt"),
        (["--name", "tables"], r"benchmarks\.tables: not usable as a folder's name"),
    ],
)
def test_an_option_that_cannot_be_meant_is_named_and_nothing_is_written(tmp_path, options, said):
    root = write_folder(tmp_path / "pictures", each=(6, 2))
    with pytest.raises(SystemExit, match=said):
        main(["init", str(root), "--model", "resnet8", *options])
    assert not (tmp_path / "pictures.yaml").exists()


def test_a_benchmark_may_be_called_otherwise_than_its_folder(tmp_path):
    root = write_folder(tmp_path / "tables", each=(6, 2))
    main(["init", str(root), "--model", "resnet8", "--name", "pictures", "--out", "pictures.yaml"])
    assert [*read(tmp_path / "pictures.yaml").benchmarks] == ["pictures"]


def test_a_folder_without_an_image_is_refused(tmp_path):
    root = write_folder(tmp_path / "pictures")
    for path in root.rglob("*.png"):
        path.write_text("no image")
    with pytest.raises(SystemExit, match="none of its files can be read as an image"):
        main(["init", str(root), "--model", "resnet8"])


def test_results_are_not_put_among_the_images(tmp_path, monkeypatch):
    root = write_folder(tmp_path / "pictures")
    monkeypatch.chdir(root)
    with pytest.raises(SystemExit, match="results would lie among the images; start elsewhere"):
        main(["init", ".", "--model", "resnet8"])


def test_plug_ins_are_in_the_config(tmp_path):
    root = write_folder(tmp_path / "pictures", each=(6, 2))
    (tmp_path / "mine/models").mkdir(parents=True)
    (tmp_path / "mine/models/net.py").write_text("MULTIPLY_ADDS = 10\n\ndef build(info): ...\n")
    with forgotten_after():
        main(["init", str(root), "--model", "net", "--plugins", "mine"])
        assert [*map(str, read(tmp_path / "pictures.yaml").plugins)] == ["mine"]


def test_what_is_left_out_and_a_file_listed_twice_are_told(tmp_path, capsys):
    root = write_folder(tmp_path / "pictures", each=(6, 2))
    (root / "train/cat/1.heic").touch()
    listed = write_list(tmp_path, ["train/cat/0.png", "./train/cat/0.png", "train/cat/1.png"])
    main(["init", str(root), "--forget", str(listed), "--model", "resnet8"])
    said = capsys.readouterr().out
    assert "left out: 1 files, by name no images (train/cat/1.heic)" in said
    assert "to forget: 2 of 12 train images" in said


def test_a_trained_model_may_have_seen_the_test_share(tmp_path):
    root = write_folder(tmp_path / "pictures", tops=("",), each=(20,))
    given = Trained("mine.pt", [0.5] * 3, [0.2] * 3)
    assert "Has your model seen them all?" in as_yaml(propose(wish(root, trained=given, size=12)))
