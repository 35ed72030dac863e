"""Every kind of forget set against its contract, and which examples each of ours takes."""

import hashlib
import json

import numpy as np
import pytest

from collateral.contract.conventions import FILE
from collateral.contract.data import DatasetSize
from collateral.data._metadata import find_forget_error
from collateral.data._subset import choose_forget_set, take_subset
from collateral.data.forget import classes_part, hardest, index_file, random_part, untypical, zipf
from collateral.data.forget.class_part import Params, select
from collateral.jobs.split import SplitJob
from collateral.metrics.margins import memorisation
from collateral.metrics.pixel_values import distance_from_class_mean
from collateral.plugins.find import DATA, FORGET
from collateral.results import layout
from collateral.results.dataset import Dataset, Labels
from collateral.results.outputs import ModelOutputs, Outputs, ShadowMargins
from collateral.results.provenance import write_record
from collateral.results.split import Split
from collateral.stages._workspace import Workspace
from collateral.stages.run import run_job

# 101 cats, at the even places below 200 and at 201, and 101 dogs.
TRAIN = np.array([0, 1] * 100 + [1, 0])
COLUMNS = {
    FILE: np.array([f"train/{place} x.png" for place in range(len(TRAIN))]),
    "subject": np.arange(len(TRAIN)) // 10,
    "corrupted": np.where(np.arange(len(TRAIN)) % 9 == 4, "yes", "no"),  # 22 of them
}
LABELS = Labels(TRAIN, np.array([0, 1]), ("cat", "dog"), COLUMNS)

# Parameters of every kind that fit LABELS; a plug-in names its own in EXAMPLES.
SETTINGS = {
    "class_part": [
        {"class": "cat", "fraction": 0.5},
        {"class": 1, "fraction": 0.01},
        {"class": "dog", "fraction": 1},
        {"class": "cat", "fraction": 0.9, "order": "random", "split_seed": 3},
    ],
    "classes_part": [
        {"classes": {"cat": 0.5, "dog": 0.1}},
        {"classes": {"1": 0.3, "cat": 1}, "order": "random", "split_seed": 3},
    ],
    "corrupted": [{}, {"known": 0.5, "split_seed": 3}],
    "files": [{"path": "withdrawn.txt"}],
    "index_file": [{"path": f"places{suffix}"} for suffix in index_file.SUFFIXES],
    "random_part": [{"fraction": 0.1}, {"fraction": 0.5, "split_seed": 3}],
    "zipf": [{"fraction": 0.1}, {"fraction": 0.5, "exponent": 2, "split_seed": 3}],
    "where": [{"column": "subject", "is": [3, 5]}, {"column": "subject", "is": 20}],
    "hardest": [{"share": 0.1}, {"share": 0.5, "class": "dog"}],
    "easiest": [{"share": 0.1}, {"share": 0.5, "class": 1, "split_seed": 3}],
    "memorised": [{"share": 0.1, "level": "high"}, {"share": 0.5, "level": "low", "class": "cat"}],
    "untypical": [{"share": 0.1}, {"count": 24, "class": "dog", "split_seed": 3}],
}
# Values by train example, for the kinds that depend on models or images; half of them are equal.
VALUES = np.random.default_rng(0).permutation(np.r_[np.zeros(101), np.arange(101.0)])
PLACES = [7, 0, 201, 4]
# Means over the forget set and over all examples, which the split job measures.
MEASURES = ("mean_loss", "memorisation", "mean_distance")
MEASURED = {f"{name}{of}" for name in MEASURES for of in ("", "_of_all")}


def settings_of(kind):
    return SETTINGS.get(kind) or getattr(FORGET.load(kind), "EXAMPLES", [{}])


CASES = [(kind, params) for kind in FORGET.names() for params in settings_of(kind)]


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    """Stand in a folder that has the listed places in every format."""
    folder = tmp_path / "lists"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "places.txt").write_text("7\n0 # the first\n\n201\n4\n")
    (folder / "withdrawn.txt").write_text("# two\ntrain/7 x.png\ntrain/0 x.png\n")
    (folder / "places.json").write_text(json.dumps(PLACES))
    np.save(folder / "places.npy", np.array(PLACES, dtype=np.uint16))
    return folder


def part(**values):
    return select(LABELS, Params.model_validate(values)).tolist()


def choose(kind, params, values=VALUES):
    module = FORGET.load(kind)
    further = [values] if hasattr(module, "NEEDS") else []
    return module.select(LABELS, module.Params.model_validate(params), *further)


def run_stage(folder, kind, params, labels=LABELS, cell="cell", earlier=()):
    files = [folder / layout.LABELS, folder / layout.DATA]
    labels.save(files[0])
    draw_images(labels).save(files[1])
    write_record(layout.record_path(files[0]), {}, root=folder, files=files)
    needs = getattr(FORGET.load(kind), "NEEDS", None)
    write_models(folder, needs, len(labels.train))
    return choose_in(folder, cell, forget=kind, params=params, needs=needs, earlier=earlier)


def choose_in(folder, cell, **fields):
    """Run the stage; return the split of a cell."""
    job = SplitJob(benchmark=folder.name, cell=cell, num_shadows=12, **fields)
    run_job(Workspace(job, folder.parent))
    return Split.load(folder / cell / "split.json", folder)


def draw_images(labels):
    """Return images that are further from the mean of their class, the larger their value is.

    Each has a pixel of its own with its value. Of n images in a class, with the values v, one is
    sqrt(v^2 (1 - 2 / n) + the same number for all) away from the mean image.
    """
    count = len(labels.train)
    images = np.diag(VALUES.astype(np.uint8))[:count, None, :, None]
    return Dataset(images, images[: len(labels.test)], labels, (0.5,), (0.5,))


def write_models(folder, needs, count):
    """Write files of models that give every example its value in VALUES, or close to it."""
    if needs == "base":
        # The loss of two classes is log(1 + exp(other - own)), so larger values are harder.
        logits = np.zeros((count, 2), np.float16)
        logits[np.arange(count), 1 - TRAIN] = VALUES[:count] / 8
        outputs = Outputs(logits, np.zeros(count, np.float32), TRAIN[:count])
        places = [folder / "base/seed-0" / layout.OUTPUTS]
        ModelOutputs(outputs, outputs).save(places[0])
    elif needs == "shadows":
        # Unseen examples have the probability 1/2; seen ones more, the larger their value is.
        is_in = np.arange(12)[:, None] % 2 == np.arange(count) % 2
        margins = np.where(is_in, VALUES[:count] / 8, 0).astype(np.float32)
        places = [folder / f"shadows/member-{k}" / layout.MARGINS for k in range(len(is_in))]
        for place, *arrays in zip(places, is_in, margins, strict=True):
            ShadowMargins(*arrays).save(place)
    else:
        return
    for place in places:
        write_record(place.parent / layout.RECORD, {}, root=folder, files=[place])


def test_every_kind_on_disk_is_tested():
    assert set(FORGET.own) == set(SETTINGS)
    assert {kind for kind, _ in CASES} == set(FORGET.names())


@pytest.mark.parametrize(("kind", "params"), CASES)
def test_indices_exist_ascend_and_are_the_same_again(kind, params):
    chosen, again = choose(kind, params), choose(kind, params)
    assert chosen.dtype == np.int64, f"select returned {chosen.dtype}; indices are int64"
    assert 0 < len(chosen) < len(TRAIN), (
        f"{len(chosen)} of {len(TRAIN)} are chosen: some, not all; where the defaults do not fit, "
        "EXAMPLES lists parameters that do"
    )
    assert (np.diff(chosen) > 0).all(), "indices ascend, and none is there twice: np.unique does it"
    is_within = chosen[0] >= 0 and chosen[-1] < len(TRAIN)
    assert is_within, f"an index from {chosen[0]} to {chosen[-1]} is no place of labels.train"
    assert chosen.tolist() == again.tolist(), (
        "it chose others the second time: take a seed of Params"
    )


@pytest.mark.parametrize(("kind", "params"), CASES)
def test_the_split_file_contains_the_parameters_of_the_forget_set(tmp_path, kind, params):
    written = run_stage(tmp_path, kind, params)
    module = FORGET.load(kind)
    given = module.Params.model_validate(params)
    selected = choose(kind, params).tolist()
    assert written.forget.tolist() == selected, "split.json has others than `select` chose"
    assert written.num_train == len(TRAIN), "split.json is of another number of train examples"
    affected = {*TRAIN[written.forget]}
    assert {*written.affected} == affected, f"classes {affected} are affected, it says others"
    told = {"kind": kind, **module.chosen(LABELS, given)}
    said = {key: value for key, value in written.chosen.items() if key not in MEASURED}
    assert said == told, "`chosen` returns what JSON does not give back as it is"


def test_a_part_of_a_class_is_its_first_examples_in_data_set_order():
    assert part(**{"class": "cat"}, fraction=0.05) == [0, 2, 4, 6, 8]


def test_the_share_is_rounded_down():
    assert len(part(**{"class": "dog"}, fraction=0.999)) == 100  # of 101: 100.899


def test_the_share_is_that_of_the_decimal_which_the_user_wrote():
    labels = Labels(np.array([0] * 100 + [1]), np.array([0]), ("cat", "dog"))
    assert int(100 * 0.29) == 28  # what binary fractions make of it
    assert len(select(labels, Params.model_validate({"class": 0, "fraction": 0.29}))) == 29


def test_the_papers_sizes_come_out():
    labels = Labels(np.repeat([0, 1], [500, 4659]), np.array([0]), ("couch", "digit_9"))
    sizes = [
        len(select(labels, Params.model_validate({"class": name, "fraction": fraction})))
        for name in labels.class_names
        for fraction in (0.5, 0.9)
    ]
    assert sizes == [250, 450, 2329, 4193]


def test_random_parts_depend_on_the_split_seed_only():
    first, second, third = (
        part(**{"class": "cat"}, fraction=0.5, order="random", split_seed=seed)
        for seed in (0, 1, 0)
    )
    assert first == third
    assert first != second
    assert first != part(**{"class": "cat"}, fraction=0.5)
    assert set(TRAIN[first]) == {0}


def test_random_parts_of_two_classes_are_drawn_independently():
    cats, dogs = (part(**{"class": name}, fraction=0.5, order="random") for name in ("cat", "dog"))
    places = [np.flatnonzero(index == TRAIN).tolist() for index in (0, 1)]
    assert [places[0].index(i) for i in cats] != [places[1].index(i) for i in dogs]


def test_a_smaller_random_part_lies_in_a_larger_one():
    small, large = (part(**{"class": "cat"}, fraction=f, order="random") for f in (0.2, 0.6))
    assert set(small) < set(large)


def test_a_class_given_by_index_is_recorded_by_name(tmp_path):
    written = run_stage(tmp_path, "class_part", {"class": 1, "fraction": 0.5})
    assert written.chosen == {
        "kind": "class_part",
        "class": "dog",
        "fraction": 0.5,
        "order": "first",
    }


def test_the_split_seed_is_recorded_where_it_was_used(tmp_path):
    params = {"class": "dog", "fraction": 0.5, "order": "random", "split_seed": 7}
    assert run_stage(tmp_path, "class_part", params).chosen == {"kind": "class_part", **params}


@pytest.mark.parametrize(
    ("kind", "params", "message"),
    [
        ("class_prat", {}, r"no kind of forget set 'class_prat'; .*did you mean class_part\?"),
        ("class_part", {"class": "cta", "fraction": 0.5}, r"class: no class 'cta'.*mean cat\?"),
        ("class_part", {"class": 2, "fraction": 0.5}, r"class: no class 2; there are 2, 0 to 1"),
        ("class_part", {"class": True, "fraction": 0.5}, "class"),
        ("class_part", {"class": "cat", "fraction": 0}, "fraction"),
        ("class_part", {"class": "cat", "fraction": 1.1}, "fraction"),
        ("class_part", {"class": "cat", "fraction": float("nan")}, "fraction"),
        ("class_part", {"class": "cat", "fraction": 0.009}, r"fraction: 0.009 of the 101 .*'cat'"),
        ("class_part", {"class": "cat", "fraction": 0.5, "order": "last"}, "order"),
        ("class_part", {"class": "cat", "fractoin": 0.5}, "fractoin"),
        ("classes_part", {"classes": {"cat": 0.5}}, "classes"),
        ("classes_part", {"classes": {"cat": 0.5, "dgo": 0.5}}, r"classes: no class 'dgo'.*dog\?"),
        ("classes_part", {"classes": {"cat": 0.5, "2": 0.5}}, r"classes: no class 2; there are 2"),
        ("classes_part", {"classes": {"cat": 0.5, "0": 0.1}}, "classes: class 'cat' is .* twice"),
        ("classes_part", {"classes": {"cat": 0.5, "dog": 0}}, "dog"),
        (
            "classes_part",
            {"classes": {"cat": 0.5, "dog": 0.009}},
            r"fraction: 0.009 of the 101 .*'dog' is no example",
        ),
        ("random_part", {"fraction": 0.004}, "fraction: 0.004 of the 202 .* is no example"),
        ("random_part", {"fraction": 1}, "fraction"),
        ("index_file", {"path": "other.txt"}, r"path: 'other.txt': .*No such file"),
        ("index_file", {"path": "places.csv"}, r"should end in .txt, .json, .npy"),
    ],
)
def test_bad_input_is_named_and_nothing_is_written(tmp_path, kind, params, message):
    with pytest.raises(ValueError, match=message):
        run_stage(tmp_path, kind, params)
    given = {"data.json", layout.DATA, layout.LABELS, "lists"}
    assert {path.name for path in tmp_path.iterdir()} == given


def test_a_forget_set_that_leaves_nothing_is_refused(tmp_path):
    only_cats = Labels(np.zeros(4, dtype=np.int64), np.array([0]), ("cat", "dog"))
    with pytest.raises(ValueError, match="all 4 train examples, none is retained"):
        run_stage(tmp_path, "class_part", {"class": "cat", "fraction": 1}, only_cats)
    assert not (tmp_path / "split.json").exists()


def parts(**values):
    return classes_part.select(LABELS, classes_part.Params.model_validate(values)).tolist()


@pytest.mark.parametrize("order", ["first", "random"])
def test_parts_of_classes_are_the_parts_of_each(order):
    alone = [
        part(**{"class": name}, fraction=fraction, order=order)
        for name, fraction in (("cat", 0.05), ("dog", 0.5))
    ]
    both = parts(classes={"cat": 0.05, "dog": 0.5}, order=order)
    assert both == sorted([*alone[0], *alone[1]])


def test_a_class_of_several_may_be_given_by_its_index():
    by_name = parts(classes={"cat": 0.05, "dog": 0.5})
    assert parts(classes={0: 0.05, "dog": 0.5}) == by_name  # as YAML reads it
    assert parts(classes={"0": 0.05, "dog": 0.5}) == by_name  # as JSON hands it on


def test_a_number_that_is_a_class_name_selects_that_class():
    labels = Labels(np.array([0, 0, 1, 1]), np.array([0]), ("1", "0"))
    params = classes_part.Params.model_validate({"classes": {"1": 0.5, "0": 1}})
    assert classes_part.select(labels, params).tolist() == [0, 2, 3]


def test_yes_is_no_class():
    with pytest.raises(ValueError, match="classes"):
        parts(classes={True: 0.5, "dog": 0.5})


def test_several_classes_are_recorded_by_name(tmp_path):
    written = run_stage(tmp_path, "classes_part", {"classes": {"1": 0.5, "cat": 0.1}})
    assert written.chosen == {
        "kind": "classes_part",
        "classes": {"dog": 0.5, "cat": 0.1},
        "order": "first",
    }
    assert written.affected == (0, 1)


def random_places(fraction, split_seed=0):
    params = random_part.Params(fraction=fraction, split_seed=split_seed)
    return random_part.select(LABELS, params).tolist()


def test_a_random_part_is_a_share_of_all():
    assert len(random_places(0.5)) == 101
    assert len(random_places(0.29)) == 58  # of 202: 58.58


def test_a_random_part_depends_on_the_split_seed_only():
    assert random_places(0.5) == random_places(0.5) != random_places(0.5, split_seed=1)
    assert set(random_places(0.2)) < set(random_places(0.6))
    assert set(TRAIN[random_places(0.2)]) == {0, 1}


@pytest.mark.parametrize("suffix", index_file.SUFFIXES)
def test_listed_indices_are_sorted_and_the_file_is_hashed(tmp_path, places, suffix):
    written = run_stage(tmp_path, "index_file", {"path": f"places{suffix}"})
    assert written.forget.tolist() == sorted(PLACES)
    content = (places / f"places{suffix}").read_bytes()
    assert written.chosen == {
        "kind": "index_file",
        "path": f"places{suffix}",
        "sha256": hashlib.sha256(content).hexdigest(),
    }


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "# nothing\n\n", "expected a list of whole numbers"),
        ("a.txt", "1\n2\n1\n", "1; expected different indices"),
        ("a.txt", "1\n202\n", "202; expected different indices of train examples, 0 to 201"),
        ("a.txt", "-1\n5\n", "-1; expected different indices"),
        ("a.txt", "1\n2.5\n", "line 2: '2.5' is not a whole number"),
        ("a.txt", "1 2\n", "line 1: '1 2' is not a whole number"),
        ("a.txt", "1\n1_000\n", "line 2: '1_000' is not a whole number"),
        ("a.txt", "99999999999999999999\n", "expected a list of whole numbers"),
        ("a.json", "[]", "expected a list of whole numbers"),
        ("a.json", "[1, 2.5]", "2.5 is not a whole number"),
        ("a.json", "[1, true]", "true is not a whole number"),
        ("a.json", '{"a": 1}', "expected a list of whole numbers"),
        ("a.json", "[1, ", "Expecting value"),
        ("a.npy", b"", "No data left"),
        ("a.npy", b"nothing of numpy's", "pickled"),
    ],
)
def test_a_list_that_is_not_sound_is_refused(tmp_path, places, name, content, message):
    data = content if isinstance(content, bytes) else content.encode()
    (places / name).write_bytes(data)
    with pytest.raises(ValueError, match=f"path: '{name}': .*{message}") as error:
        run_stage(tmp_path, "index_file", {"path": name})
    assert "looked for" not in str(error.value)  # the file is there
    assert not (tmp_path / "split.json").exists()


@pytest.mark.parametrize(
    "array", [np.array([[1, 2]]), np.array([1.0]), np.array([True, False]), np.array(3)]
)
def test_an_array_of_another_shape_or_type_is_refused(tmp_path, places, array):
    np.save(places / "a.npy", array)
    with pytest.raises(ValueError, match="expected a list of whole numbers"):
        run_stage(tmp_path, "index_file", {"path": "a.npy"})


@pytest.mark.parametrize(("kind", "params"), CASES)
def test_the_size_is_known_without_the_labels(kind, params):
    module = FORGET.load(kind)
    given = module.Params.model_validate(params)
    listed = {name: column.tolist() for name, column in COLUMNS.items()}
    counts, corrupted = ((101, 101), (1, 1), (1, 1, 1)), listed["corrupted"].count("yes")
    size = DatasetSize(("cat", "dog"), *counts, lambda: listed, corrupted=corrupted)
    counted, chosen = module.count(size, given), len(choose(kind, params))
    assert counted == chosen, (
        f"count says {counted}, select chooses {chosen}: estimates and limits follow from `count`"
    )


# A long tail of classes.


def tail(**values):
    labels = Labels(np.arange(10_000) % 10, np.array([0]), tuple("abcdefghij"))
    chosen = zipf.select(labels, zipf.Params.model_validate(values))
    return chosen.tolist(), sorted(np.bincount(labels.train[chosen], minlength=10))[::-1]


def test_classes_are_forgotten_as_their_ranks_say():
    chosen, counts = tail(fraction=0.05)
    expected = 500 / np.arange(1, 11) / (1 / np.arange(1, 11)).sum()
    assert len(chosen) == 500
    assert np.abs(counts - expected).max() < 4 * np.sqrt(expected.max())
    assert np.ptp(tail(fraction=0.05, exponent=0)[1]) < 40


def test_a_smaller_long_tail_is_part_of_a_larger_one_and_another_seed_is_another():
    assert {*tail(fraction=0.05)[0]} < {*tail(fraction=0.1)[0]}
    assert tail(fraction=0.05)[0] != tail(fraction=0.05, split_seed=1)[0]


def test_the_hardest_have_the_largest_values_and_the_easiest_the_smallest():
    hardest, easiest = (choose(kind, {"share": 0.1}) for kind in ("hardest", "easiest"))
    assert sorted(VALUES[hardest]) == list(range(81, 101))
    assert set(VALUES[easiest]) == {0}


def test_with_a_class_only_its_examples_are_ranked():
    found = choose("hardest", {"share": 0.1, "class": "dog"})
    assert len(found) == 10 and set(TRAIN[found]) == {1}
    others = np.setdiff1d(np.flatnonzero(TRAIN == 1), found)
    assert VALUES[found].min() >= VALUES[others].max()


def test_equal_values_are_drawn_at_random_by_the_seed():
    equal = np.zeros(len(TRAIN))
    first, again, other = (
        choose("easiest", {"share": 0.1, "split_seed": seed}, equal).tolist() for seed in (0, 0, 1)
    )
    assert first == again != other
    assert max(first) > 30, "the first places would be the order of the data set"


def test_an_example_without_a_value_is_taken_last():
    values = np.where(np.arange(len(TRAIN)) < 150, np.nan, VALUES)
    for level in ("high", "low"):
        assert min(choose("memorised", {"share": 0.2, "level": level}, values)) >= 150


def test_the_least_memorised_are_nearest_to_zero():
    values = np.linspace(-0.3, 0.9, len(TRAIN))  # below zero, it is noise
    found = choose("memorised", {"share": 0.1, "level": "low"}, values)
    assert abs(values[found]).max() <= np.sort(abs(values))[len(found) - 1]
    ties = np.where(np.arange(len(TRAIN)) % 2, 0.0, -0.3)
    chosen = [
        choose("memorised", {"share": 0.1, "level": "low", "split_seed": seed}, ties).tolist()
        for seed in (0, 1)
    ]
    assert chosen[0] != chosen[1] and not ties[chosen[0]].any()


# Nearly all examples are hardly memorised, as by shadow models of real data: 202 values, of which
# the middle rank has 0.0001, ten are below 0, and ten are 0.3 and more.
MOSTLY_NEAR_ZERO = np.r_[
    np.linspace(-0.2, -0.02, 10),
    np.linspace(-0.0009, 0.0011, 182),
    [0.3, 0.41, 0.47, 0.5, 0.54, 0.6, 0.8, 0.9, 0.95, 1.0],
]


def test_the_middle_of_memorisation_is_nearest_to_one_half_and_not_the_middle_rank():
    middle = choose("memorised", {"share": 0.02, "level": "mid"}, MOSTLY_NEAR_ZERO)
    assert MOSTLY_NEAR_ZERO[middle].tolist() == [0.41, 0.47, 0.5, 0.54]


def test_thirds_of_memorisation_are_the_lowest_those_nearest_to_one_half_and_the_highest():
    found = choose("memorised", {"share": 0.05, "level": "thirds"}, MOSTLY_NEAR_ZERO)
    assert found.tolist() == [0, 1, 2, *range(193, 197), 199, 200, 201]
    shuffled = np.random.default_rng(1).permutation(len(TRAIN))
    moved = choose("memorised", {"share": 0.05, "level": "thirds"}, MOSTLY_NEAR_ZERO[shuffled])
    assert sorted(shuffled[moved]) == found.tolist()


def test_an_example_that_is_among_the_highest_is_not_also_the_middle():
    """Of 30 examples, the ten highest and eight of the ten nearest to 0.5 would be the same."""
    found = choose("memorised", {"share": 0.15, "level": "thirds"}, MOSTLY_NEAR_ZERO)
    assert found.tolist() == [*range(10), *range(182, 202)]


def test_thirds_of_everything_are_all_examples_once():
    values = np.linspace(-0.3, 0.9, len(TRAIN))
    found = choose("memorised", {"share": 1.0, "level": "thirds"}, values)
    assert found.tolist() == [*range(len(TRAIN))]


def test_a_later_round_ranks_what_is_still_retained(tmp_path):
    first = run_stage(tmp_path, "hardest", {"share": 0.1}, cell="first")
    second = run_stage(tmp_path, "hardest", {"share": 0.1}, earlier=["first"])
    assert sorted(VALUES[first.forget]) == list(range(81, 101))
    assert sorted(VALUES[second.forget]) == list(range(61, 81))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "should have one of `share` and `count`"),
        ({"share": 0.1, "count": 3}, "should have one of `share` and `count`"),
        ({"count": 0}, "greater than or equal to 1"),
        ({"count": True}, "valid integer"),
        ({"count": 102, "class": "cat"}, "count: 102: there are 101 train examples"),
        ({"share": 0.001}, r"share: 0\.001 of the 202 train examples is no example"),
    ],
)
def test_untypical_examples_are_a_share_or_a_number_that_there_is(params, message):
    with pytest.raises(ValueError, match=message):
        choose("untypical", params)
    size = DatasetSize(("cat", "dog"), (101, 101), (1, 1), (8, 8, 1))
    with pytest.raises(ValueError, match=message):
        untypical.count(size, untypical.Params.model_validate(params))


def test_untypical_examples_are_the_furthest_of_their_own_class(tmp_path):
    written = run_stage(tmp_path, "untypical", {"count": 10, "class": "cat"})
    others = np.setdiff1d(np.flatnonzero(TRAIN == 0), written.forget)
    assert {*TRAIN[written.forget]} == {0} and len(written.forget) == 10
    assert VALUES[written.forget].min() > VALUES[others].max()
    of_all = written.chosen["mean_distance"], written.chosen["mean_distance_of_all"]
    distance = distance_from_class_mean(draw_images(LABELS).train_images, TRAIN)
    assert of_all == pytest.approx((distance[written.forget].mean(), distance.mean()), rel=1e-3)
    content = json.loads((tmp_path / "cell/split.json").read_text())
    assert [*content["inputs"]] == [layout.DATA, layout.LABELS]


def test_a_later_round_takes_the_next_untypical_examples(tmp_path):
    first = run_stage(tmp_path, "untypical", {"count": 20}, cell="first")
    second = run_stage(tmp_path, "untypical", {"count": 20}, earlier=["first"])
    assert sorted(VALUES[first.forget]) == list(range(81, 101))
    assert sorted(VALUES[second.forget]) == list(range(61, 81))


def test_the_default_forgets_the_threes_that_are_least_like_the_mean_three():
    module = DATA.load("digits")
    options = module.Options(classes=("digit_3", "digit_5"), per_class=60)
    dataset = take_subset(module.load(options), options)
    threes = dataset.train_images[dataset.labels.train == 0].astype(float)
    squares = [((one - threes.mean(axis=0)) ** 2).sum() for one in threes]
    order = sorted(range(60), key=lambda place: squares[place])
    distance = distance_from_class_mean(dataset.train_images, dataset.labels.train)
    params = {"class": "digit_3", "count": 24}
    forget, _ = choose_forget_set(dataset.labels, "untypical", params, distance)
    places = np.flatnonzero(dataset.labels.train == 0)
    assert forget.tolist() == sorted(places[order[-24:]])


def test_a_share_without_an_example_is_refused():
    with pytest.raises(ValueError, match=r"0\.001 of the 202 train examples is no example"):
        choose("hardest", {"share": 0.001})
    size = DatasetSize(("cat", "dog"), (101, 101), (1, 1), (8, 8, 1))
    assert find_forget_error(hardest, size, hardest.Params(share=0.001))[0] == "share"
    known = hardest.Params.model_validate({"share": 0.5, "class": "cow"})
    assert find_forget_error(hardest, size, known)[0] == "class"


def test_the_split_reports_means_and_the_files_of_the_models(tmp_path):
    written = run_stage(tmp_path, "hardest", {"share": 0.1})
    loss = np.log1p(np.exp((VALUES / 8).astype(np.float16).astype(float)))
    assert written.chosen["mean_loss"] == pytest.approx(loss[written.forget].mean(), rel=1e-3)
    assert written.chosen["mean_loss_of_all"] == pytest.approx(loss.mean(), rel=1e-3)
    content = json.loads((tmp_path / "cell/split.json").read_text())
    assert [*content["inputs"]] == ["base/seed-0/outputs.npz", "labels.npz"]


def test_the_first_half_of_the_pool_chooses_and_the_second_reports(tmp_path):
    labels = tmp_path / "labels.npz"
    LABELS.save(labels)
    write_record(layout.record_path(labels), {}, root=tmp_path, files=[labels])
    is_in = np.arange(12)[:, None] % 2 == np.arange(len(TRAIN)) % 2
    for member, seen in enumerate(is_in):
        # In the first half, example 7 alone is memorised; in the second half, nothing is.
        margin = np.where(seen & (np.arange(len(TRAIN)) == 7) & (member < 6), 9, 0)
        file = tmp_path / f"shadows/member-{member}" / layout.MARGINS
        ShadowMargins(seen, margin.astype(np.float32)).save(file)
        write_record(file.parent / layout.RECORD, {}, root=tmp_path, files=[file])
    params = {"share": 0.005, "level": "high"}
    written = choose_in(tmp_path, "cell", forget="memorised", params=params, needs="shadows")
    assert written.forget.tolist() == [7]
    assert written.chosen["memorisation"] == 0
    # What chose the example is known to methods.
    assert written.memorised.tolist() == pytest.approx([1 / (1 + np.exp(-9)) - 0.5], abs=1e-6)


def test_memorisation_is_seen_minus_unseen():
    is_in = np.array([[1], [1], [1], [1], [0], [0], [0], [0]], bool)
    correct = np.array([[1.0], [1], [1], [0], [1], [0], [0], [0]])
    assert memorisation(is_in, correct).tolist() == [0.5]
    assert np.isnan(memorisation(np.ones_like(is_in), correct)).all()
