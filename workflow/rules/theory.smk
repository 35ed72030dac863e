"""The propositions, run: identities, rates and limits checked, and the synthetic figures.

In: nothing. Out: theory.csv (what is drawn), findings.csv (what is claimed), checks.csv, figures.
"""

import os


rule theory:
    """Seed and number of runs in, tables and figures of the theory out."""
    output:
        points=f"{paths.THEORY}/theory.csv",
        findings=f"{paths.THEORY}/findings.csv",
        checks=f"{paths.THEORY}/checks.csv",
        record=paths.record(paths.THEORY),
        captions=f"{paths.THEORY}/figures/captions.json",
        figures=expand(
            f"{paths.THEORY}/figures/{{name}}.{{kind}}",
            name=["synthetic", "retain-residual", "support"],
            kind=["pdf", "png"],
        ),
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
