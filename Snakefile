"""Collateral: when a model unlearns some examples, who else gets hurt?

snakemake                                                    on this machine
snakemake --workflow-profile profiles/slurm                  on a cluster
snakemake --configfile configs/smoke.yaml                    another experiment
snakemake paper --configfile configs/paper.yaml              all of the paper
make figures                                                 tables, figures, page from the cache
"""

from pathlib import Path

from snakemake.utils import min_version

from collateral.plan import paths
from collateral.plan.diff import find_lost
from collateral.plan.run_hooks import hold_lock, last_lines

min_version("9.0")

if workflow.is_main_process:  # before Snakemake takes its own lock
    try:
        hold_lock()
    except OSError as error:
        raise WorkflowError(
            f"{error.filename}: {error.strerror}: logs, results and Snakemake's own files are "
            "written to the working folder; start in one that you can write to"
        ) from None


report: "workflow/report/workflow.rst"


include: "workflow/rules/config.smk"
include: "workflow/rules/lookup.smk"
include: "workflow/rules/resources.smk"
include: "workflow/rules/slurm.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/unlearn.smk"
include: "workflow/rules/given.smk"
include: "workflow/rules/support_size.smk"
include: "workflow/rules/probe.smk"
include: "workflow/rules/shadows.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/theory.smk"
include: "workflow/rules/present.smk"
include: "workflow/rules/unwatched.smk"
include: "workflow/rules/speed.smk"


rule all:
    default_target: True
    input:
        paths.INDEX,
        expand(paths.CHECKED, benchmark=GRID),
        lambda w: find_lost(GRID.values(), rules.theory.output),


rule paper:
    """Make those tables and figures of the paper (docs/paper.md) that the config includes."""
    input:
        rules.all.input,


onstart:
    speed_up()
    check_slurm()
    for line in UNWATCHED.lines():
        logger.warning(line)


onsuccess:
    for line in last_lines(GRID):
        print(line)
    print(f"All benchmarks: {Path(paths.INDEX).absolute().as_uri()}")
    print(f"Tables and figures are under {paths.RESULTS}/<benchmark>/.")
