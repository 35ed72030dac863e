"""Disturb real runs in many ways and check that the results are the same: `make torture`.

    python tools/torture.py [--config configs/smoke.yaml] [--only kills disk ...]

It takes too long for the tests. Each trial disturbs a run in a copy of the repository and compares
the results with those of an undisturbed run: numbers, weights and tables must be the same, bit for
bit. A trial that this machine does not allow is reported as not tried.
"""

import hashlib
import locale
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = Path(sys.executable).parent
# Result files that differ between equal runs: files with times, and files with hashes of them.
TIMED = {"cost.json", "costs.csv", "costs.json", "report.html", "glance.json"}
# First letters of the names of tables and figures with times.
TIMED_STARTS = ("costs.", "main.", "sweep-", "trajectory.", "verdict.")
HASHED = ("tables", "figures")  # folders whose record has the hashes of all their files
COPIED = ("Snakefile", "config.yaml", "configs", "envs", "profiles", "workflow")


class NotHere(Exception):
    """This machine does not allow a trial."""


class Project:
    """A copy of the repository."""

    def __init__(self, folder: Path, config: str) -> None:
        """Copy the repository to `folder`."""
        self.folder, self.config = folder, config
        for name in COPIED:
            source, target = ROOT / name, folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(source, target)

    def environment(self, **more: str) -> dict[str, str]:
        """Return environment variables with which Python imports the package of this copy."""
        path = os.pathsep.join([str(PROGRAMS), os.environ["PATH"]])
        return os.environ | {"PATH": path, "PYTHONPATH": str(self.folder / "workflow")} | more

    def start(self, *options: str, **more: str) -> subprocess.Popen[str]:
        """Start snakemake, in a group of its own."""
        words = [str(PROGRAMS / "snakemake"), "--cores", "2", "--configfile", self.config, *options]
        return subprocess.Popen(
            words,
            cwd=self.folder,
            env=self.environment(**more),
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *options: str, **more: str) -> tuple[int, str]:
        """Run snakemake to its end; return its exit code and its output."""
        process = self.start(*options, **more)
        said, _ = process.communicate()
        return process.returncode, said

    def unlock(self) -> None:
        """Remove a stale lock, as `make run` does first."""
        words = [str(PROGRAMS / "collateral"), "unlock"]
        subprocess.run(words, cwd=self.folder, env=self.environment(), check=True)

    def finish(self) -> None:
        """Run snakemake to its end; raise if it fails."""
        code, said = self.run()
        assert code == 0, said[-2000:]

    def contents(self) -> dict[str, str]:
        """Return the hashes of all result files that must be the same in every run, by path."""
        folder = self.folder / "results"
        return {
            str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and _is_always_alike(path.relative_to(folder))
        }


def has_times(path: Path) -> bool:
    """Tell whether a result file contains times or hashes of such files, by its path."""
    is_record = path.name == "record.json" and path.parent.name in HASHED
    return is_record or path.name in TIMED or path.name.startswith(TIMED_STARTS)


def _is_always_alike(path: Path) -> bool:
    is_hidden = any(part.startswith(".") for part in path.parts)
    return not (is_hidden or has_times(path))


def kill(process: subprocess.Popen[str]) -> None:
    """Kill snakemake and all processes that it has started."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout:
        process.stdout.close()


# The trials. Each gets a new copy of the repository and the seconds of an undisturbed run.


def kills(project: Project, seconds: float, times: int = 10) -> str:
    """Kill all processes at random moments; the same command must then continue the run."""
    rng, killed = random.Random(0), 0
    while killed < times:
        process = project.start()
        try:
            process.communicate(timeout=rng.uniform(1, max(2, seconds / 2)))
            break
        except subprocess.TimeoutExpired:
            kill(process)
            killed += 1
            project.unlock()
    project.finish()
    return f"killed {killed} times"


def disk_full(project: Project, seconds: float) -> str:
    """Write results to a disk that becomes full; enlarge it a little each time, and continue."""
    results, size, failures = project.folder / "results", 1, 0
    results.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}m", "tmpfs", str(results)]
    if subprocess.run(mount, capture_output=True).returncode:
        raise NotHere("mounting needs root")
    try:
        while True:
            code, said = project.run()
            if code == 0:
                break
            assert "Traceback" not in _last_lines(project), _last_lines(project)
            failures += 1
            size += max(1, size // 2)
            assert size < 4096, said[-2000:]
            grow = ["mount", "-o", f"remount,size={size}m", str(results)]
            subprocess.run(grow, check=True)
        kept = project.contents()
        shutil.copytree(results, project.folder / "kept")
    finally:
        subprocess.run(["umount", str(results)], check=True)
    results.rmdir()
    (project.folder / "kept").rename(results)
    assert kept == project.contents()
    return f"full {failures} times, enough at {size} MB"


def _last_lines(project: Project) -> str:
    logs = project.folder.glob("logs/**/*.log")
    return "\n".join(text.read_text()[-300:] for text in logs if "No space" in text.read_text())


def read_only(project: Project, seconds: float) -> str:
    """Make results read-only: the run must fail with a clear error, and succeed afterwards."""
    results = project.folder / "results"
    results.mkdir(exist_ok=True)
    if os.geteuid() == 0:
        raise NotHere("root may write everywhere")
    results.chmod(0o555)
    code, said = project.run()
    results.chmod(0o755)
    assert code and "Permission denied" in said
    project.finish()
    return "refused, then done"


def two_at_once(project: Project, seconds: float) -> str:
    """Start a second snakemake in the same folder: it must be refused without any effect."""
    first = project.start()
    time.sleep(min(8, seconds / 3))
    code, said = project.run()
    assert code and "lock" in said.lower(), said[-500:]
    project.unlock()  # which must not take a lock from one that lives
    code, said = project.run()
    assert code and "lock" in said.lower(), said[-500:]
    first.communicate()
    assert first.returncode == 0
    return "the second was refused twice"


def clock_set_back(project: Project, seconds: float) -> str:
    """Run the first half with a clock that is one day ahead: its files are from tomorrow."""
    library = next(Path("/usr/lib").glob("**/libfaketime.so.1"), None)
    if library is None:
        raise NotHere("libfaketime is not installed")
    ahead = project.start(LD_PRELOAD=str(library), FAKETIME="+1d", FAKETIME_DONT_FAKE_MONOTONIC="1")
    time.sleep(seconds / 2)
    os.killpg(ahead.pid, signal.SIGTERM)
    ahead.communicate()
    project.unlock()
    project.finish()
    return "went on with files from tomorrow"


def no_home(project: Project, seconds: float) -> str:
    """Run with a HOME that does not exist and a cache folder that cannot be created."""
    code, said = project.run(HOME="/nonexistent", XDG_CACHE_HOME="/nonexistent/cache")
    assert code == 0, said[-2000:]
    return "done"


def locale_c(project: Project, seconds: float) -> str:
    """Run in the locale C."""
    code, said = project.run(LC_ALL="C", LANG="C")
    assert code == 0, said[-2000:]
    return f"done; ours is {locale.getlocale()[0]}"


def strange_path(project: Project, seconds: float) -> str:
    """Run in a folder whose path has spaces, quotes and letters of other alphabets."""
    strange = project.folder.with_name("a b'c \u00e4\u4e2d")
    project.folder.rename(strange)
    project.folder = strange
    project.finish()
    return "done"


def second_user(project: Project, seconds: float) -> str:
    """Verify the results as another user, who has no permission to write."""
    if os.geteuid():
        raise NotHere("changing the user needs root")
    project.finish()
    for path in [project.folder, *project.folder.parents[:-1]]:
        path.chmod(path.stat().st_mode | 0o055)
    call = "from collateral.cli import main; main()"
    words = [sys.executable, "-c", call, "verify", str(project.folder / "results")]
    done = subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *words],
        env=project.environment(PYTHONDONTWRITEBYTECODE="1"),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "all sound" in done.stdout, done.stdout + done.stderr
    return done.stdout.splitlines()[-1]


TRIALS: dict[str, Callable[..., str]] = {
    "kills": kills,
    "disk": disk_full,
    "read-only": read_only,
    "two": two_at_once,
    "clock": clock_set_back,
    "home": no_home,
    "locale": locale_c,
    "path": strange_path,
    "user": second_user,
}


def tried(name: str, expected: dict[str, str], seconds: float, config: str) -> str:
    """Run one trial; return its outcome in one line."""
    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder) / "project", config)
        try:
            said = TRIALS[name](project, seconds)
        except NotHere as reason:
            return f"not tried: {reason}"
        except AssertionError as error:
            return f"FAILED: {' '.join(str(error).split())[-300:]}"
        found = project.contents()
        shutil.rmtree(project.folder, ignore_errors=True)
    differing = [file for file in expected if found.get(file) != expected[file]]
    return f"FAILED: differs: {differing[:5]}" if differing else f"ok, the same bits: {said}"


def main() -> None:
    """Run the trials and print one line for each."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", default="configs/smoke.yaml")
    parser.add_argument("--only", nargs="+", choices=TRIALS, default=TRIALS)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        plain = Project(Path(folder) / "project", args.config)
        start = time.monotonic()
        plain.finish()
        seconds, expected = time.monotonic() - start, plain.contents()
    print(f"undisturbed: {seconds:.0f} s, {len(expected)} files", flush=True)
    outcomes = {}
    for name in args.only:
        outcomes[name] = tried(name, expected, seconds, args.config)
        print(f"{name}: {outcomes[name]}", flush=True)
    sys.exit(any(outcome.startswith("FAILED") for outcome in outcomes.values()))


if __name__ == "__main__":
    main()
