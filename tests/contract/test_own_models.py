"""A model of one's own: any module with a head, taken apart into features and head."""

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from torch import nn

from collateral.contract.data import ImageInfo
from collateral.models._build import build_model
from collateral.models._classifier import Classifier
from collateral.plugins.find import MODEL, PluginError, add_plugins

INFO = ImageInfo(3, (8, 8, 1), (0.5,), (0.25,))
BEGIN = """
from torch import nn


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.convolution = nn.Conv2d(1, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.{head} = nn.Linear(4, classes)

    def features(self, x):
        return self.norm(self.convolution(x)).relu().mean((2, 3))

    def forward(self, x):
        return self.{head}({after}(self.features(x)))


def build(info):
    return {made}
"""


@pytest.fixture
def own(tmp_path):
    """Return what writes a model's file and builds it."""
    (tmp_path / "models").mkdir()
    before = [*MODEL.paths]

    def build(head="head", after="", made="Net(info.num_classes)", more="", info=INFO):
        text = BEGIN.format(head=head, after=after, made=made) + more
        (tmp_path / "models/net.py").write_text(text)
        add_plugins([tmp_path])
        torch.manual_seed(0)
        return build_model("net", info)

    yield build
    MODEL.paths[:] = before
    sys.modules.pop("collateral.models.net", None)


def plain_logits(model, x):
    """Return what the whole module would say, from the weights of the model taken apart."""
    inner = model.body.inner
    features = inner.norm(inner.convolution((x - 0.5) / 0.25)).relu().mean((2, 3))
    return model.head(features)


@pytest.mark.parametrize(
    ("head", "more"), [("head", ""), ("fc", 'HEAD = "fc"'), ("head", 'HEAD = "head"')]
)
def test_features_and_head_are_found(own, head, more):
    model, x = own(head=head, more=more).eval(), torch.rand(5, 1, 8, 8)
    assert isinstance(model.head, nn.Linear)
    assert model.features(x).shape == (5, 4)
    assert torch.equal(model(x), model.head(model.features(x)))
    assert torch.equal(model(x), plain_logits(model, x))


def test_its_weights_have_their_names_in_the_file_of_the_whole_model(own):
    model = own(head="fc", more='HEAD = "fc"')
    assert model.names("fc.weight") == "head.weight"
    assert model.names("norm.running_mean") == "body.inner.norm.running_mean"
    assert {"head.weight", "body.inner.norm.running_mean"} <= model.state_dict().keys()
    assert model.own_names("head.weight") == "fc.weight"
    assert model.own_names("body.inner.norm.running_mean") == "norm.running_mean"


def test_a_model_that_is_not_wrapped_keeps_its_names():
    model = Classifier(INFO, nn.Flatten(), nn.Linear(64, 3))
    for name in ("head.weight", "body.inner.weight"):
        assert model.names(name) == model.own_names(name) == name


def test_the_look_at_it_changes_nothing(own):
    model = own()
    assert model.training and model.body.inner.norm.training
    assert model.body.inner.norm.running_mean.eq(0).all()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"made": "[info]"}, "build returned a list; expected a torch.nn.Module"),
        (
            {"head": "fc"},
            'Net has not both `features` and `head`; name its last layer: HEAD = "fc"',
        ),
        ({"more": 'HEAD = "last"'}, "`last`"),
        ({"more": 'HEAD = "norm"'}, "its head, norm, is a BatchNorm2d, not one linear layer"),
        ({"made": "Net(7)"}, "its head has 7 outputs for 3 classes"),
        ({"after": "2 *"}, "its output is not that of its head on its features"),
    ],
)
def test_a_model_without_features_and_head_is_refused_with_its_file(own, tmp_path, given, said):
    with pytest.raises(PluginError) as error:
        own(**given)
    assert str(error.value).startswith(f"plugins: '{tmp_path / 'models/net.py'}': ")
    assert said in str(error.value) and "\n" not in str(error.value)


def test_build_gets_the_name_of_the_model_if_it_has_that_argument(own):
    add_plugins([Path(__file__).parent / "plugins"])
    assert build_model("softmax", INFO)(torch.rand(2, 1, 8, 8)).shape == (2, 3)
