"""`collateral list`: what there is of every kind, with its source and its parameters."""

import sys

import pytest

from collateral.cli import main
from collateral.commands.list import KINDS
from collateral.plugins.find import CONTROL, METHOD, params_class


@pytest.mark.parametrize("kind", KINDS)
def test_all_of_a_kind_are_listed(capsys, kind):
    main(["list", kind])
    *lines, empty, more = capsys.readouterr().out.splitlines()
    names = KINDS[kind][0].names()
    assert [line.split()[0] for line in lines] == names
    assert all(len(line.split()) > 3 for line in lines)
    assert len(names) >= 2
    assert (empty, more) == ("", f"All about one: collateral list {kind} NAME")


@pytest.mark.parametrize("kind", KINDS)
def test_everything_is_listed_with_names(capsys, kind):
    names = KINDS[kind][0].names()
    main(["list", kind, *names])
    entries = capsys.readouterr().out.split("\n\n")
    heads = [entry.splitlines()[0] for entry in entries if not entry.startswith(" ")]
    assert heads == names


def test_a_method_has_one_line_with_full_name_citation_and_data(capsys):
    main(["list", "methods"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[lines.index("") - 1].startswith("unsir ")
    (line,) = [line for line in lines if line.startswith("ga ")]
    assert line.split(maxsplit=1)[1] == (
        "GA, gradient ascent (Thudi et al., EuroS&P 2022): raise the loss on the forget set; "
        "touches: forget images, forget labels"
    )


def test_a_method_is_listed_with_its_source_its_data_and_its_parameters(capsys):
    main(["list", "methods", "ga"])
    said = capsys.readouterr().out
    assert said.startswith("ga\n  GA; touches: forget images, forget labels\n")
    assert "(Thudi et al., EuroS&P 2022)" in said
    assert "published, paper: epochs 5, lr 1e-6 to 0.01, optimizer sgd, momentum 0.9" in said
    assert "lr = 0.0001: Paper tunes it in [1e-6, 1e-2]." in said


def test_what_only_the_first_phase_reads_is_marked(capsys):
    main(["list", "methods", "ltd"])
    said = capsys.readouterr().out
    assert "teacher = resnet8 [prepare]: " in said
    assert "epochs = 20: " in said


def test_a_data_set_is_listed_with_its_source_and_licence(capsys):
    main(["list", "data", "digits"])
    assert "Handwritten Digits; licence: CC BY 4.0" in capsys.readouterr().out


def test_a_required_parameter_is_called_as_in_the_config(capsys):
    main(["list", "forget", "class_part"])
    assert "  class = (required): The class, by name or index." in capsys.readouterr().out


def test_a_finding_is_listed_with_its_question_and_its_numbers(capsys):
    main(["list", "findings", "locality"])
    said = capsys.readouterr().out
    assert said.startswith("locality\n  Do examples near the forget set lose more")
    assert "near_loss, Near (points): Retrain's accuracy minus" in said


def test_models_are_listed_without_torch(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    main(["list", "models", "resnet20"])
    assert "He et al., CVPR 2016" in capsys.readouterr().out


def test_every_method_cites_its_source_and_describes_its_parameters():
    assert len(METHOD.names()) == 24
    for name in METHOD.names() + CONTROL.names():
        params = params_class(name)
        if name in METHOD.names():
            assert any(year in (params.__doc__ or "") for year in ("20", "paper")), name
        for field, info in params.model_fields.items():
            assert info.description, f"{name}.{field}"


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(SystemExit, match=r"no method 'ltt'; known: .*did you mean ltd"):
        main(["list", "methods", "ltt"])


def test_without_a_kind_all_kinds_are_listed_with_their_names(capsys):
    main(["list"])
    *lines, _, more = capsys.readouterr().out.splitlines()
    assert "collateral list KIND" in more
    assert lines == [f"{name}: {', '.join(kind.names())}" for name, (kind, _) in KINDS.items()]
    assert lines[-2].startswith("models: mlp, ")
