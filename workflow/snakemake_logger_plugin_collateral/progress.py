"""Progress of a run: finished jobs, running jobs and estimated time left, without printing."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil

from collateral.plan.estimate import PRESENTING_SECONDS, presenting_seconds

PAGE = "report"  # rule that makes a page; the job of the last page runs alone, on one core
SPLIT = ("tables", "figures")  # rules whose jobs use all cores if there are many cells


@dataclass(frozen=True)
class Job:
    """A job that has started."""

    rule: str
    wildcards: Mapping[str, str]
    started: float

    def __str__(self) -> str:
        """Format the job as its rule and its wildcards: `rule (value, seed 1)`."""
        values = [f"seed {v}" if k == "seed" else str(v) for k, v in self.wildcards.items()]
        return f"{self.rule} ({', '.join(values)})" if values else self.rule


class Progress:
    """Counts and durations of a run's jobs; the logger updates them when a job starts or ends."""

    def __init__(self, planned: Mapping[str, int], clock: Callable[[], float] = time.monotonic):
        """Start a run with `planned[rule]` jobs of each rule."""
        self.total = sum(planned.values())
        self.done = 0
        self.running: dict[int, Job] = {}
        self._clock = clock
        self._begun = clock()
        self._planned = Counter(planned)
        self._finished: Counter[str] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)  # of finished jobs, by rule
        self._busy = 0.0  # total seconds of all jobs that have ended, including failed jobs
        # Number of finished jobs, and the time, when the last status line was printed.
        self._last_status = (0, self._begun)

    @property
    def elapsed(self) -> float:
        """Seconds since the run began."""
        return self._clock() - self._begun

    def start(self, jobid: int, rule: str, wildcards: Mapping[str, str]) -> None:
        """Record the start of a job."""
        self.running[jobid] = Job(rule, wildcards, self._clock())

    def finish(self, jobid: int) -> None:
        """Record that a job succeeded."""
        self.done += 1
        if job := self.fail(jobid):
            self._finished[job.rule] += 1
            self._seconds[job.rule] += self._clock() - job.started

    def fail(self, jobid: int) -> Job | None:
        """Remove a job that has failed or finished from the running jobs, and return it."""
        job = self.running.pop(jobid, None)
        if job:
            self._busy += self._clock() - job.started
        return job

    def seconds_left(self) -> float | None:
        """Estimate the seconds left. Return None until the rules of at least half of all jobs have
        finished at least one job each.

        The work left is the mean duration of each rule times its jobs left, minus the elapsed time
        of running jobs. It is divided by the mean number of jobs that ran at the same time, except
        for the last page. If no job of a rule has finished, its duration is the mean of all jobs,
        or estimated from the number of cells if the rule makes tables, figures or pages.
        """
        known = sum(self._planned[rule] for rule in self._finished)
        ages = [(job.rule, self._clock() - job.started) for job in self.running.values()]
        busy = self._busy + sum(age for _, age in ages)
        if 2 * known < self.total or not busy:
            return None
        left = {rule: count - self._finished[rule] for rule, count in self._planned.items()}
        work = sum(self._mean(rule) * count for rule, count in left.items())
        concurrency = busy / self.elapsed
        for rule, age in ages:
            cores = concurrency if rule in SPLIT and len(ages) == 1 else 1
            work -= min(age * cores, self._mean(rule))
        is_page_left = self._planned[PAGE] > self._finished[PAGE]
        page = min(work, self._mean(PAGE)) if is_page_left else 0.0
        return (work - page) / concurrency + page

    def _mean(self, rule: str) -> float:
        if rule in self._finished:
            return self._seconds[rule] / self._finished[rule]
        if rule in PRESENTING_SECONDS and self._planned["metrics"]:
            return presenting_seconds(rule, self._planned["metrics"] / self._planned[rule])
        return sum(self._seconds.values()) / self._finished.total()

    def status(self, width: int) -> str:
        """Describe the run in one line of at most `width` characters."""
        count = f"[{self.done:{len(str(self.total))}}/{self.total}]"
        head = f"{count} {100 * self.done // self.total:3} %"
        jobs = f"  {len(self.running)} running: {', '.join(map(str, self.running.values()))}"
        left = self.seconds_left()
        tail = "" if left is None else f"   about {coarse(left)} left"
        room = width - len(head) - len(tail)
        if len(jobs) > room:
            jobs = jobs[: max(room - 3, 0)] + "..."
        return (head + jobs + tail)[:width]

    def has_news(self) -> bool:
        """Tell whether to print a status line: if another tenth of the jobs has finished, or if any
        job has finished and 10 s have passed since the last line.
        """
        done, when = self._last_status
        is_next_tenth = 10 * self.done // self.total > 10 * done // self.total
        return is_next_tenth or (self.done > done and self._clock() - when >= 10)

    def note_status(self) -> None:
        """Record that a status line was printed."""
        self._last_status = (self.done, self._clock())


def duration(seconds: float) -> str:
    """Format seconds as `12 s`, `8 min 12 s` or `2 h 5 min`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [(hours, "h"), (minutes, "min"), (0 if hours else rest, "s")]
    return " ".join(f"{value} {unit}" for value, unit in parts if value) or "0 s"


def coarse(seconds: float) -> str:
    """Format an estimated time, rounded up to tens of seconds below a minute, else to minutes."""
    step = 10 if seconds <= 60 else 60
    return duration(step * max(ceil(seconds / step), 1))
