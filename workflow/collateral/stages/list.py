"""List every method and control: where it comes from, what data it touches, its parameters."""

import argparse
import inspect
from pathlib import Path

from pydantic.fields import FieldInfo

from collateral.contract.plugins import add_plugins, names, params_class, prepare_class

NOTHING = "nothing"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("name", nargs="*", help="only these; all if none is given")
    parser.add_argument("--plugins", type=Path, nargs="*", default=[], help="folders of methods")


def run(args: argparse.Namespace) -> None:
    """Print what is found."""
    add_plugins(args.plugins)
    known = [*names("method"), *names("control")]
    for name in args.name:
        params_class(name)  # an unknown name is an error, and says which are known
    print("\n\n".join(describe(name) for name in args.name or known))


def describe(name: str) -> str:
    """Return what a person wants to know of a method."""
    params, prepare = params_class(name), prepare_class(name)
    first_phase = set(prepare.model_fields) if prepare else set()
    lines = [
        f"{name} ({params.label})",
        *(f"  {line}".rstrip() for line in (inspect.getdoc(params) or "").splitlines()),
        f"  touches: {', '.join(sorted(params.touches)) or NOTHING}",
    ]
    for field, info in params.model_fields.items():
        mark = " [prepare]" if field in first_phase else ""
        lines.append(f"    {field} = {_default(info)}{mark}: {info.description}")
    return "\n".join(lines)


def _default(info: FieldInfo) -> str:
    return "(required)" if info.is_required() else str(info.default)
