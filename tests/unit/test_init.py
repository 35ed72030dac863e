"""`collateral init`: a config for what it is pointed at, which loads as it was meant."""

import os
import re
from pathlib import Path

import pytest
from image_files import HOSTILE, write_folder
from PIL import Image
from plug_ins import forgotten_after

from collateral.cli import main
from collateral.commands import _proposal, forecast
from collateral.commands._proposal import InitRequest, propose
from collateral.config.errors import ConfigError
from collateral.config.load import load, read
from collateral.config.yaml import parse
from collateral.data.folder import index_folder
from collateral.data.forget import where
from collateral.plan.estimate import SHIPPED
from collateral.plan.grid import build_grid
from collateral.plan.preflight import check_plan
from collateral.plan.report_plan import make_plan
from collateral.plugins.find import params_class


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    index_folder.cache_clear()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_proposal, "default_device", lambda: "cpu")
    monkeypatch.setattr(_proposal, "select_speeds", lambda *_, **__: SHIPPED["cpu"])
    # Files of weights are made up here; test_init_weights.py compares real ones with the model.
    monkeypatch.setattr("collateral.plan.preflight.find_spec", lambda name: None)


def request(folder, **more):
    return InitRequest(folder, model="resnet8", **more)


def write_list(folder, names):
    (folder / "withdrawn.txt").write_text("# asked for\n" + "".join(f"{one}\n" for one in names))
    return folder / "withdrawn.txt"


def benchmark(folder):
    (only,) = read(folder / "pictures.yaml").benchmarks.values()
    return only


def test_names_that_yaml_would_read_otherwise_stay_text(tmp_path):
    classes = ("yes", "null", "a: b", *HOSTILE)
    root = write_folder(tmp_path / "true", classes, each=(6, 2))
    ((name, only),) = load(parse(propose(request(root)).text)).benchmarks.items()
    assert name == "true"
    assert [*only.classes] == [min(classes)]


def test_a_list_of_files_is_a_cell_and_none_of_them_is_tested_on(tmp_path):
    root = write_folder(tmp_path / "pictures", tops=("",), each=(20,))
    gone = [f"cat/{number}.png" for number in range(10)]
    main(["init", str(root), "--forget", str(write_list(tmp_path, gone)), "--model", "resnet8"])
    only = benchmark(tmp_path)
    assert only.cells["withdrawn"].forget["kind"] == "files"
    examples = propose(request(root, forget=tmp_path / "withdrawn.txt")).index.examples
    assert not set(gone) & {examples.names[row] for row in examples.rows(test=True)}
    assert examples.count(test=True) == (4, 4)


def test_results_of_an_earlier_request_are_not_replaced_without_a_word(tmp_path, capsys):
    root = write_folder(tmp_path / "pictures", tops=("",), each=(20,))
    gone = str(write_list(tmp_path, ["cat/1.png"]))
    main(["init", str(root), "--forget", gone, "--model", "resnet8"])
    assert "earlier request" not in capsys.readouterr().out
    (tmp_path / "results/pictures/withdrawn").mkdir(parents=True)
    main(["init", str(root), "--forget", gone, "--model", "resnet8", "--out", "next.yaml"])
    assert "results/pictures/withdrawn has the results of an earlier" in capsys.readouterr().out


def test_a_withdrawn_file_that_is_not_there_is_named(tmp_path):
    root = write_folder(tmp_path / "pictures", each=(6, 2))
    listed = write_list(tmp_path, ["train/cat/0.png", "train/cat/1.pgn"])
    with pytest.raises(SystemExit, match=r"'train/cat/1.pgn' .*mean train/cat/1.png"):
        main(["init", str(root), "--forget", str(listed), "--model", "resnet8"])
    assert not (tmp_path / "pictures.yaml").exists()


def test_the_output_describes_the_folder_and_the_next_steps(tmp_path, capsys):
    root = write_folder(tmp_path / "pictures", each=(6, 2))
    main(["init", str(root), "--model", "resnet8"])
    said = capsys.readouterr().out
    assert "2 classes, images of about 10x12 pixels" in said
    assert "cat        6 train       2 test" in said
    assert "to forget: 3 of 12 train images" in said
    assert "--configfile pictures.yaml" in said


def test_who_is_likely_to_be_hurt_is_printed_if_there_is_a_base_model(
    tmp_path, monkeypatch, capsys
):
    root, line = write_folder(tmp_path / "pictures", each=(6, 2)), "likely to be hurt: cat (3)"
    asked = []
    monkeypatch.setattr(forecast, "likely_hurt", lambda config: asked.append(config) or line)
    main(["init", str(root), "--model", "resnet8", "--out", "first.yaml"])
    assert asked == []
    assert line not in capsys.readouterr().out
    (tmp_path / "results" / "pictures" / "base" / "seed-0").mkdir(parents=True)
    main(["init", str(root), "--model", "resnet8", "--out", "second.yaml"])
    assert asked == [Path("second.yaml")]
    assert capsys.readouterr().out.endswith(f"\n{line}\n")


def test_a_class_that_is_called_as_a_number_is_in_quotes_and_means_no_index(tmp_path):
    root = write_folder(tmp_path / "grades", ("1", "2", "3"), each=(6, 2))
    main(["init", str(root), "--model", "resnet8"])
    text = (tmp_path / "grades.yaml").read_text()
    assert "classes: ['1']" in text.replace('"', "'")
    with pytest.raises(ConfigError, match=r"classes\[0\]: 1: by name class .1., .* class .2.;"):
        load(parse(text.replace('classes: ["1"]', "classes: [1]")))


def test_nothing_is_overwritten(tmp_path):
    root = write_folder(tmp_path / "pictures")
    (tmp_path / "pictures.yaml").write_text("mine")
    with pytest.raises(SystemExit, match=r"--out: pictures.yaml is there already"):
        main(["init", str(root)])
    assert (tmp_path / "pictures.yaml").read_text() == "mine"


@pytest.mark.parametrize(("minutes", "seeds"), [(60, 5), (0, 1)])
def test_seeds_are_as_many_as_fit_the_time(tmp_path, minutes, seeds):
    found = propose(request(write_folder(tmp_path / "pictures", each=(6, 2)), minutes=minutes))
    assert found.seeds == seeds
    assert (found.minutes <= minutes) == (minutes == 60)


def test_speeds_are_measured_once_for_each_size_of_the_images(tmp_path, monkeypatch):
    sizes = []

    def select(config, device, results, *, calibrate):
        assert (device, calibrate) == (None, False)
        sizes.append(config.benchmarks["pictures"].data["size"])
        return SHIPPED["cpu"]

    monkeypatch.setattr(_proposal, "select_speeds", select)
    root = write_folder(tmp_path / "pictures", each=(6, 2), height=140, width=300)
    propose(request(root, minutes=0))
    assert sizes == [128, 96, 64, 48, 32]


def test_images_are_made_as_large_as_they_are_and_time_allows(tmp_path):
    root = write_folder(tmp_path / "pictures", each=(6, 2), height=140, width=300)
    assert propose(request(root)).size == 128
    assert propose(request(root, size=96)).size == 96
    assert propose(request(root, minutes=0)).size == 32


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
        (["--size", "0"], r"benchmarks\.pictures\.data\.size: 0: should be greater than"),
        (["--minutes", "0"], "--minutes: 0: should be above 0"),
        (["--minutes", "nan"], "--minutes: nan: should be above 0"),
        (["--mean", "0.5"], "--mean, --std: go together; give both, or neither"),
        (["--std", "0.5"], "--mean, --std: go together; give both, or neither"),
        (["--weights", "no.pt", "--size", "8"], r"--weights: there is no file no\.pt; paths start"),
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
    (tmp_path / "mine/models/net.py").write_text("def build(info): ...\n")
    with forgotten_after():
        main(["init", str(root), "--model", "net", "--plugins", "mine"])
        assert [*map(str, read(tmp_path / "pictures.yaml").plugins)] == ["mine"]


def test_files_left_out_or_listed_twice_are_named(tmp_path, capsys):
    root = write_folder(tmp_path / "pictures", each=(6, 2))
    (root / "train/cat/1.heic").touch()
    listed = write_list(tmp_path, ["train/cat/0.png", "./train/cat/0.png", "train/cat/1.png"])
    main(["init", str(root), "--forget", str(listed), "--model", "resnet8"])
    said = capsys.readouterr().out
    assert "left out 1 files and folders: train/cat/1.heic" in said
    assert "to forget: 2 of 12 train images" in said


# A trained model, and one folder: it may have seen every picture.


@pytest.fixture
def trained(tmp_path):
    """What somebody types who has a folder of classes and a trained model."""
    root = write_folder(tmp_path / "pictures", tops=("",), each=(20,))
    (tmp_path / "mine.pt").write_bytes(b"")
    return ["init", str(root), "--model", "resnet8", "--weights", "mine.pt", "--size", "12"]


def test_all_missing_options_are_named_at_once(trained):
    with pytest.raises(SystemExit) as stop:
        main(trained[:-2])
    assert re.findall(r"^(?:collateral init: )?--(\w+): missing", str(stop.value), re.M) == [
        "size",
        "test",
    ]


def test_a_test_set_that_the_model_never_saw_is_asked_for(tmp_path, trained):
    with pytest.raises(SystemExit) as stop:
        main(trained)
    said = str(stop.value)
    assert said.startswith("collateral init: --test: missing; your model may have been trained on")
    assert all(option in said for option in ("--test FOLDER", "--test LIST", "--test-share 0.2"))
    assert "\n" not in said
    assert not (tmp_path / "pictures.yaml").exists()


def test_a_list_of_unseen_pictures_is_the_test_set(tmp_path, trained, capsys):
    (tmp_path / "unseen.txt").write_text("cat/3.png\ndog/4.png\ndog/5.png\n")
    main([*trained, "--test", "unseen.txt"])
    assert benchmark(tmp_path).data == {
        **{"name": "folder", "path": str(tmp_path / "pictures"), "size": 12},
        "test_path": "unseen.txt",
    }
    assert "dog       18 train       2 test" in capsys.readouterr().out
    assert "test_drawn" not in (tmp_path / "pictures.yaml").read_text()


def test_a_folder_of_unseen_pictures_is_the_test_set(tmp_path, trained, capsys):
    write_folder(tmp_path, tops=("unseen",), each=(3,))
    main([*trained, "--test", "unseen"])
    assert benchmark(tmp_path).data["test_path"] == "unseen"
    assert "cat       20 train       3 test" in capsys.readouterr().out


def test_who_insists_on_a_share_reads_in_the_config_and_by_a_gate_that_ta_is_void(
    tmp_path, trained
):
    main([*trained, "--test-share", "0.3"])
    text = (tmp_path / "pictures.yaml").read_text()
    assert "# 30% of every class are tested on" in text
    assert "# Your model may have been trained on them: TA and MIA cannot be trusted" in text
    config = read(tmp_path / "pictures.yaml")
    assert config.benchmarks["pictures"].data["test_share"] == 0.3
    assert make_plan(build_grid(config)["pictures"]).test_drawn is True


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--test-share", "2"], "--test-share: 2: should be between 0 and 1"),
        (["--test-share", "0.2", "--test", "x"], "--test-share: .*: test_share, test_path; expec"),
        (["--test", "nowhere"], "--test: 'nowhere': .*; paths start"),
        (["--test-share", "0.2", "--forget", "no.txt"], r"--forget: 'no\.txt': .*; paths start"),
    ],
)
def test_a_test_set_that_cannot_be_meant_is_named(tmp_path, trained, options, said):
    with pytest.raises(SystemExit, match=said):
        main([*trained, *options])
    assert not (tmp_path / "pictures.yaml").exists()


def test_a_class_of_the_test_set_alone_is_blamed_on_its_option(tmp_path, trained):
    unseen = write_folder(tmp_path, ("cat", "dgo"), tops=("holdout",), each=(2,)) / "holdout"
    with pytest.raises(SystemExit, match="--test: in the test set: no class 'dgo'"):
        main([*trained, "--test", str(unseen)])


def test_persons_who_are_also_in_the_given_test_set_are_counted(tmp_path, trained, capsys):
    write_people(tmp_path / "pictures", tmp_path / "people.csv")
    (tmp_path / "unseen.txt").write_text("cat/3.png\ncat/19.png\ndog/4.png\ndog/5.png\n")
    main([*trained, "--forget-where", "person=017", "--test", "unseen.txt"])
    said = capsys.readouterr().out
    assert "test set: 2 of 4 images have a person that is to be forgotten, and count in TA" in said
    assert "to forget: 8 of 36 train images" in said


def test_a_test_set_beside_the_table_may_have_the_same_persons(tmp_path, trained, capsys):
    write_people(tmp_path / "pictures", tmp_path / "people.csv")
    write_folder(tmp_path, tops=("unseen",), each=(3,))
    main([*trained, "--forget-where", "person=017", "--test", "unseen"])
    assert "whether it has images of the same persons is unknown" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--forget", "--table", "--test"])
def test_a_pipe_is_not_read(tmp_path, trained, option):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SystemExit, match=f"{option}: pipe: is a pipe or a device"):
        main([*trained, "--test-share", "0.2", option, "pipe"])


def test_a_pipe_in_place_of_the_folder_is_one_line(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SystemExit) as error:
        main(["init", "pipe", "--model", "resnet8"])
    said = "folder: pipe: is a pipe or a device, whose reading may not end"
    assert str(error.value) == f"collateral init: {said}"


def test_without_the_mean_of_a_trained_model_there_is_a_warning(trained, capsys):
    main([*trained, "--test-share", "0.2"])
    assert "warning: no --mean and --std" in capsys.readouterr().out
    main([*trained, "--test-share", "0.2", "--mean", ".4", "--std", ".2", "--out", "b.yaml"])
    assert "warning" not in capsys.readouterr().out


def test_groups_are_proposed_of_columns_with_few_values(tmp_path, trained, capsys):
    """Sex and site, but not the person, an age of every image, or what is always the same."""
    root = tmp_path / "pictures"
    files = sorted(str(one.relative_to(root)) for one in root.rglob("*.png"))
    rows = [f"{file},{n // 5},{'fm'[n % 2]},{'abc'[n % 3]},{n},mr" for n, file in enumerate(files)]
    header = "file,person,sex,site,age,scanner"
    (tmp_path / "people.csv").write_text("\n".join([header, *rows]) + "\n")
    main([*trained, "--test-share", "0.2", "--forget-where", "person=1"])
    assert "groups: sex, site may be compared" in capsys.readouterr().out
    text = (tmp_path / "pictures.yaml").read_text()
    assert '    # groups: ["sex", "site"]\n' in text
    (only,) = load(parse(text.replace("# groups:", "groups:"))).benchmarks.values()
    assert only.groups == ("sex", "site")


# What the config says of itself.


@pytest.mark.parametrize(
    ("minutes", "looks"), [(60, (5, 10)), (0, ())], ids=["five seeds", "one seed"]
)
def test_seeds_may_be_added_where_looks_declare_it(tmp_path, minutes, looks):
    found = propose(request(write_folder(tmp_path / "pictures", each=(6, 2)), minutes=minutes))
    (only,) = load(parse(found.text)).benchmarks.values()
    assert only.looks == looks
    more = {**parse(found.text)["benchmarks"]["pictures"], "seeds": [*range(10)]}
    assert load({"benchmarks": {"pictures": more}})


def test_grids_have_the_default_of_their_method(tmp_path):
    found = propose(request(write_folder(tmp_path / "pictures", each=(6, 2))))
    methods = parse(found.text)["benchmarks"]["pictures"]["methods"]
    assert {*methods} == {"ft", "ga", "salun", "ltd"}
    for name, values in methods.items():
        assert params_class(name).model_fields["lr"].default in values["lr"]


def test_the_recipe_that_is_not_written_is_in_a_comment(tmp_path):
    text = propose(request(write_folder(tmp_path / "pictures", each=(6, 2)))).text
    (line,) = re.findall(r"# Not written, so by default: (\{.*\})", text)
    base = load(parse(text)).benchmarks["pictures"].base
    assert all(getattr(base, key) == value for key, value in parse(line).items())
    assert "weight_decay" in line and "momentum" in line


# A list that names more than there is.


def test_a_list_longer_than_the_train_set_is_refused_for_its_names_and_not_for_k(tmp_path):
    root = write_folder(tmp_path / "pictures", each=(6, 2))
    gone = write_list(tmp_path, [f"train/cat/{number}.png" for number in range(6, 200)])
    with pytest.raises(SystemExit, match=r"--forget: .*'train/cat/6.png' is not among the 12"):
        main(["init", str(root), "--forget", str(gone), "--model", "resnet8"])


def test_a_list_of_all_train_images_is_refused(tmp_path):
    root = write_folder(tmp_path / "pictures", each=(6, 2))
    gone = write_list(tmp_path, [f"train/{c}/{n}.png" for c in ("cat", "dog") for n in range(6)])
    with pytest.raises(
        SystemExit, match="--forget: 12 of 12 train images are to be forgotten; expected"
    ):
        main(["init", str(root), "--forget", str(gone), "--model", "resnet8"])


def test_persons_who_are_all_train_images_are_refused_by_their_option(tmp_path):
    root = write_folder(tmp_path / "pictures", each=(6, 2))
    files = sorted(str(one.relative_to(root)) for one in root.rglob("*.png"))
    (tmp_path / "who.csv").write_text("file,who\n" + "".join(f"{file},1\n" for file in files))
    with pytest.raises(SystemExit, match="--forget-where: 12 of 12 train images are to be forg"):
        main(["init", str(root), "--model", "resnet8", "--forget-where", "who=1"])


def test_a_first_class_of_one_image_needs_a_forget_set(tmp_path):
    root = write_folder(tmp_path / "pictures", each=(1, 1))
    with pytest.raises(SystemExit, match=r"--forget: missing; class 'cat' .*: --forget LIST, or"):
        main(["init", str(root), "--model", "resnet8"])


def test_unreadable_and_hidden_files_are_listed(tmp_path, capsys):
    root = write_folder(tmp_path / "pictures", each=(6, 2))
    Image.new("1", (14_000, 13_000)).save(root / "train/cat/huge.png")
    (root / "train/.owl").mkdir()
    main(["init", str(root), "--model", "resnet8"])
    said = capsys.readouterr().out
    assert "cannot be read: train/cat/huge.png: ValueError: above 178 megapixels, " in said
    assert "left out 1 files and folders: train/.owl/" in said


# A table of persons.


def write_people(root, path, column="person"):
    """Write a table: pictures 0 to 4 of a class are of 017, 5 to 9 of 23, all others of two."""
    files = sorted(str(one.relative_to(root)) for one in root.rglob("*.png"))
    people = ("017", "23", "8", "9")
    rows = [f"{file},{people[int(file[4:-4]) // 5]}" for file in files]
    path.write_text("\n".join([f"file,{column}", *rows]) + "\n")
    return path


@pytest.mark.parametrize("place", ["people.csv", "pictures/people.csv"])
@pytest.mark.parametrize("listed", ["017", "017,23"])
def test_persons_to_forget_are_found_in_the_table_at_the_folder(tmp_path, place, listed, capsys):
    root = write_folder(tmp_path / "pictures", tops=("",), each=(20,))
    write_people(root, tmp_path / place)
    (tmp_path / "other.csv").write_text("name,age\n")
    main(["init", "pictures", "--model", "resnet8", "--forget-where", f"person={listed}"])
    values, only = listed.split(","), benchmark(tmp_path)
    assert only.cells["withdrawn"].forget == {"kind": "where", "column": "person", "is": values}
    assert only.data["table"] == place
    assert only.data["test_by"] == "person"
    assert only.data["train_where"] == {"person": values}
    said = capsys.readouterr().out
    assert "a person that is to be forgotten" not in said
    assert f"to forget: {10 * len(values)} of" in said
    assert "no person is in both train and test set" in said
    (planned,) = build_grid(read(tmp_path / "pictures.yaml")).values()
    check_plan({"pictures": planned})
    examples = propose(request(root, table=tmp_path / place, forget_where=where.Params(
        **{"column": "person", "is": values}))).index.examples  # fmt: skip
    train, test = ({*examples.read_part(test=test)[1]["person"]} for test in (False, True))
    assert not train & test and {*values} <= train


def test_images_of_unknown_persons_are_counted_and_named(tmp_path, capsys):
    root = write_folder(tmp_path / "pictures", tops=("",), each=(20,))
    table = write_people(root, tmp_path / "people.csv")
    given = ["init", "pictures", "--model", "resnet8", "--forget-where", "person=017"]
    main(given)
    assert "without a value" not in capsys.readouterr().out
    lacking = table.read_text().replace("cat/3.png,017", "cat/3.png,")
    table.write_text(lacking.replace("dog/12.png,8", "dog/12.png, "))
    index_folder.cache_clear()
    main([*given, "--out", "next.yaml"])
    said = capsys.readouterr().out
    assert "column person is empty for 2 of 40 images: cat/3.png, dog/12.png; none of them" in said
    assert "complete people.csv" in said and "to forget: 9 of" in said


def test_where_a_folder_has_its_test_set_nothing_is_drawn(tmp_path):
    root = write_folder(tmp_path / "pictures", each=(6, 2))
    files = sorted(str(one.relative_to(root)) for one in root.rglob("*.png"))
    (tmp_path / "who.csv").write_text("file;who\n" + "".join(f"{f};{f[-5]}\n" for f in files))
    main(["init", "pictures", "--model", "resnet8", "--forget-where", "who=3"])
    only = benchmark(tmp_path)
    assert {*only.data} == {"name", "path", "size", "table"}
    assert only.cells["withdrawn"].forget["is"] == ["3"]


def test_of_a_value_of_the_test_set_alone_it_is_said_where_it_is(tmp_path):
    root = write_folder(tmp_path / "pictures", each=(6, 2))
    files = sorted(str(one.relative_to(root)) for one in root.rglob("*.png"))
    people = ["004" if f.startswith("test") else "029" for f in files]
    rows = [f"{f},{one}\n" for f, one in zip(files, people, strict=True)]
    (tmp_path / "who.csv").write_text("file,who\n" + "".join(rows))
    said = "no value '004' in column who; the test set has it (4 examples), and no model is trained"
    with pytest.raises(SystemExit, match=re.escape(said)):
        main(["init", "pictures", "--model", "resnet8", "--forget-where", "who=004"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--forget-where", "person"], "'person': should be COLUMN=VALUE,VALUE"),
        (["--forget-where", "person="], "'person=': should be COLUMN=VALUE,VALUE"),
        (["--forget-where", "persn=017"], "--forget-where: no column 'persn'.*mean person"),
        (["--forget-where", "person=17"], "--forget-where: no value '17' .*there: '017'"),
        (["--forget-where", "person=017,8,9,23"], "--test-share: no test example of class 'cat'"),
        (["--forget-where", "person=23", "--forget", "people.csv"], "not with --forget; leave one"),
        (["--table", "no.csv"], r"--table: 'no\.csv': .*; paths start at"),
    ],
)
def test_persons_that_cannot_be_meant_are_named(tmp_path, capsys, options, said):
    root = write_folder(tmp_path / "pictures", tops=("",), each=(20,))
    write_people(root, tmp_path / "people.csv")
    with pytest.raises(SystemExit) as stop:
        main(["init", "pictures", "--model", "resnet8", *options])
    assert re.search(said, f"{stop.value} {capsys.readouterr().err}")
    assert not (tmp_path / "pictures.yaml").exists()


def test_with_two_tables_the_option_table_is_required(tmp_path):
    root = write_folder(tmp_path / "pictures", tops=("",), each=(20,))
    given = ["init", "pictures", "--model", "resnet8", "--forget-where", "person=23"]
    with pytest.raises(SystemExit, match="--table: missing; CSV files with a column `file`: none"):
        main(given)
    for name in ("a.csv", "b.csv"):
        write_people(root, tmp_path / name)
    with pytest.raises(SystemExit, match=r"CSV files .*: a\.csv, b\.csv; say which with --table"):
        main(given)
    main([*given, "--table", "b.csv"])
    assert benchmark(tmp_path).data["table"] == "b.csv"
