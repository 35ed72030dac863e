"""The command `collateral STAGE`: it imports that one stage and runs it."""

import argparse
import ast
import logging
import os
import sys
import traceback
from pathlib import Path
from time import process_time

import collateral
from collateral.contract.plugins import STAGE, add_plugins, is_shipped
from collateral.results.record import peak_rss_mb

NOT_STAGES = {"options"}
# Called by people and make, by no rule.
BY_HAND = {
    *("bundle", "cached", "claims", "doctor", "estimate", "export", "init", "list"),
    *("unbundle", "unlock", "verify", "where"),
}


def stages() -> list[str]:
    """Return the names of the stages: their files."""
    return [name for name in STAGE.names() if name not in NOT_STAGES]


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
    stage = STAGE.load(name)
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
    lines = [f"  {name:10} {_summary(name)}" for name in stages() if name in BY_HAND]
    return "\n".join(["Collateral, by hand:", *lines, "", f"By the workflow: {by_rules}"])


def _summary(name: str) -> str:
    """Return the first sentence of a stage's docstring, without importing the stage."""
    files = [Path(folder) / f"{name}.py" for folder in STAGE.paths]
    (source,) = [file.read_text(encoding="utf-8") for file in files if file.is_file()]
    text = ast.get_docstring(ast.parse(source)) or ""
    return text.split("\n\n")[0].replace("\n", " ")


def _said(error: Exception) -> str:
    """Return the text of an error for the user; nothing if it comes from elsewhere."""
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    frames = traceback.extract_tb(error.__traceback__)
    return str(error) if is_shipped(Path(frames[-1].filename)) else ""
