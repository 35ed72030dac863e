"""The way back: a run's weights in plain timm, in a plug-in's own code, by the user's own names."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
timm = pytest.importorskip("timm")

from safetensors import safe_open
from safetensors.torch import load_file, save_file

from collateral.cli import main
from collateral.jobs._job import OwnFile
from collateral.jobs.base import BaseJob
from collateral.jobs.data import DataJob
from collateral.jobs.retrain import RetrainJob
from collateral.jobs.split import SplitJob
from collateral.jobs.unlearn import UnlearnJob
from collateral.plugins.find import MODEL, add_plugins
from collateral.results.dataset import Dataset
from collateral.results.provenance import content_hash
from collateral.stages._workspace import Workspace
from collateral.stages.run import run_job

DATA = {"families": 2, "classes_per_family": 2, "num_train": 16, "channels": 3, "size": 32}
SIZE = {"num_classes": 4, "in_chans": 3}
PLAIN = {  # by its name in a config
    "timm/test_resnet": {**SIZE},
    "timm/test_vit": {**SIZE, "img_size": (32, 32)},
}
FT = {"epochs": 1, "lr": 0.01, "batch_size": 16}
RECIPE = {"epochs": 4, "batch_size": 16, "lr": 0.05}
NET = """
import torch
from torch import nn

HEAD = "inner.last"


class Inner(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 5, stride=4)
        self.norm = nn.BatchNorm2d(8)
        self.last = nn.Linear(8, num_classes)

    def forward(self, x):
        return self.last(self.norm(self.first(x)).relu().mean((2, 3)))


class Net(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.inner = Inner(num_classes)

    def forward(self, x):
        return self.inner(x)


def build(info):
    return Net(info.num_classes)
"""


class Bench:
    """Results of a benchmark with one cell, made by the real stages."""

    def __init__(self, project: Path, model: str) -> None:
        self.project, self.model, self.folder = project, model, project / "results/bench"
        self.data, self.cell = self.folder / "dataset.npz", self.folder / "cell"
        forget = {"class": "family_0_class_0", "fraction": 0.5}
        self.split = self.cell / "split.json"
        self._run(DataJob, name="synthetic", options=DATA)
        self._run(SplitJob, cell="cell", forget="class_part", params=forget)

    def _run(self, kind, beside=None, **fields) -> None:
        job = kind(benchmark="bench", **fields)
        run_job(Workspace(job, self.project / "results", beside=beside or {}))

    def train(self, seed=0, params=None, split=None, weights=None, rename=None) -> None:
        """Make the base of a seed, or Retrain where there is a split."""
        own, beside = None, None
        if weights:
            own = OwnFile(
                key="base.weights", sha256=content_hash(Path(weights)), rename=rename or {}
            )
            beside = {"weights": str(weights)}
        given = {"params": {} if own else params or RECIPE, "own": own}
        about = {"model": self.model, "seed": seed, **given}
        where = {"cell": "cell"} if split else {}
        self._run(RetrainJob if split else BaseJob, beside, **about, **where)

    def unlearn(
        self, run: str, seed: int = 0, params: dict | None = None, method: str = "ft"
    ) -> None:
        """Run a method from the base of a seed."""
        about = {"model": self.model, "seed": seed, "base_seed": seed, "cell": "cell"}
        self._run(UnlearnJob, run=run, method=method, params=params or FT, **about)

    def _base(self, seed: int) -> Path:
        return self.folder / f"base/seed-{seed}"

    def logits(self, run: str, seed: int = 0) -> np.ndarray:
        """Return the logits of train and test set that the run's own job wrote."""
        folder = self._base(seed) if run == "original" else self.cell / f"seed-{seed}/{run}"
        with np.load(folder / "outputs.npz") as file:
            return np.concatenate([file["train_logits"], file["test_logits"]]).astype(np.float32)

    def images(self) -> torch.Tensor:
        """Return normalised images of train and test set, as a user would make them."""
        data = Dataset.load(self.data)
        images = np.concatenate([data.train_images, data.test_images]) / 255.0
        normalised = (images - np.array(data.mean)) / np.array(data.std)
        return torch.from_numpy(normalised).float().permute(0, 3, 1, 2)


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def of_timm(tmp_path_factory):
    """Return results with a model of timm: two seeds, one of which diverged."""
    bench = Bench(tmp_path_factory.mktemp("timm"), "timm/test_resnet")
    bench.train()
    bench.train(split=bench.split)
    bench.unlearn("ft")
    bench.train(seed=1)
    bench.unlearn("ft", seed=1, params={**FT, "lr": 1e30})
    return bench


def export(bench: Bench, run: str, *words: str, out: str = "mine.safetensors") -> Path:
    """Run the command by the address of the cell."""
    main(["export", str(bench.cell), run, "--out", out, *words])
    return Path(out)


def same(model: torch.nn.Module, bench: Bench, run: str) -> bool:
    """Tell whether a plain model's logits are the run's, which are stored as float16."""
    with torch.no_grad():
        found = model.eval()(bench.images()).numpy()
    return np.allclose(found, bench.logits(run), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("run", ["ft", "retrain", "original"])
def test_plain_timm_loads_a_run_and_gives_its_outputs(of_timm, run):
    model = timm.create_model("test_resnet", **SIZE)
    assert not same(model, of_timm, run)
    model.load_state_dict(load_file(export(of_timm, run)), strict=True)
    assert same(model, of_timm, run)


def test_a_model_built_for_an_image_size_can_be_exported(tmp_path):
    bench = Bench(tmp_path / "vit", "timm/test_vit")
    bench.train(params={**RECIPE, "epochs": 1})
    model = timm.create_model("test_vit", **PLAIN["timm/test_vit"])
    model.load_state_dict(load_file(export(bench, "original")), strict=True)
    assert same(model, bench, "original")


def test_the_message_names_run_seed_hash_and_how_to_load_the_file(of_timm, capsys):
    capsys.readouterr()
    file = export(of_timm, "ft")
    said = capsys.readouterr().out
    assert "mine.safetensors: bench/cell, ft, seed 0 (it has seeds 0, 1)" in said
    assert f"SHA-256 {content_hash(file)}" in said
    data = Dataset.load(of_timm.data)
    assert all(f"{value:.6g}" in said for value in (*data.mean, *data.std))
    # The lines are such as they can be typed.
    lines = [line.strip() for line in said.splitlines() if line.startswith("    ")]
    names = {"timm": timm, "safetensors": __import__("safetensors.torch")}
    exec("\n".join(lines), names)
    assert same(names["model"], of_timm, "ft")
    with safe_open(file, "np") as opened:
        about = json.loads(opened.metadata()["collateral"])
    assert (about["run"], about["seed"], about["model"]) == ("ft", 0, "timm/test_resnet")
    assert about["mean"] == list(data.mean)
    assert about["classes"] == list(data.labels.class_names)


def test_the_short_address_is_below_results(of_timm, monkeypatch, tmp_path):
    monkeypatch.chdir(of_timm.project)
    main(["export", "bench/cell", "ft", "--seed", "0", "--out", str(tmp_path / "a.safetensors")])
    again = export(of_timm, "ft", out=str(tmp_path / "b.safetensors"))
    assert (tmp_path / "a.safetensors").read_bytes() == again.read_bytes()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ft", "--seed", "1"], "ft, seed 1: diverged, so it has no model of its own; seeds that "
         "ended well: 0"),
        (["ft", "--seed", "7"], "no seed 7 of ft; there are: 0, 1"),
        (["lt"], "no run lt; there are: ft, original, retrain"),
        (["../seed-0/ft"], "no run ../seed-0/ft; there are: ft, original, retrain"),
    ],
)  # fmt: skip
def test_an_unknown_run_is_refused_with_the_known_ones(of_timm, words, said, tmp_path):
    with pytest.raises(SystemExit) as refused:
        export(of_timm, *words)
    assert str(refused.value).startswith("collateral export: ")
    assert str(refused.value).endswith(said)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("cell", "said"),
    [("bench/sell", "bench/sell: no such cell; there are: cell"),
     ("banch/cell", "banch/cell: no benchmark's folder there; there are: bench")],
)  # fmt: skip
def test_another_cell_or_benchmark_is_refused_with_what_there_is(of_timm, monkeypatch, cell, said):
    monkeypatch.chdir(of_timm.project)
    with pytest.raises(SystemExit, match=said):
        main(["export", cell, "ft", "--out", "a.safetensors"])


@pytest.mark.parametrize(
    ("out", "said"),
    [("mine.pt", "should end with .safetensors"), ("{}/mine.safetensors", "lies in the results")],
)
def test_a_file_of_another_kind_or_among_the_results_is_refused(of_timm, out, said):
    with pytest.raises(SystemExit, match=said):
        export(of_timm, "ft", out=out.format(of_timm.folder))


def test_a_run_that_was_skipped_is_refused_with_its_reason(tmp_path):
    bench = Bench(tmp_path / "skipped", "mlp")
    bench.train(params={**RECIPE, "epochs": 1})
    bench.unlearn("msg", method="msg", params={"epochs": 1})
    said = r"skipped \(the model has no convolutions\), so it has no model of its own; .*: none"
    with pytest.raises(SystemExit, match=said):
        export(bench, "msg")


# Models of one's own, and ours.


@pytest.fixture
def own(tmp_path):
    """Return results with a plug-in's model."""
    before = [*MODEL.paths]
    (tmp_path / "mine/models").mkdir(parents=True)
    (tmp_path / "mine/models/net.py").write_text(NET)
    add_plugins([tmp_path / "mine"])
    yield Bench(tmp_path / "project", "net")
    MODEL.paths[:] = before
    sys.modules.pop("collateral.models.net", None)


def plain_net():
    names: dict = {}
    exec(NET, names)
    return names["Net"](4)


def test_a_plug_ins_model_has_the_names_of_its_own_code(own):
    own.train(params={**RECIPE, "epochs": 1})
    own.unlearn("ft")
    model = plain_net()
    model.load_state_dict(load_file(export(own, "ft", "--plugins", "mine")), strict=True)
    assert same(model, own, "ft")


def test_without_its_folder_a_plug_ins_model_is_refused_with_the_option(own):
    own.train(params={**RECIPE, "epochs": 1})
    del MODEL.paths[1:]
    with pytest.raises(SystemExit, match="model net: of a plug-in; name its folder: --plugins"):
        export(own, "original")


def in_users_file(name: str) -> str:
    """Return the name that a weight of `Net` has in the user's own file: the head has no prefix."""
    return name if "last" in name else f"backbone.{name}"


def test_the_names_of_the_users_file_come_back_where_it_was_renamed(own, tmp_path, capsys):
    """Only some names begin with what is renamed: the inverse cannot be guessed from `rename`."""
    own.train(params={**RECIPE, "epochs": 8})
    theirs = {in_users_file(k): v for k, v in load_file(export(own, "original")).items()}
    save_file(theirs, "theirs.safetensors")
    rename = {"weights": "theirs.safetensors", "rename": {"backbone.": ""}}
    again = Bench(tmp_path / "again", "net")
    again.train(params={}, **rename)
    again.unlearn("ft")
    again.train(split=again.split)
    for run in ("ft", "original", "retrain"):
        assert load_file(export(again, run)).keys() == theirs.keys()
    assert "those of your own file, before `rename`" in capsys.readouterr().out
    back = {k.removeprefix("backbone."): v for k, v in load_file(export(again, "ft")).items()}
    model = plain_net()
    model.load_state_dict(back, strict=True)
    assert same(model, again, "ft")


def test_an_exported_shipped_model_can_be_the_base_of_a_config(tmp_path):
    bench = Bench(tmp_path / "ours", "small_cnn")
    bench.train()
    bench.unlearn("ft")
    again = Bench(tmp_path / "again", "small_cnn")
    again.train(params={}, weights=export(bench, "ft"))
    assert np.array_equal(again.logits("original"), bench.logits("ft"))


def test_torch_is_imported_only_where_a_model_is_built(tmp_path):
    bench = Bench(tmp_path / "ours", "small_cnn")
    bench.train(params={**RECIPE, "epochs": 1})
    code = (
        "import sys; sys.modules['torch'] = None; from collateral.cli import main; "
        f"main(['export', {str(bench.cell)!r}, 'original', '--out', 'mine.safetensors'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    ours = load_file(bench.folder / "base/seed-0/model.safetensors")
    assert load_file("mine.safetensors").keys() == ours.keys()
