"""Snakemake's limit on jobs a second, which costs a long run more than its jobs do.

Snakemake 9.27 has one (100 a second) even where none is asked for, and no value that means none.
While jobs wait, each look over the schedule is followed by another one timespan later, and each job
that ends adds a look of its own: after 1,000 jobs a thousand a second. A longer timespan makes them
fewer, but holds the exit for as long. docs/upstream.md has the measurements and the way to mend it.
"""

from typing import Any

# What snakemake starts in a second at best: such a limit limits nothing.
MOST_JOBS_A_SECOND = 100


def lift_limit(scheduler: Any) -> None:
    """Take away a limit that limits nothing, such as the default; keep a stricter one."""
    limit = getattr(scheduler, "job_rate_limiter", None)
    if limit and limit.max_jobs >= MOST_JOBS_A_SECOND * limit.timespan:
        scheduler.job_rate_limiter = None
