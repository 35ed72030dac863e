"""Where jobs run, which come first, and what those that train ask a scheduler for."""

from collateral.plan import resources
from collateral.plan.conda import name_package
from collateral.plan.install_paths import home

name_package(home())


# Jobs of seconds to minutes that need no GPU, and the download, which may need the internet.
localrules:
    all,
    paper,
    data,
    split,
    neighbours,
    pictures,
    metrics,
    theory,
    plan,
    gather,
    tables,
    figures,
    report,
    index,
    check,


# The theory's is 0: no page waits for it, but the index. Below that, Snakemake's ILP starts nothing.
PRIORITIES = {name: len(GRID) - place for place, name in enumerate(GRID)}


def page_by_page(wildcards):
    """Return a larger number for an earlier benchmark: its page is there before the next begins."""
    return PRIORITIES[wildcards.benchmark]


def files_first(kind):
    """Return a priority: the user's own weights are looked at before anything is trained."""

    def priority(wildcards):
        is_own = job(kind, wildcards).own is not None
        return page_by_page(wildcards) + len(GRID) * is_own

    return priority


def memory(wildcards, attempt):
    """Return the main memory of a training job, in MB."""
    return resources.memory_mb(GRID[wildcards.benchmark], attempt)


def minutes(kind):
    """Return a resource function: the time limit of a job of this kind."""

    def limit(wildcards, attempt):
        return resources.minutes(job(kind, wildcards), attempt)

    return limit
