"""If results have no Snakemake metadata, compare their records with the plan.

Without metadata, Snakemake 9.27 never reruns a job, neither for changed parameters nor for changed
code. Jobs on a cluster, which read the Snakefile again, compare nothing.
"""

from snakemake.persistence import PersistenceBase
from snakemake.settings.types import RerunTrigger

from collateral.plan.diff import Unwatched

UNWATCHED = Unwatched(GRID)
HAS_METADATA = PersistenceBase.has_metadata


def has_metadata(persistence, job):
    """Tell whether a job has metadata; if not, rerun it if its record differs from the plan."""
    is_known = HAS_METADATA(persistence, job)
    if not is_known and RerunTrigger.PARAMS in workflow.rerun_triggers:
        if reason := UNWATCHED.reason(job.output):
            persistence.dag.reason(job).params_changed = reason
    return is_known


if workflow.is_main_process:
    PersistenceBase.has_metadata = has_metadata
