"""Whatever is drawn from the data depends on its seed, and on nothing else."""

import numpy as np
import pytest
from image_files import write_image

from collateral.data._readers.examples import draw_groups
from collateral.data.folder import Options, index_folder
from collateral.data.forget import class_part, classes_part, random_part
from collateral.results.dataset import Labels

LABELS = Labels(np.arange(90) % 3, np.arange(9) % 3, ("a", "b", "c"))
SEEDS = (0, 1, 2, 17)


def draw_test_set(_, seed):
    rows = [*map(str, range(90))]
    return sorted(draw_groups(LABELS.train.tolist(), rows, 0.3, seed, set()))


def draw_test_groups(_, seed):
    groups = [str(row // 3) for row in range(90)]  # one example of each class
    return sorted(draw_groups(LABELS.train.tolist(), groups, 0.3, seed, set()))


def draw_test_files(folder, seed):
    for label in "ab":
        for place in range(12):
            write_image(folder / label / f"{place}.png")
    index_folder.cache_clear()
    examples = index_folder(Options(path=folder, test_share=0.4, test_seed=seed)).examples
    return [examples.names[row] for row in examples.rows(test=True)]


def forgotten(kind, **params):
    def draw(_, seed):
        given = kind.Params.model_validate({**params, "split_seed": seed})
        return kind.select(LABELS, given).tolist()

    return draw


DRAWS = {
    "test share": draw_test_set,
    "test share of groups": draw_test_groups,
    "test share of files": draw_test_files,
    "part of a class": forgotten(class_part, **{"class": "b", "fraction": 0.5, "order": "random"}),
    "parts of classes": forgotten(classes_part, classes={"a": 0.3, "c": 0.6}, order="random"),
    "part of all": forgotten(random_part, fraction=0.2),
}


@pytest.mark.parametrize("name", DRAWS)
def test_another_seed_is_another_draw_and_the_same_one_the_same(tmp_path, name):
    found = {seed: DRAWS[name](tmp_path, seed) for seed in SEEDS}
    assert len({tuple(one) for one in found.values()}) == len(SEEDS)
    assert {len(one) for one in found.values()} == {len(found[0])}
    assert {seed: DRAWS[name](tmp_path, seed) for seed in SEEDS} == found
