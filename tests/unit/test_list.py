"""`collateral list`: what there is of every kind, with its source and its parameters."""

import sys

import pytest

from collateral.cli import main
from collateral.commands.list import KINDS
from collateral.findings.metric_index import known_metrics
from collateral.plugins.find import CONTROL, METHOD, params_class


@pytest.fixture(autouse=True)
def terminal_of_80_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def read_entries(text):
    """Return the entries of a list by name; further lines of an entry are indented."""
    entries = {}
    for line in text.partition("\n\n")[0].splitlines():
        if not line.startswith(" "):
            name, _, rest = line.partition(" ")
            entries[name] = rest.strip()
        else:
            entries[name] += f" {line.strip()}"
    return entries


@pytest.mark.parametrize("kind", KINDS)
def test_all_names_of_a_kind_are_listed_with_a_sentence(capsys, kind):
    main(["list", kind])
    said = capsys.readouterr().out
    entries = read_entries(said)
    names = KINDS[kind].names()
    assert [*entries][: len(names)] == names
    assert all(len(entries[name].split()) > 2 for name in names)
    assert len(names) >= 2
    assert said.endswith(f"\n\nEverything about one: collateral list {kind} NAME\n")


@pytest.mark.parametrize("kind", KINDS)
def test_everything_is_listed_with_names(capsys, kind):
    names = KINDS[kind].names()
    main(["list", kind, *names])
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line and not line.startswith(" ")] == names


@pytest.mark.parametrize("kind", KINDS)
def test_no_line_of_a_list_is_longer_than_80_characters(capsys, kind):
    main(["list"])
    main(["list", kind])
    main(["list", kind, *KINDS[kind].names()])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 10
    assert [line for line in lines if len(line) > 80] == []


def test_lines_are_as_long_as_the_terminal_is_wide(capsys, monkeypatch):
    longest = []
    for columns in (60, 80, 300):
        monkeypatch.setenv("COLUMNS", str(columns))
        main(["list", "methods"])
        longest.append(max(map(len, capsys.readouterr().out.splitlines())))
    assert 50 < longest[0] <= 60 < longest[1] <= 80 < longest[2] <= 100


def test_a_method_is_listed_with_full_name_citation_and_data(capsys):
    main(["list", "methods"])
    entries = read_entries(capsys.readouterr().out)
    assert entries["ga"] == (
        "GA, gradient ascent (Thudi et al., EuroS&P 2022): raise the loss on the forget set; "
        "reads: forget images, forget labels"
    )
    assert entries["ft"].endswith("; reads: retained examples")


def test_a_method_is_listed_with_its_source_its_data_and_its_parameters(capsys):
    main(["list", "methods", "ga"])
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("ga GA; reads: forget images, forget labels GA, gradient ascent (Thudi")
    assert "published, paper: epochs 5, lr 1e-6 to 0.01, optimizer sgd, momentum 0.9" in said
    assert "lr = 0.0001: Learning rate, constant during training. Paper: tuned in [1e-6" in said


def test_what_only_the_first_phase_reads_is_marked(capsys):
    main(["list", "methods", "ltd"])
    said = capsys.readouterr().out
    assert "teacher = resnet8 [prepare]: " in said
    assert "epochs = 20: " in said


def test_a_data_set_is_listed_with_its_source_and_licence(capsys):
    main(["list", "data", "digits"])
    said = " ".join(capsys.readouterr().out.split())
    assert "Handwritten Digits; licence: CC BY 4.0" in said


def test_a_required_parameter_is_called_as_in_the_config(capsys):
    main(["list", "forget", "class_part"])
    assert "  class = (required): Class of which a part is forgotten," in capsys.readouterr().out


def test_a_finding_is_listed_with_its_question_and_its_numbers(capsys):
    main(["list", "findings", "locality"])
    said = capsys.readouterr().out
    assert said.startswith("locality\n  Do examples near the forget set lose more")
    assert "near_loss, Near (points): Retrain's accuracy minus" in said


def test_defaults_are_written_as_in_a_config(capsys):
    main(["list", "methods", "amun", "scrub"])
    said = capsys.readouterr().out
    assert "    median_after = null [prepare]: " in said
    assert "    give_up = true [prepare]: " in said
    assert "    decay_after = [5, 8, 9]: " in said


def test_a_metric_is_listed_with_its_finding_file_and_interval(capsys):
    main(["list", "metrics", "ulira_auc", "rte"])
    first, second = capsys.readouterr().out.split("\n\n")
    assert "  finding: ulira\n  file: metrics.csv\n" in first
    assert "  best: " not in first and "\n  best: low\n" in second
    ends = [name for name in known_metrics() if name.startswith("ulira_auc_")]
    assert f"  ends of its intervals: {', '.join(ends)}" in first
    assert ends[0] == "ulira_auc_low"
    assert second.endswith("  finding: costs\n  file: costs.csv\n  best: low\n")


def test_the_end_of_an_interval_is_known_but_not_in_the_list(capsys):
    main(["list", "metrics", "ulira_auc_low"])
    assert "lower end of the interval over shadow models" in " ".join(
        capsys.readouterr().out.split()
    )
    assert "ulira_auc_low" not in KINDS["metrics"].names()


def test_a_model_of_timm_is_listed_by_its_name(capsys):
    main(["list", "models", "timm/resnet18"])
    assert capsys.readouterr().out.startswith("timm/resnet18\n  Untrained classifiers of the")


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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["methods", "ltt"], r"no method 'ltt'; known: amun, .*; did you mean ltd\?$"),
        (["metrics", "nearloss"], r"no metric 'nearloss'; did you mean near_loss\?$"),
        (["findings", "locallity"], r"no finding 'locallity'; .*; did you mean locality\?$"),
        (["metric"], r"no list of 'metric'; did you mean metrics\?$"),
        (["metods"], r"no list of 'metods'; did you mean methods\?$"),
        (["xyzzy"], r"no list of 'xyzzy';\n  known: methods, .*, metrics$"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest_one(words, said):
    with pytest.raises(SystemExit, match=said):
        main(["list", *words])


@pytest.mark.parametrize("word", ["metods", "xyzzy"])
def test_the_answer_to_an_unknown_kind_fits_into_a_terminal(word):
    with pytest.raises(SystemExit) as error:
        main(["list", word])
    assert max(map(len, str(error.value).splitlines())) <= 80


def test_without_a_kind_all_kinds_are_listed_with_their_names(capsys):
    main(["list"])
    lists, more = capsys.readouterr().out.split("\n\n")
    assert "collateral list KIND" in more
    assert [line.partition(":")[0] for line in lists.splitlines() if line[0] != " "] == [*KINDS]
    said = " ".join(lists.split())
    for name, kind in KINDS.items():
        names = kind.names()
        shown = str(len(names)) if name == "metrics" else ", ".join(names)
        assert f"{name}: {shown}" in said
