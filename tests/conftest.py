"""Fixtures and options that all tests share."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fix", action="store_true", help="rewrite generated files that are stale")
