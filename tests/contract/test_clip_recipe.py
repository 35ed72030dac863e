"""CLIP by the recipe of docs/your-data.md, with made weights: its logits, and its frozen head."""

import re
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
timm = pytest.importorskip("timm")

from safetensors.torch import load_file
from torch.nn import functional as F

from collateral.config.load import load
from collateral.config.yaml import parse
from collateral.contract.data import ImageInfo
from collateral.contract.params import TrainingParams
from collateral.models._build import build_model
from collateral.training.examples import Examples, Images
from collateral.training.fit import fit
from collateral.training.run import Run
from collateral.training.weights import load_initial

sys.path.append(str(Path(__file__).parents[1] / "unit"))
from plug_ins import forgotten_after

GUIDE = Path(__file__).parents[2] / "docs/your-data.md"
NUM_CLASSES, SIZE = 3, 64
MEAN, STD = (0.4815, 0.4578, 0.4082), (0.2686, 0.2613, 0.2758)
# A tower of the same architecture, with fewer and narrower blocks.
SMALL = {"embed_dim": 64, "depth": 2, "num_heads": 4}


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    """Follow the three steps in a folder; return the blocks of the guide."""
    part = GUIDE.read_text().partition("## CLIP")[2].partition("\n## ")[0]
    (script,) = re.findall(r"```python\n(.*?)```", part, re.S)
    (model,) = re.findall(r"\]\(\.\./(\S+\.py)\)", part)
    (config,) = re.findall(r"```yaml\n(.*?)```", part, re.S)
    create = timm.create_model

    def small(name, *, pretrained=False, img_size=SIZE, **given):
        torch.manual_seed(1)
        return create(name, img_size=img_size, **{**SMALL, "num_classes": 512, **given})

    monkeypatch.setattr(timm, "create_model", small)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine/models").mkdir(parents=True)
    (tmp_path / "mine/models/clip.py").write_text((GUIDE.parents[1] / model).read_text())
    torch.manual_seed(2)
    torch.save(3 * torch.randn(NUM_CLASSES, 512), "text.pt")
    exec(compile(script, "make_clip.py", "exec"), {})
    with forgotten_after():
        yield config


def test_the_logits_are_clips_and_the_text_vectors_stay(recipe, tmp_path):
    methods = "    seeds: [0]\n    classes: [a]\n    fractions: [0.5]\n    methods: {ft: {}}\n"
    (benchmark,) = load(parse(recipe + methods)).benchmarks.values()
    assert (benchmark.model, benchmark.freeze) == ("clip", ("head",))
    info = ImageInfo(NUM_CLASSES, (SIZE, SIZE, 3), MEAN, STD)
    model = build_model("clip", info)
    assert benchmark.init is not None
    load_initial(model, tmp_path / benchmark.init.weights, {})
    model.eval()

    images = torch.randint(256, (24, SIZE, SIZE, 3), dtype=torch.uint8)
    x = images.permute(0, 3, 1, 2) / 255
    mean, std = (torch.tensor(of).view(3, 1, 1) for of in (MEAN, STD))
    tower = timm.create_model("vit_base_patch32_clip_quickgelu_224").eval()
    weights = load_file("clip.safetensors")
    names = {name for name in weights if name.startswith("tower.")}
    tower.load_state_dict({name.removeprefix("tower."): weights[name] for name in names})
    assert type(tower.blocks[0].mlp.act).__name__ == "QuickGELU"
    text = F.normalize(torch.load("text.pt", weights_only=True), dim=1)
    with torch.no_grad():
        vectors = F.normalize(tower((x - mean) / std), dim=1)
        torch.testing.assert_close(model(x), 100 * vectors @ text.T, rtol=1e-4, atol=1e-3)
        torch.testing.assert_close(model.features(x), vectors, rtol=1e-4, atol=1e-5)

    model.freeze(benchmark.freeze)
    examples = Examples(
        Images(images, padding=0, flip=False), torch.arange(24), torch.arange(24) % NUM_CLASSES
    )
    changes = {"epochs": 1, "batch_size": 8}
    params = TrainingParams.model_validate({**benchmark.base.model_dump(
        include={*TrainingParams.model_fields}), **changes})  # fmt: skip
    before = {name: value.clone() for name, value in model.state_dict().items()}
    fit(model, examples, examples, params, Run(torch.device("cpu"), 0))
    moved = {name for name, value in model.state_dict().items() if not value.equal(before[name])}
    assert moved and not {"head.weight", "head.bias"} & moved
    assert all("tower" in name for name in moved)
