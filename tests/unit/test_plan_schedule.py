"""Snakemake's limit on jobs a second: taken away where it limits nothing."""

from types import SimpleNamespace

import pytest
from snakemake.scheduling.job_scheduler import JobRateLimiter
from snakemake.settings.types import MaxJobsPerTimespan

from collateral.plan.run_hooks import lift_limit


def is_limited_by(limit: str) -> bool:
    limiter = JobRateLimiter(MaxJobsPerTimespan.parse_choice(limit))
    scheduler = SimpleNamespace(job_rate_limiter=limiter)
    lift_limit(scheduler)
    assert scheduler.job_rate_limiter in (limiter, None)
    return scheduler.job_rate_limiter is limiter


@pytest.mark.parametrize("limit", ["100/1s", "500/5s", "100000/60s"])
def test_a_limit_that_is_never_met_is_none(limit):
    assert not is_limited_by(limit)


@pytest.mark.parametrize("limit", ["99/1s", "10/1s", "100/1m"])
def test_a_limit_of_the_user_stays(limit):
    assert is_limited_by(limit)


def test_a_scheduler_without_a_limit_is_left_alone():
    for scheduler in (SimpleNamespace(), SimpleNamespace(job_rate_limiter=None)):
        before = dict(vars(scheduler))
        lift_limit(scheduler)
        assert vars(scheduler) == before
