"""Options and fixtures that all tests share."""

from pathlib import Path

import pytest
from opened_page import launch

from collateral.plugins.find import add_plugins


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fix", action="store_true", help="rewrite generated files that are stale")
    parser.addoption(
        "--plugins",
        type=Path,
        nargs="+",
        default=[],
        dest="plugin_folders",
        metavar="FOLDER",
        help="folders of plug-ins, as in a config: what is in them is held to its contract too",
    )


def pytest_configure(config: pytest.Config) -> None:
    add_plugins(config.getoption("plugin_folders"))


@pytest.fixture(scope="module")
def browser():
    """Start a browser for the tests of a module."""
    pytest.importorskip("playwright.sync_api")
    with launch() as chromium:
        yield chromium
