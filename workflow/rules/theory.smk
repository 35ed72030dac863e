"""The propositions, run: identities, rates and limits checked, and the synthetic figures.

In: nothing. Out: theory.csv (what is drawn), findings.csv (what is claimed), checks.csv, figures.
"""

import os


rule theory:
    """Seed and number of runs in, tables and figures of the theory out."""
    output:
        **paths.theory_files(),
    log:
        paths.log("theory"),
    conda:
        "../../envs/figures.yaml"
    params:
        out=lambda w, output: os.path.dirname(output.points),
        seed=0,
        runs=100,
        code=stage_code("theory"),
    shell:
        """
        collateral theory --seed {params.seed} --runs {params.runs} --out {params.out:q} >{log:q} 2>&1
        """
