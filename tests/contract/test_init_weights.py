"""`collateral init` with a trained model: weights that do not fit are refused before a config."""

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import save_file

from collateral.cli import main
from collateral.config.load import read
from collateral.contract.data import ImageInfo
from collateral.data.folder import index_folder
from collateral.models._build import build_model

sys.path.append(str(Path(__file__).parents[1] / "unit"))
from image_files import write_folder

CLASSES = ("cat", "dog", "owl")


@pytest.fixture
def options(tmp_path, monkeypatch):
    """Return a function: the options of `init` for weights of the given kind."""
    index_folder.cache_clear()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("collateral.commands._proposal.default_device", lambda: "cpu")
    root = write_folder(tmp_path / "pictures", CLASSES, each=(8, 3))

    def make(model: str, num_classes: int, name: str = "mine.safetensors") -> list[str]:
        info = ImageInfo(num_classes, (12, 12, 3), (0.5,) * 3, (0.25,) * 3)
        save_file(build_model(model, info).state_dict(), tmp_path / name)
        taken = ["--weights", "mine.safetensors", "--size", "12"]
        return ["init", str(root), "--model", "small_cnn", *taken]

    return make


def test_weights_that_fit_give_a_config(options, tmp_path):
    main(options("small_cnn", 3))
    (only,) = read(tmp_path / "pictures.yaml").benchmarks.values()
    assert str(only.base.weights) == "mine.safetensors"


@pytest.mark.parametrize(
    ("model", "num_classes", "said"),
    [
        ("small_cnn", 4, "of another shape: head.bias 4 for 3, head.weight 4x128 for 3x128"),
        ("resnet8", 3, "missing: "),
    ],
)
def test_weights_that_do_not_fit_give_no_config(options, tmp_path, model, num_classes, said):
    with pytest.raises(SystemExit) as error:
        main(options(model, num_classes))
    text = str(error.value)
    assert "--weights: 'mine.safetensors' does not fit the model; " in text and said in text
    assert not (tmp_path / "pictures.yaml").exists()


def test_every_file_of_a_pattern_with_seeds_has_to_be_there(options, tmp_path):
    words = options("small_cnn", 3, "mine-0.safetensors")
    words[words.index("mine.safetensors")] = "mine-{seed}.safetensors"
    with pytest.raises(SystemExit) as error:
        main(words)
    assert "--weights: 'mine-1.safetensors': there is no such file" in str(error.value)
    assert "mine-0" not in str(error.value)
    assert [*tmp_path.glob("*.yaml")] == []
