"""`collateral methods`: every method with its source, its data and its parameters."""

import pytest

from collateral.cli import main
from collateral.contract.plugins import names, params_class


def test_every_method_and_control_is_listed_with_all_its_parameters(capsys):
    main(["methods"])
    said = capsys.readouterr().out
    for name in [*names("method"), *names("control")]:
        assert f"{name} ({params_class(name).label})" in said
    assert "touches: forget images, forget labels" in said
    assert "lr = 0.01: Paper tunes it in [1e-3, 1e-1]." in said


def test_every_method_cites_its_source_and_describes_its_parameters():
    assert len(names("method")) == 8
    for name in names("method"):
        params = params_class(name)
        assert any(year in (params.__doc__ or "") for year in ("20", "paper")), name
        for field, info in params.model_fields.items():
            assert info.description, f"{name}.{field}"


def test_an_unknown_name_is_answered_with_the_known_ones(capsys):
    with pytest.raises(SystemExit, match=r"no method 'ltt'; known: .*did you mean ltd"):
        main(["methods", "ltt"])
