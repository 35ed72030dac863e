"""Collateral: when a model unlearns some examples, who else gets hurt?

snakemake                                                    on this machine
snakemake --workflow-profile profiles/slurm                  on a cluster
snakemake --configfile configs/smoke.yaml                    another experiment
snakemake paper --configfile configs/paper.yaml              all of the paper
snakemake --logger collateral                                one line with the time left
make figures                                                 tables, figures, page from the cache
"""

import gc
import sys
from pathlib import Path

from snakemake.utils import min_version

# Read the package beside this file, so that a plan needs no installation of it.
sys.path.insert(0, str(Path(workflow.current_basedir.get_path_or_uri(False)) / "workflow"))

from collateral.plan import paths
from collateral.plan.diff import find_lost
from collateral.plan.run_hooks import hold_lock, keep_warm, last_lines, wait_for_no_timer

min_version("9.0")
# Collect garbage less often, because a DAG consists of live objects and makes little garbage.
# CPU seconds of a dry run with / without this line: 247 jobs 1.7 / 1.7; 9,991 jobs 18.1 / 21.0.
gc.set_threshold(200_000, 20, 100)

if workflow.is_main_process:  # before Snakemake takes its own lock
    try:
        hold_lock()
    except OSError as error:
        raise WorkflowError(
            f"{error.filename}: {error.strerror}: logs, results and Snakemake's own files are "
            "written to the working folder; start in one that you can write to"
        ) from None
    wait_for_no_timer()


report: "workflow/report/workflow.rst"


include: "workflow/rules/config.smk"
include: "workflow/rules/lookup.smk"
include: "workflow/rules/unknown.smk"
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


rule all:
    default_target: True
    input:
        paths.INDEX,
        expand(paths.CHECKED, benchmark=GRID),
        lambda w: find_lost(GRID.values(), rules.theory.output),


rule paper:
    """Make those of the paper's tables and figures (docs/paper-files.csv) that the config has."""
    input:
        rules.all.input,


onstart:
    # The server cannot fork jobs for their own conda environment or for another machine.
    if workflow.local_exec and not workflow.deployment_settings.deployment_method:
        keep_warm()
    check_slurm()


onsuccess:
    for line in last_lines(GRID):
        print(line)
    print(f"All benchmarks: {Path(paths.INDEX).absolute().as_uri()}")
    print(f"Tables and figures are under {paths.RESULTS}/<benchmark>/.")
