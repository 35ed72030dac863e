"""The command `collateral STAGE`: it imports that one stage and runs it."""

import argparse
import ast
import logging
import os
import sys
import traceback
from importlib import import_module
from pathlib import Path
from time import process_time

import collateral
from collateral.contract.plugins import add_plugins
from collateral.results.record import peak_rss_mb

STAGES = Path(__file__).parent / "stages"
NOT_STAGES = {"__init__", "options"}
# Called by people and make, by no rule.
BY_HAND = {
    *("bundle", "cached", "claims", "doctor", "estimate", "export", "init", "list"),
    *("unbundle", "unlock", "verify", "where"),
}


def stages() -> list[str]:
    """Return the names of the stages: their files."""
    return sorted({file.stem for file in STAGES.glob("*.py")} - NOT_STAGES)


def main(arguments: list[str] | None = None) -> None:
    """Run a stage; for bad input, say in one line what is wrong."""
    arguments = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    parser = argparse.ArgumentParser(
        prog="collateral",
        description=_commands(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version", action="version", version=f"collateral {collateral.__version__}"
    )
    parser.add_argument("stage", choices=stages(), metavar="STAGE", help="one of these")
    name = parser.parse_args(arguments[:1]).stage
    stage = import_module(f"collateral.stages.{name}")
    options = argparse.ArgumentParser(prog=f"collateral {name}", description=stage.__doc__)
    options.add_argument(
        "--plugins", type=Path, nargs="*", default=[], help="folders as under `plugins:`"
    )
    stage.add_arguments(options)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    args = options.parse_args(arguments[1:])
    try:
        add_plugins(args.plugins)
        stage.run(args)
    except BrokenPipeError:
        # The reader, `head`, has enough; Python would complain of it once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ValueError, OSError) as error:
        if not (said := _said(error)):
            raise
        raise SystemExit(f"collateral {name}: {said}") from None
    if name not in BY_HAND:
        used = f"{process_time():.1f} s of CPU, peak memory {peak_rss_mb():.0f} MB"
        logging.info("collateral %s: %s", name, used)


def _commands() -> str:
    """Return what people call by hand, a line each, and the stages that rules call."""
    by_rules = ", ".join(name for name in stages() if name not in BY_HAND)
    lines = [f"  {name:10} {_summary(name)}" for name in sorted(BY_HAND)]
    return "\n".join(["Collateral, by hand:", *lines, "", f"By the workflow: {by_rules}"])


def _summary(name: str) -> str:
    """Return the first sentence of a stage's docstring, without importing the stage."""
    text = ast.get_docstring(ast.parse((STAGES / f"{name}.py").read_text())) or ""
    return text.split("\n\n")[0].replace("\n", " ")


def _said(error: Exception) -> str:
    """Return what an error says to the user; nothing if neither the package nor a file is named."""
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    frames = traceback.extract_tb(error.__traceback__)
    is_ours = Path(frames[-1].filename).is_relative_to(Path(__file__).parent)
    return str(error) if is_ours else ""
