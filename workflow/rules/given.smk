"""Weights that somebody else unlearned.

In: the user's file, the data and the forget set. Out: the same files as of an unlearned model, so
that every number, table and page has it beside the methods.
"""


rule given:
    """A look at what somebody else made; nothing is trained."""
    input:
        data=paths.DATA,
        split=paths.SPLIT,
        weights=lambda w: given_job(w).files_of(int(w.seed)),
    output:
        **paths.run_files(paths.RUN),
    log:
        paths.log("given", "benchmark", "cell", "seed", "run"),
    wildcard_constraints:
        benchmark=paths.of_runs(GRID, "given"),
    priority: files_first(given_job)
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        gpu=1,
        mem_mb=memory,
        runtime=minutes(given_job),
    params:
        plugins=plugins,
        run=lambda w: given_job(w).options_of(int(w.seed)),
        model=lambda w: given_job(w).model,
        out=paths.RUN,
        checkpoints=paths.checkpoints(paths.RUN),
        code=lambda w: given_job(w).code,
    shell:
        """
        collateral given {params.plugins} {params.run} \
            --data {input.data:q} --split {input.split:q} --model {params.model:q} \
            --seed {wildcards.seed} --threads {threads} --code {params.code} \
            --checkpoints {params.checkpoints:q} --out {params.out:q} >{log:q} 2>&1
        """
