"""The command `collateral NAME`: import one command, parse its options and call it.

A command is a typed function in the file of its name. Its signature is its command line: parameters
before `*` are positional arguments, those after it are options, and a dataclass stands for all of
its fields. Each has the type `Annotated[TYPE, "help"]`, where a third value may have further
keywords of argparse. Rules call `collateral run`, which runs any job (stages/run.py).
"""

import argparse
import ast
import errno
import logging
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from inspect import Parameter, signature
from pathlib import Path
from time import process_time
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import collateral
from collateral.contract.messages import did_you_mean
from collateral.contract.terminal import fill_paragraphs, hang
from collateral.plugins.find import COMMAND, STAGE, add_plugins
from collateral.plugins.modules import is_shipped
from collateral.results.job_text import RUN, job_kind
from collateral.results.record import peak_rss_mb

# Flag or name of a command-line argument, and its keywords for argparse's `add_argument`.
Argument = tuple[str, dict[str, Any]]
# Commands that `collateral --help` lists first, in this order; all others follow by name.
FIRST = ["init", "estimate", "forecast", "doctor", "list", "cite", "verify", "export"]
FIRST += ["evidence", "bundle", "unbundle", "publish", "submit", "judge", "board"]
# Commands for make, the Snakefile and scripts, which the overview leaves out. They have --help too.
HIDDEN = ("cached", RUN, "stale", "unlock", "weights", "where")
EXAMPLE = """\
Examples:
  collateral estimate config.yaml   time and disk of the default experiment
  collateral list methods           a sentence per method
  collateral list methods ltd       the parameters of one method
  collateral cite config.yaml       BibTeX of what the default experiment uses
  collateral doctor --help          options of a command
"""
NOT_WRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}
REMEDY = (
    "free some space, or start in a folder that can be written, and run again: what is finished is "
    "kept"
)
PLUGINS: Argument = (
    "--plugins",
    {
        "type": Path,
        "nargs": "*",
        "default": [],
        "help": "folders of plug-ins, as under `plugins:` in a config",
    },
)


def main(arguments: list[str] | None = None) -> None:
    """Run a command or a job; print an error in the user's input as one line."""
    arguments = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    parser = _name_parser()
    name = parser.parse_args(arguments[:1]).name
    if name not in (known := [*commands(), RUN]):
        hint = did_you_mean(name, known).removeprefix("; ")
        parser.error(f"no command {name!r}; {hint or 'known: ' + ', '.join(known)}")
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        run(name, arguments[1:])
    except BrokenPipeError:
        # A reader such as `head` has closed the pipe; discard the rest, so that exit has no error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ValueError, OSError) as error:
        if not (message := _message(error)):
            raise
        raise SystemExit(f"collateral {job_kind(arguments) or name}: {message}") from None
    if kind := job_kind(arguments):
        used = f"{process_time():.1f} s of CPU, peak memory {peak_rss_mb():.0f} MB"
        logging.info("collateral %s: %s", kind, used)


def run(name: str, arguments: Sequence[str]) -> None:
    """Parse the arguments of a command, and call it."""
    options = vars(make_parser(name).parse_args(arguments))
    add_plugins(options["plugins"])
    _call(_load(name), options)


def commands() -> list[str]:
    """Return the names of the commands for people, make and the Snakefile."""
    names = COMMAND.names()
    return [*FIRST, *(name for name in names if name not in FIRST)]


def make_parser(name: str) -> argparse.ArgumentParser:
    """Return the parser of a command, made from its signature."""
    function = _load(name)
    description = fill_paragraphs(str(sys.modules[function.__module__].__doc__).strip())
    parser = argparse.ArgumentParser(
        prog=f"collateral {name}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    # `init` has its own option --plugins, which replaces the common one in this dictionary.
    arguments = {"plugins": PLUGINS, **dict(_arguments(function))}
    for flag, keywords in arguments.values():
        parser.add_argument(flag, **keywords)
    return parser


def _load(name: str) -> Callable[..., None]:
    kind = STAGE if name == RUN else COMMAND
    function: Callable[..., None] = getattr(kind.load(name), name)
    return function


def _arguments(function: Callable[..., Any]) -> Iterator[tuple[str, Argument]]:
    """Yield the parameters of a function or dataclass with their command-line arguments."""
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in signature(function).parameters.items():
        if is_dataclass(hints[name]):
            yield from _arguments(hints[name])
        else:
            yield name, _argument(parameter, hints[name])


def _argument(parameter: Parameter, hint: Any) -> Argument:
    """Translate a parameter into an argument of argparse."""
    kind, text, *more = get_args(hint)
    is_required = parameter.default is Parameter.empty
    keywords = {"help": text, **_parsing(kind, is_required=is_required)}
    if not is_required:
        keywords["default"] = parameter.default
    if parameter.kind is Parameter.KEYWORD_ONLY:
        flag = f"--{parameter.name.strip('_').replace('_', '-')}"
        keywords |= {"dest": parameter.name, "required": is_required}
    else:
        flag = parameter.name
        keywords = ({} if is_required else {"nargs": "?"}) | keywords
    return flag, keywords | (more[0] if more else {})


def _parsing(kind: Any, *, is_required: bool) -> dict[str, Any]:
    """Return the keywords of argparse that parse an option of type `kind`."""
    origin, members = get_origin(kind), [one for one in get_args(kind) if one is not NoneType]
    if kind is bool:
        return {"action": "store_true"}
    if origin is Literal:
        return {"choices": members}
    if origin is Sequence:
        return {"type": members[0], "nargs": "+" if is_required else "*"}
    if origin is tuple:
        return {"type": members[0], "nargs": len(members)}
    return {"type": members[0] if origin is UnionType else kind}


def _call(function: Callable[..., Any], options: Mapping[str, Any]) -> Any:
    """Call a function, or build a dataclass, with the options named like its parameters."""
    hints = get_type_hints(function)
    names = signature(function).parameters
    shared = {name: _call(hints[name], options) for name in names if is_dataclass(hints[name])}
    return function(**{name: options[name] for name in names if name not in shared}, **shared)


def _name_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="collateral",
        description=_overview(),
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    version = f"collateral {collateral.__version__}"
    parser.add_argument("--version", action="version", version=version)
    parser.add_argument("name", metavar="COMMAND", help="one of these; its options follow it")
    return parser


def _overview() -> str:
    """Return an entry per command for people."""
    shown = [name for name in commands() if name not in HIDDEN]
    return "\n".join(["Commands:", *(hang(f"  {name:10} ", _summary(name)) for name in shown)])


def _summary(name: str) -> str:
    """Return the first sentence of a command's docstring, without importing the command."""
    files = [Path(folder) / f"{name}.py" for folder in COMMAND.paths]
    (source,) = [file.read_text(encoding="utf-8") for file in files if file.is_file()]
    text = ast.get_docstring(ast.parse(source)) or ""
    return text.split("\n\n")[0].replace("\n", " ")


def _message(error: Exception) -> str:
    """Return the text of an error for the user; empty if another library raised the error."""
    if isinstance(error, OSError) and error.errno in NOT_WRITABLE:
        # A library that writes a file does not always name it.
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror}; {REMEDY}"
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    frames = traceback.extract_tb(error.__traceback__)
    return str(error) if is_shipped(Path(frames[-1].filename)) else ""
