"""Check that this machine has everything that Collateral needs; print how to install the rest."""

import os
import platform
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution, version
from json import dumps
from pathlib import Path
from typing import Annotated, Any

from packaging.requirements import Requirement

import collateral
from collateral.config.errors import ConfigError
from collateral.config.load import read
from collateral.config.schema import Config
from collateral.config.yaml import read_file
from collateral.contract.work import count_cores
from collateral.plan import paths, slurm
from collateral.plan.estimate import SHIPPED, bytes_in_words, estimate
from collateral.plan.grid import Benchmark, build_grid
from collateral.plan.paths import default_config
from collateral.plan.preflight import check_plan
from collateral.plan.work import SizeUnknownError, data_options
from collateral.plugins.find import DATA

PACKAGE = "collateral"
CORE = "core"
# Dependency groups of pyproject.toml, each with the task that needs it.
GROUPS = {
    CORE: "read a config",
    "figures": "make tables, figures and pages",
    "torch": "train",
    "workflow": "run snakemake",
    "ann": "search neighbours approximately (LTD's `search: approximate`)",
    "parquet": "read data sets in parquet files",
    "evidence": "write the record of a deletion request (`collateral evidence`)",
    "docs": "make the site of docs/ (`make docs` has an environment of its own)",
    "dev": "run the tests",
}
# Names of the dependency groups and other optional checks that each purpose (`--for`) needs.
FIGURES = (CORE, "figures", "workflow")
RUN = (*FIGURES, "torch", "device")
NEEDED = {
    "figures": FIGURES,
    "run": RUN,
    "cluster": (*RUN, "SLURM", "partition"),
    "test": (*RUN, "dev"),
}
MEMINFO = Path("/proc/meminfo")
MEMORY_LIMIT = Path("/sys/fs/cgroup/memory.max")  # memory limit of a container or a SLURM job
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
PROFILE = Path("profiles/slurm/config.yaml")
# Optional programs: name of the check, name of the program, reason to install it.
PROGRAMS = {
    "browser": ("chromium", "to test the page: `apt install chromium`"),
    "conda": ("conda", "only for `snakemake --sdm conda`: conda-forge's Miniforge"),
}
OPTIONAL = (*GROUPS, "device", "SLURM", "partition", *PROGRAMS)  # checks that may be optional


@dataclass(frozen=True)
class Check:
    """Result of one check. If something is missing, `remedy` says what to do; else it is empty."""

    name: str
    found: str
    remedy: str = ""
    is_needed: bool = True

    @property
    def status(self) -> str:
        """Status of the check in one word: ok, missing, or optional."""
        if not self.remedy:
            return "ok"
        return "missing" if self.is_needed else "optional"


def doctor(
    config: Annotated[Path | None, "config whose data are looked for; default: config.yaml"] = None,
    *,
    for_: Annotated[
        str, "purpose for which nothing must be missing; default: run", {"choices": NEEDED}
    ] = "run",
    results: Annotated[Path, "folder of results, whose disk must have room"] = Path(paths.RESULTS),
    json: Annotated[bool, "print JSON instead of text"] = False,
) -> None:
    """Print the results of all checks; fail if something is missing that the purpose needs."""
    checks = [*check_machine(config or Path(default_config()), for_, results)]
    print(in_json(checks) if json else in_words(checks))
    if not _is_whole(checks):
        raise SystemExit(1)


def check_machine(config: Path, purpose: str, results: Path) -> Iterator[Check]:
    """Yield the results of all checks; checks that the purpose does not need are optional."""
    for check in _list_checks(config, results):
        is_spare = check.name in OPTIONAL and check.name not in NEEDED[purpose]
        yield replace(check, is_needed=False) if is_spare else check


def _list_checks(config: Path, results: Path) -> Iterator[Check]:
    config_check, valid = read_config(config)
    needed = needed_bytes(valid, slurm.IN_FLIGHT) if valid else None
    yield from package_checks()
    yield from (device_check(), threads_check(), memory_check(), config_check)
    yield disk_check(results, needed)
    yield from map(data_check, build_grid(valid).values() if valid else [])
    yield slurm_check()
    yield from partition_checks()
    for name, (program, remedy) in PROGRAMS.items():
        path = shutil.which(program)
        yield Check(name, _version(path)) if path else Check(name, f"no {program}", remedy)


# Packages


def package_checks() -> Iterator[Check]:
    """Check the packages of every dependency group, or say that this package is not installed."""
    try:
        wanted = distribution(PACKAGE).requires or []
    except PackageNotFoundError:
        how = "`make setup` in a checkout, or `pip install 'collateral[torch,workflow]'`"
        yield Check("packages", "collateral itself is not installed", how)
        return
    for group, requirements in by_group(wanted).items():
        yield group_check(group, requirements)


def by_group(wanted: Iterable[str]) -> dict[str, list[Requirement]]:
    """Return the packages that each dependency group requires, except Collateral itself."""
    groups: dict[str, list[Requirement]] = {group: [] for group in GROUPS}
    for requirement in map(Requirement, wanted):
        if requirement.name != PACKAGE:
            groups[_group(requirement)].append(requirement)
    return groups


def _group(requirement: Requirement) -> str:
    """Return the group in the marker of a requirement, such as `extra == "dev"`, or else core."""
    marker = requirement.marker
    return next((group for group in GROUPS if marker and marker.evaluate({"extra": group})), CORE)


def group_check(group: str, requirements: Iterable[Requirement]) -> Check:
    """Compare the installed packages of a group with the ranges in pyproject.toml."""
    found, lacking = [], []
    for requirement in requirements:
        installed = _installed(requirement.name)
        if installed is None or not requirement.specifier.contains(installed, prereleases=True):
            lacking.append(f"{requirement.name}{requirement.specifier}")
        found.append(f"{requirement.name} {installed or 'absent'}")
    install = f"without them one cannot {GROUPS[group]}: `pip install {shlex.join(lacking)}`"
    return Check(group, ", ".join(found), install if lacking else "")


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


# The machine


def device_check() -> Check:
    """Check for a GPU, and name the device that jobs would use; only this check imports torch."""
    try:
        torch = import_module("torch")
    except (ImportError, OSError) as error:
        how = "`pip install 'collateral[torch]'`; tables and figures need none: `make figures`"
        return Check("device", f"unknown: torch does not import ({error})", how)
    if torch.cuda.is_available():
        found = [torch.cuda.get_device_properties(i) for i in range(torch.cuda.device_count())]
        gpus = ", ".join(f"{gpu.name} ({bytes_in_words(gpu.total_memory)})" for gpu in found)
        return Check("device", f"cuda {torch.version.cuda}: {gpus}")
    if torch.backends.mps.is_available():
        return Check("device", "mps")
    built = torch.version.cuda
    why = f"torch is built for CUDA {built} and finds no GPU" if built else "torch is without CUDA"
    return Check("device", f"cpu; {why}")


def threads_check() -> Check:
    """Report the number of cores of this process, and the variables that limit its threads."""
    given = [f"{name}={os.environ[name]}" for name in THREAD_VARIABLES if name in os.environ]
    return Check("threads", "; ".join([f"{count_cores()} cores", *given]))


def memory_check() -> Check:
    """Report the total and the available memory, and the memory limit of a container."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    words = [bytes_in_words(total)]
    if MEMINFO.is_file():
        fields = dict(line.split(":") for line in MEMINFO.read_text(encoding="utf-8").splitlines())
        words.append(f"{bytes_in_words(int(fields['MemAvailable'].split()[0]) * 1024)} available")
    limit = MEMORY_LIMIT.read_text(encoding="utf-8").strip() if MEMORY_LIMIT.is_file() else ""
    if limit.isdigit() and int(limit) < total:
        words.append(f"limited to {bytes_in_words(int(limit))}")
    return Check("memory", ", ".join(words))


def disk_check(folder: Path, needed: float | None) -> Check:
    """Compare the free disk space with the disk space that the config needs, if that is known."""
    free = free_bytes(folder)
    found = f"{bytes_in_words(free)} free for {folder}/"
    if needed is None:
        return Check("disk", found)
    found += f"; the config takes at most {bytes_in_words(needed)}"
    remedy = "make room, or keep less: docs/scale.md, `Outputs`" if needed > free else ""
    return Check("disk", found, remedy)


def free_bytes(folder: Path) -> int:
    """Return the free space of the disk that contains, or will contain, a folder."""
    folder = folder.resolve()
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


# The experiment


def read_config(path: Path) -> tuple[Check, Config | None]:
    """Read a config; return the result of the check, and the config if it is valid."""
    if not path.is_file():
        how = "work in a checkout, or name one: `collateral doctor my.yaml`"
        return Check("config", f"there is no file {path}", how), None
    try:
        config = read(path)
        check_plan(build_grid(config))
    except ConfigError as error:
        lines = str(error).splitlines()
        return Check("config", f"{path} is not valid", "; ".join(lines)), None
    return Check("config", f"{path}: {', '.join(config.benchmarks)}"), config


def needed_bytes(config: Config, jobs: int) -> float | None:
    """Return the largest disk space that a run uses; None if the size of the data is unknown."""
    try:
        return estimate(config, SHIPPED["a100"], jobs).peak_bytes
    except SizeUnknownError:
        return None


def data_check(benchmark: Benchmark) -> Check:
    """Check whether the data of a benchmark is prepared, available, or must be downloaded."""
    name, label = str(benchmark.config.data["name"]), f"data of {benchmark.name}"
    if Path(paths.DATA.format(benchmark=benchmark.name)).is_file():
        return Check(label, f"{name}, read already")
    options: Any = data_options(benchmark)
    module, downloads = DATA.load(name), getattr(options, "download", False)
    named = [path for path in options.model_dump().values() if isinstance(path, Path)]
    needed = [options.root / module.FOLDER] if hasattr(module, "FOLDER") else named
    lacking = [str(path) for path in needed if not path.expanduser().exists()]
    if not lacking:
        where = f"in {', '.join(map(str, named))}" if named else "nothing to fetch"
        return Check(label, f"{name}, {where}")
    found = f"{name}: there is no {', '.join(lacking)}"
    found += "; a run downloads it where there is internet" if downloads else ""
    remedy = getattr(module, "HOW", "put it there, or set the option of `data:` to where it is")
    return Check(label, found, remedy, is_needed=not downloads)


# Programs


def slurm_check() -> Check:
    """Check whether jobs can be submitted to SLURM, and whether the cluster answers."""
    sbatch = shutil.which("sbatch")
    if not sbatch:
        return Check("SLURM", "no sbatch", "only for a cluster: work on its login node")
    found = _version(sbatch)
    try:
        settings = slurm.cluster_settings()
    except slurm.ClusterError as error:
        why = str(error).splitlines()[-1]
        how = "is this a login node? `scontrol show config` must answer"
        return Check("SLURM", f"{found}; it does not answer: {why}", how)
    job = f"; inside job {os.environ['SLURM_JOB_ID']}" if "SLURM_JOB_ID" in os.environ else ""
    return Check("SLURM", f"{found}, cluster {settings.get('ClusterName', '?')}{job}")


def partition_checks() -> Iterator[Check]:
    """Check that the cluster has the partitions that the SLURM profile names, if it names any."""
    try:
        names = profile_partitions(PROFILE) if PROFILE.is_file() else []
    except ConfigError as error:
        yield Check("partition", str(error), "mend the profile")
        return
    try:
        there = slurm.partition_names(slurm.partitions()) if names else []
    except slurm.ClusterError:
        return  # `slurm_check` reports that the cluster does not answer
    if names:
        problems = slurm.partition_problems(names, there)
        yield Check("partition", f"{', '.join(names)}, by {PROFILE}", "; ".join(problems))


def profile_partitions(profile: Path) -> list[str]:
    """Return the partitions that a Snakemake profile names for all jobs or for one rule's jobs."""
    content = _mapping(read_file(profile))
    blocks = [content.get("default-resources"), *_mapping(content.get("set-resources")).values()]
    found = [name for block in blocks for name in slurm.list_partitions(_mapping(block))]
    return [*dict.fromkeys(found)]


def _mapping(value: object) -> Mapping[str, object]:
    """Return a mapping unchanged; return an empty mapping for any other value."""
    return value if isinstance(value, Mapping) else {}


def _version(path: str) -> str:
    """Return what a program prints with `--version`, or its path if nothing is printed in 20 s."""
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=20, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return path
    return " ".join(done.stdout.split()) or path


# The output


def _describe_machine() -> dict[str, str]:
    return {
        "collateral": collateral.__version__,
        "package": str(Path(collateral.__file__).parent),
        "python": platform.python_version(),
        "platform": platform.platform(),
    }


def in_words(checks: Sequence[Check]) -> str:
    """Return one line per check, followed by the remedies."""
    heading = "collateral {collateral} in {package}\nPython {python}, {platform}"
    width = max((len(check.name) for check in checks), default=0)
    lines = [f"  {check.name:{width}}  {check.found}" for check in checks]
    parts = [[heading.format(**_describe_machine()), *lines]]
    for status in ("optional", "missing"):
        remedies = [f"  {check.name}: {check.remedy}" for check in checks if check.status == status]
        parts += [[f"{status.capitalize()}:", *remedies]] if remedies else []
    parts += [["Nothing is missing."]] if _is_whole(checks) else []
    return "\n\n".join("\n".join(part) for part in parts)


def in_json(checks: Sequence[Check]) -> str:
    """Return the checks as JSON."""
    keys = ("name", "status", "found", "remedy")
    listed = [{key: getattr(check, key) for key in keys} for check in checks]
    about = {**_describe_machine(), "checks": listed, "is_whole": _is_whole(checks)}
    return dumps(about, indent=2)


def _is_whole(checks: Sequence[Check]) -> bool:
    return all(check.status != "missing" for check in checks)
