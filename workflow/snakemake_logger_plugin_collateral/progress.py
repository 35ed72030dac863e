"""How far a run is, what runs, and how long it will still take: pure bookkeeping, no output."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True)
class Job:
    """A job that has started."""

    rule: str
    wildcards: Mapping[str, str]
    started: float

    def __str__(self) -> str:
        """Write `rule (value, seed 1)`."""
        values = [f"seed {v}" if k == "seed" else str(v) for k, v in self.wildcards.items()]
        return f"{self.rule} ({', '.join(values)})" if values else self.rule


class Progress:
    """The jobs of one run, fed with what happens to them."""

    def __init__(self, planned: Mapping[str, int], clock: Callable[[], float] = time.monotonic):
        """Expect `planned[rule]` jobs of each rule, from now on."""
        self.total = sum(planned.values())
        self.done = 0
        self.running: dict[int, Job] = {}
        self._clock = clock
        self._begun = clock()
        self._planned = Counter(planned)
        self._finished: Counter[str] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)  # of the finished jobs
        self._busy = 0.0  # seconds that jobs took in all, failed ones included
        self._told = (0, self._begun)  # jobs done at the last news, and its time

    @property
    def elapsed(self) -> float:
        """Seconds since the run began."""
        return self._clock() - self._begun

    def start(self, jobid: int, rule: str, wildcards: Mapping[str, str]) -> None:
        """Note that a job runs."""
        self.running[jobid] = Job(rule, wildcards, self._clock())

    def finish(self, jobid: int) -> None:
        """Note that a job ended well."""
        self.done += 1
        if job := self.fail(jobid):
            self._finished[job.rule] += 1
            self._seconds[job.rule] += self._clock() - job.started

    def fail(self, jobid: int) -> Job | None:
        """Note that a job no longer runs, and return it."""
        job = self.running.pop(jobid, None)
        if job:
            self._busy += self._clock() - job.started
        return job

    def seconds_left(self) -> float | None:
        """Estimate the time left; None until rules that make up half of the jobs have finished one.

        The work left is the mean seconds of a rule (of all rules, for one not seen yet) times its
        jobs left, less what running jobs have behind them; as many share it as ran so far.
        """
        known = sum(self._planned[rule] for rule in self._finished)
        ages = [(job.rule, self._clock() - job.started) for job in self.running.values()]
        busy = self._busy + sum(age for _, age in ages)
        if 2 * known < self.total or not busy:
            return None
        work = sum(
            self._mean(rule) * (count - self._finished[rule])
            for rule, count in self._planned.items()
        )
        work -= sum(min(age, self._mean(rule)) for rule, age in ages)
        concurrency = busy / self.elapsed
        return work / concurrency

    def _mean(self, rule: str) -> float:
        if rule in self._finished:
            return self._seconds[rule] / self._finished[rule]
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
        """Say whether another tenth of the jobs is done, or any job and the last news 10 s old."""
        done, when = self._told
        is_next_tenth = 10 * self.done // self.total > 10 * done // self.total
        return is_next_tenth or (self.done > done and self._clock() - when >= 10)

    def note_told(self) -> None:
        """Note that all news have been told."""
        self._told = (self.done, self._clock())


def duration(seconds: float) -> str:
    """Write seconds as `12 s`, `8 min 12 s` or `2 h 5 min`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [(hours, "h"), (minutes, "min"), (0 if hours else rest, "s")]
    return " ".join(f"{value} {unit}" for value, unit in parts if value) or "0 s"


def coarse(seconds: float) -> str:
    """Write an estimate, rounded up to 10 s below a minute and to minutes above."""
    step = 10 if seconds <= 60 else 60
    return duration(step * max(ceil(seconds / step), 1))
