"""Rule of the paper's theory: check identities, rates and limits; draw the synthetic figures.

Input: none. Output: theory.csv (points of the figures), findings.csv, checks.csv and figures.
"""

from collateral.jobs.theory import TheoryJob
from collateral.plan.fingerprint import stage_code

THEORY_JOB = TheoryJob(seed=0, runs=100, width=CONFIG.figures.width)


rule theory:
    """Write the tables and figures of the theory, for a seed and a number of runs."""
    output:
        **paths.theory_files(),
    log:
        paths.log("theory"),
    conda:
        "../../envs/figures.yaml"
    params:
        **described_alone(THEORY_JOB, stage_code("theory")),
    shell:
        RUN_JOB
