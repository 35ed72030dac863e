"""How fast models are here: measured in a moment, and of the right order."""

import pytest

torch = pytest.importorskip("torch")

from collateral.cli import main
from collateral.contract.params import TrainingParams
from collateral.training import calibration

CONFIG = """
benchmarks:
  tiny:
    data: {name: synthetic}
    model: mlp
    base: {epochs: 2, batch_size: 32, checkpoint: best_test, warmup: 1}
    seeds: [0]
    classes: [0]
    fractions: [0.5]
    methods: {ltd: {teacher: small_cnn}}
"""


@pytest.fixture(autouse=True)
def in_a_moment(monkeypatch):
    monkeypatch.setattr(calibration, "SECONDS", 0.05)


def test_more_pixels_cost_more():
    shapes = ((8, 8, 1), (32, 32, 3))
    params = TrainingParams(batch_size=32)
    few, many = (calibration.measure(("small_cnn", s, "float32"), params) for s in shapes)
    assert 0 < many < few


def test_all_models_of_a_config_are_measured(tmp_path, capsys):
    (tmp_path / "c.yaml").write_text(CONFIG)
    main(["estimate", str(tmp_path / "c.yaml"), "--results", str(tmp_path)])
    said = capsys.readouterr().out
    assert said.count("images/s (measured now, on noise)") == 2
    assert "assumed: " not in said
