"""The propositions, run: identities, rates and limits checked, and the synthetic figures.

In: nothing. Out: theory.csv (what is drawn), findings.csv (what is claimed), checks.csv, figures.
"""

THEORY = f"{paths.RESULTS}/theory"


rule theory:
    """Seed and number of runs in, tables and figures of the theory out."""
    output:
        points=f"{THEORY}/theory.csv",
        findings=f"{THEORY}/findings.csv",
        checks=f"{THEORY}/checks.csv",
        captions=f"{THEORY}/figures/captions.json",
        figures=expand(
            f"{THEORY}/figures/{{name}}.{{kind}}",
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
        code=lambda w: code_of("theory"),
    shell:
        """
        collateral theory --seed {params.seed} --runs {params.runs} --out {params.out:q} >{log:q} 2>&1
        """
