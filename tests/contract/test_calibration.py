"""How fast models are here: measured in a moment, and of the right order."""

import json

import pytest

torch = pytest.importorskip("torch")

from collateral.cli import main
from collateral.training import calibration

CONFIG = """
benchmarks:
  tiny:
    data: {name: synthetic}
    model: mlp
    base: {epochs: 2}
    seeds: [0]
    classes: [0]
    fractions: [0.5]
    methods: {ltd: {teacher: small_cnn}}
"""


@pytest.fixture(autouse=True)
def in_a_moment(monkeypatch):
    monkeypatch.setattr(calibration, "SECONDS", 0.05)


def test_a_look_costs_less_than_training_and_more_pixels_cost_more():
    training, looking = calibration.measure("small_cnn", (8, 8, 1))
    assert 0 < training < looking
    slower, _ = calibration.measure("small_cnn", (32, 32, 3))
    assert slower < training


def test_all_models_of_a_config_are_measured_and_saved(tmp_path, capsys):
    (tmp_path / "c.yaml").write_text(CONFIG)
    saved = tmp_path / "rates.json"
    main(["estimate", str(tmp_path / "c.yaml"), "--calibrate", "--save", str(saved)])
    said = capsys.readouterr().out
    assert "measured by --calibrate" in said
    assert "by multiply-adds" not in said
    found = json.loads(saved.read_text())
    assert [rate["model"] for rate in found["measured"]] == ["mlp", "small_cnn"]
    assert found["is_gpu"] == (calibration.choose_device().type != "cpu")
