"""Kinds of jobs. Each file declares one kind, with all that the workflow must know about it.

Rules, stages, records, missing files, differences from the plan, preflight checks and the estimate
all use these classes. Files whose names begin with `_` are helpers.

- A file has two classes. The description (`UnlearnJob`) has everything that identifies a job, as
  plain values, and names its inputs and files. The job in the plan (`PlannedUnlearn`) makes the
  description from the config, and knows the fingerprint of the code and the estimated cost.
- The rule has the name of the file. So has the stage, unless the description sets `stage` (`base`
  and `retrain` use `train`). A planned job may override `rule`: tracked runs have the rule `track`.
- The annotated attributes of a planned job are the wildcards of the rule, in the order in which its
  paths have them; each is in `wildcard_constraints` of rules/lookup.smk.
- A job of a cell names in `cell_attribute` which cells or runs have such a job: one job for each
  value of its wildcards `seed`, `run` and `method`. Other kinds override `list_all`.
- Jobs that make tables, figures and pages are not listed (`PlannedPage`): they take seconds, and
  nothing compares their records with the plan. `index` and `theory` belong to no benchmark: they
  have a description alone.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from collateral.config.errors import ConfigError, explain
from collateral.contract.messages import did_you_mean, quoted
from collateral.jobs._job import Job, Planned, PlannedPage
from collateral.plan.fingerprint import hash_texts
from collateral.plan.grid import Benchmark
from collateral.results.files import atomic

# Maximum bytes of a text on a command line; Linux allows 131,072 bytes per argument.
MOST_BYTES = 100_000
LONG_TEXTS = Path(".snakemake/jobs")
C = TypeVar("C")


@cache
def kinds() -> dict[str, type[Planned]]:
    """Return a dict from name to class of planned jobs; file and rule have the same name."""
    found = {name: _class_in(name, Planned) for name in _names()}
    return {name: kind for name, kind in found.items() if kind}


def _names() -> list[str]:
    return sorted(file.stem for file in Path(__file__).parent.glob("[!_]*.py"))


@cache
def _class_in(name: str, base: type[C]) -> type[C] | None:
    """Return the first class in the file of a kind of job that is a subclass of `base`."""
    module = import_module(f"{__name__}.{name}")
    classes = (value for value in vars(module).values() if isinstance(value, type))
    own = (one for one in classes if one.__module__ == module.__name__ and issubclass(one, base))
    return next(own, None)


def stages_of_kinds() -> dict[str, str]:
    """Return a dict from kind of job to name of its stage."""
    classes = {name: _class_in(name, Job) for name in _names()}
    return {name: one.stage or name for name, one in classes.items() if one}


def read_job(text: str) -> Job:
    """Read a description from its JSON text, or from the file that `@path` names.

    The text may be typed by hand: a mistake in it raises a ValueError of one line.
    """
    try:
        content = json.loads(read_argument(text))
    except ValueError as error:
        raise ValueError(f"the description is not JSON: {error}") from None
    kind = content.get("kind") if isinstance(content, dict) else None
    if kind not in _names():
        hint = did_you_mean(str(kind), _names())
        known = ", ".join(_names())
        raise ValueError(f"kind: {quoted(kind)} is no kind of job; known: {known}{hint}")
    try:
        return parse_job(content)
    except ValidationError as error:
        problems = ConfigError(explain(error, description_class(kind), ()))
        raise ValueError("; ".join(str(problems).splitlines())) from None


def read_argument(text: str) -> str:
    """Return the text of an argument that `as_argument` made."""
    return Path(text[1:]).read_text("utf-8") if text.startswith("@") else text


def parse_job(content: Mapping[str, Any]) -> Job:
    """Return the description that a record or a command line contains."""
    described = description_class(content["kind"])
    return described.model_validate({key: content[key] for key in content if key != "kind"})


def description_class(kind: str) -> type[Job]:
    """Return the class of the description of a kind of job."""
    described = _class_in(kind, Job)
    assert described, "every kind of job has a description"
    return described


def as_argument(text: str, kind: str) -> str:
    """Return a JSON text for a command line: itself or, if it is too long, a file as `@path`."""
    if len(text.encode()) <= MOST_BYTES:
        return text
    # The file is named by its hash, so that a change of the text is a change of the argument.
    path = LONG_TEXTS / f"{kind}-{hash_texts(text)}.json"
    if not path.exists():
        with atomic(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return f"@{path}"


def list_jobs(benchmark: Benchmark) -> Iterator[Planned]:
    """Yield all jobs of a benchmark except those that make tables, figures and pages."""
    return (job for job in _jobs(benchmark).values() if not isinstance(job, PlannedPage))


def find_job(kind: str, benchmark: Benchmark, wildcards: Iterable[str]) -> Planned:
    """Return the job of a rule for these values of Snakemake's wildcards."""
    try:
        return _jobs(benchmark)[(kind, *wildcards)]
    except KeyError:
        raise ValueError(f"the config has no {kind} of {'/'.join(wildcards)}") from None


@cache
def _jobs(benchmark: Benchmark) -> dict[tuple[str, ...], Planned]:
    """Return a dict from kind and wildcards to job; each job is described only once."""
    jobs = (job for kind in kinds().values() for job in kind.list_all(benchmark))
    return {(job.kind_name, *map(str, job.wildcards.values())): job for job in jobs}
