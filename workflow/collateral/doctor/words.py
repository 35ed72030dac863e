"""What was found, for people and for machines."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Sequence
from pathlib import Path

import collateral
from collateral.doctor.check import Check


def in_words(checks: Sequence[Check]) -> str:
    """Return a line for each thing, and after them what is missing and how to get it."""
    lacking = [check for check in checks if check.status == "missing"]
    optional = [check for check in checks if check.status == "optional"]
    parts = [[_heading(), *_lines(checks)]]
    parts += [["Optional:", *map(_remedy, optional)]] if optional else []
    parts += [["Missing:", *map(_remedy, lacking)] if lacking else ["Nothing is missing."]]
    return "\n\n".join("\n".join(lines) for lines in parts)


def in_json(checks: Sequence[Check]) -> str:
    """Return the same for machines."""
    content = {
        **dict(_about()),
        "checks": [
            {"name": c.name, "status": c.status, "found": c.found, "remedy": c.remedy}
            for c in checks
        ],
        "is_whole": all(check.status != "missing" for check in checks),
    }
    return json.dumps(content, indent=2)


def _about() -> Iterator[tuple[str, str]]:
    yield "collateral", collateral.__version__
    yield "package", str(Path(collateral.__file__).parent)
    yield "python", platform.python_version()
    yield "platform", platform.platform()


def _heading() -> str:
    about = dict(_about())
    return (
        f"collateral {about['collateral']} in {about['package']}\n"
        f"Python {about['python']}, {about['platform']}"
    )


def _lines(checks: Sequence[Check]) -> Iterator[str]:
    width = max((len(check.name) for check in checks), default=0)
    return (f"  {check.name:{width}}  {check.found}" for check in checks)


def _remedy(check: Check) -> str:
    return f"  {check.name}: {check.remedy}"
