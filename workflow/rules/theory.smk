"""Rule of the paper's theory: check identities, rates and limits; draw the synthetic figures.

Input: none. Output: theory.csv (points of the figures), findings.csv, checks.csv and figures.
"""

import os


rule theory:
    """Write the tables and figures of the theory, for a seed and a number of runs."""
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
        width=CONFIG.figures.width,
        code=stage_code("theory"),
    shell:
        """
        collateral theory --seed {params.seed} --runs {params.runs} --width {params.width:q} \
            --out {params.out:q} >{log:q} 2>&1
        """
