"""Results without Snakemake's metadata are compared with the plan by their records.

Where its metadata is missing, Snakemake (9.27) runs nothing again: neither for other values nor for
other code. In a job of a cluster, which reads the Snakefile again, nothing is compared.
"""

from snakemake.persistence import PersistenceBase
from snakemake.settings.types import RerunTrigger

from collateral.plan.unwatched import Unwatched

UNWATCHED = Unwatched(GRID)
HAS_METADATA = PersistenceBase.has_metadata


def has_metadata(persistence, job):
    """Answer as Snakemake does; where the answer is no, a job that is not as planned runs again."""
    is_known = HAS_METADATA(persistence, job)
    if not is_known and RerunTrigger.PARAMS in workflow.rerun_triggers:
        if reason := UNWATCHED.reason(job.output):
            persistence.dag.reason(job).params_changed = reason
    return is_known


if workflow.is_main_process:
    PersistenceBase.has_metadata = has_metadata
