"""Collateral: when a model unlearns some examples, who else gets hurt?

snakemake                                                    on this machine
snakemake --workflow-profile profiles/slurm                  on a cluster
snakemake --configfile configs/smoke.yaml                    another experiment
snakemake paper --configfile configs/paper.yaml              all of the paper
make figures                                                 tables, figures, page from the cache
"""

from snakemake.utils import min_version

from collateral.config.errors import ConfigError
from collateral.config.load import check_files, load
from collateral.plan import lock, paths
from collateral.plan.cached import lost
from collateral.plan.grid import build_grid
from collateral.plan.schedule import lift_limit
from collateral.plan.soundness import check_plan
from collateral.plan.warm import keep_warm

min_version("9.0")
WRONG = "The config is not valid:\n"
NEEDS_DEFAULT = "benchmarks" not in config
try:
    check_files([*workflow.configfiles, *["config.yaml"] * NEEDS_DEFAULT])
except ConfigError as error:
    raise WorkflowError(f"{WRONG}{error}") from None
if NEEDS_DEFAULT:

    configfile: "config.yaml"


report: "workflow/report/workflow.rst"


try:
    CONFIG = load(config)
    GRID = build_grid(CONFIG)
    # Where jobs have an environment of their own, its packages are not these.
    check_plan(GRID, runs_here=not workflow.deployment_settings.deployment_method)
except ConfigError as error:
    raise WorkflowError(f"{WRONG}{error}") from None


include: "workflow/rules/lookup.smk"
include: "workflow/rules/resources.smk"
include: "workflow/rules/slurm.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/unlearn.smk"
include: "workflow/rules/support_size.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/theory.smk"
include: "workflow/rules/present.smk"
include: "workflow/rules/speed.smk"


rule all:
    default_target: True
    input:
        paths.INDEX,
        expand(paths.CHECKED, benchmark=GRID),
        lambda w: lost(GRID.values()),


rule paper:
    """The paper's tables and figures, which docs/paper.md lists, where the config has them."""
    input:
        rules.all.input,


onstart:
    lock.sign(getattr(workflow.persistence, "_lockfile", {}).values())
    lift_limit(workflow.scheduler)
    # Not where jobs have an environment, or a machine, of their own.
    if workflow.local_exec and not workflow.deployment_settings.deployment_method:
        keep_warm()
    if hasattr(workflow.executor_settings, "status_command"):
        check_slurm(workflow.executor_settings)


onsuccess:
    lock.withdraw()
    print(f"Look at {paths.INDEX}; tables and figures are under {paths.RESULTS}/<benchmark>/.")


onerror:
    lock.withdraw()
