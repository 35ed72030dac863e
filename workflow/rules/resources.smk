"""Where jobs run, and what those that train ask a scheduler for."""

from collateral.plan import limits
from collateral.plan.conda import name_package
from collateral.plan.home import home

name_package(home())


# Jobs of seconds to minutes that need no GPU, and the download, which may need the internet.
localrules:
    all,
    paper,
    data,
    split,
    neighbours,
    metrics,
    theory,
    plan,
    gather,
    tables,
    figures,
    report,
    index,
    check,


def memory(wildcards, attempt):
    """Return the main memory of a training job, in MB."""
    return limits.memory_mb(benchmark_of(wildcards), attempt)


def minutes(job_of):
    """Return a resource function: the time limit of a job."""

    def limit(wildcards, attempt):
        return limits.minutes(job_of(wildcards), attempt)

    return limit
