"""The walk of a practitioner: a folder, a model trained elsewhere, a list, `init`, the page."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from conftest import Project, copy_project
from PIL import Image

torch = pytest.importorskip("torch")
save_file = pytest.importorskip("safetensors.torch").save_file

pytestmark = pytest.mark.workflow
CLASSES, SIDE, MEAN, STD = ("a bed", "größe", "yes"), 8, 0.5, 0.25
WITHDRAWN = [f"train/a bed/{number}.png" for number in range(8)]
NET = f"""
from collections import OrderedDict

from torch import nn

MULTIPLY_ADDS = 10_000
HEAD = "head"


def build(info):
    hidden = nn.Linear({3 * SIDE * SIDE}, 32)
    layers = {{"flat": nn.Flatten(), "hidden": hidden, "relu": nn.ReLU()}}
    return nn.Sequential(OrderedDict(layers, head=nn.Linear(32, info.num_classes)))
"""


def write_images(root: Path) -> None:
    """Write pictures of three colours with noise; no two are alike."""
    rng = np.random.default_rng(0)
    for top, count in (("train", 24), ("test", 8)):
        for place, name in enumerate(CLASSES):
            (root / top / name).mkdir(parents=True)
            for number in range(count):
                pixels = rng.integers(0, 160, (SIDE, SIDE, 3))
                pixels[..., place] += 60
                Image.fromarray(pixels.astype(np.uint8)).save(root / top / name / f"{number}.png")


def read_images(root: Path, names: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
    """Read pictures as somebody does who has never heard of us."""
    arrays = [np.asarray(Image.open(root / name), np.float32) / 255 for name in names]
    x = torch.from_numpy(np.stack(arrays)).permute(0, 3, 1, 2)
    return (x - MEAN) / STD, torch.tensor([CLASSES.index(name.split("/")[1]) for name in names])


def train(model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor, steps: int) -> None:
    """Train in plain torch."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """All that they have, what they type, and the run."""
    project = copy_project(tmp_path_factory.mktemp("walk"))
    folder = project.folder
    write_images(folder / "my images")
    (folder / "withdrawn.txt").write_text("# by their owners\n" + "\n".join(WITHDRAWN) + "\n")
    (folder / "mine/models").mkdir(parents=True)
    (folder / "mine/models/net.py").write_text(NET)
    make_models(folder)
    typed = ["init", "my images", "--plugins", "mine", "--model", "net"]
    typed += ["--forget", "withdrawn.txt", "--weights", "my-model.safetensors", "--size", str(SIDE)]
    typed += ["--mean", *["0.5"] * 3, "--std", *["0.25"] * 3, "--out", "mine.yaml"]
    command = [str(Path(sys.executable).with_name("collateral")), *typed]
    subprocess.run(command, cwd=folder, env=project.environment(), check=True)
    shorten(folder / "mine.yaml")
    done = project.snakemake("--configfile", "mine.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    return project


def make_models(folder: Path) -> None:
    """Train a model outside, and unlearn from it by fine-tuning."""
    torch.manual_seed(0)
    names = [f"train/{name}/{number}.png" for name in CLASSES for number in range(24)]
    scope: dict = {}
    exec(NET, scope)
    model = scope["build"](type("Info", (), {"num_classes": len(CLASSES)}))
    train(model, *read_images(folder / "my images", names), 100)
    save_file(model.state_dict(), folder / "my-model.safetensors")
    kept = [name for name in names if name not in WITHDRAWN]
    train(model, *read_images(folder / "my images", kept), 20)
    save_file(model.state_dict(), folder / "theirs.safetensors")


def shorten(path: Path) -> None:
    """Ask for less than was proposed, and for the weights that are theirs to be judged."""
    config = yaml.safe_load(path.read_text())
    (benchmark,) = config["benchmarks"].values()
    benchmark |= {"seeds": [0, 1], "controls": ["original"]}
    benchmark["base"]["epochs"] = 20
    benchmark["methods"] = {"ft": {**benchmark["methods"]["ft"], "epochs": 1, "lr": 0.01}}
    benchmark["given"] = {"theirs": {"weights": "theirs.safetensors", "rte": 1}}
    path.write_text(yaml.safe_dump(config, allow_unicode=True))


def test_their_model_is_the_base_as_they_had_it(walked):
    rows = (walked.folder / "results/my-images/tables/withdrawn/main.md").read_text()
    original = next(line for line in rows.splitlines() if line.startswith("| *Original*"))
    assert original.split("|")[2].split("±")[0].strip() == "100.0"  # it knows what was withdrawn


def test_weights_unlearned_elsewhere_stand_beside_ours(walked):
    tables = walked.folder / "results/my-images/tables/withdrawn"
    assert "| theirs (given) |" in (tables / "main.md").read_text()
    assert "| theirs (given) |" in (tables / "verdict.md").read_text()


def test_the_page_says_what_was_withdrawn(walked):
    page = (walked.folder / "results/my-images/report.html").read_text()
    assert "withdrawn.txt" in page
    assert "8 of" in page
