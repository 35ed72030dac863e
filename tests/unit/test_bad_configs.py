"""Wrong configs and their error messages: the tables in `bad_configs/`.

A case has a `change` to the small config (null removes a key), or a whole `config`, or the `text`
of a file. `{methods}` in a message stands for the list of known methods. `pytest --fix` rewrites
the messages; read the diff.
"""

from pathlib import Path

import pytest
from ruamel.yaml import YAML
from small_config import complaints, config

from collateral.config.errors import ConfigError
from collateral.config.yaml import parse, read_file
from collateral.contract.messages import listed
from collateral.plugins.find import METHOD

FILES = sorted(Path(__file__).with_name("bad_configs").glob("*.yaml"))
CASES = [
    pytest.param(case, (file, title, place), id=f"{file.stem}: {title} {place}")
    for file in FILES
    for title, cases in read_file(file).items()
    for place, case in enumerate(cases)
]
KNOWN_METHODS = listed("known", METHOD.names())


def errors(case) -> list[str]:
    """Return the lines of the error, without the name of the benchmark that was changed."""
    if "text" in case:
        with pytest.raises(ConfigError) as error:
            parse(case["text"])
        return str(error.value).splitlines()
    if "config" in case:
        return complaints(case["config"])
    lines = complaints(config(**case["change"]))
    assert all(line.startswith("benchmarks.b") for line in lines)
    return [line.removeprefix("benchmarks.b").removeprefix(".") for line in lines]


def rewrite(file: Path, title: str, place: int, lines: list[str]) -> None:
    """Replace the message of one case; leave the rest of the file as it is."""
    table = YAML()
    table.width = 98
    content = table.load(file)
    content[title][place]["error"] = lines[0] if len(lines) == 1 else lines
    table.dump(content, file)


def test_no_case_was_lost():
    assert len(FILES) == 9
    assert len(CASES) >= 234


@pytest.mark.parametrize(("case", "where"), CASES)
def test_a_wrong_config_has_this_error(case, where, request):
    lines = [line.replace(KNOWN_METHODS, "{methods}") for line in errors(case)]
    expected = [case["error"]] if isinstance(case["error"], str) else case["error"]
    if lines != expected and request.config.getoption("--fix"):
        rewrite(*where, lines)
    else:
        assert lines == expected
