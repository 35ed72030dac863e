"""Rule that evaluates weights that another program unlearned.

Input: the user's file, the data and the forget set. Output: the same files as for a method's run,
so that tables and pages show it beside the methods.
"""


rule given:
    """Evaluate the user's unlearned weights; nothing is trained."""
    input:
        **values("given", "weights"),
        data=paths.DATA,
        split=paths.SPLIT,
    output:
        **paths.run_files(paths.RUN),
    log:
        paths.log("given", "benchmark", "cell", "seed", "run"),
    wildcard_constraints:
        benchmark=paths.run_constraint(GRID, "given"),
    priority: files_first("given")
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        gpu=WHOLE_GPU,
        mem_mb=memory,
        runtime=minutes("given"),
    params:
        **values("given", "options", "model", "code"),
        plugins=plugins,
        out=paths.RUN,
        checkpoints=paths.checkpoints(paths.RUN),
    shell:
        """
        collateral given {params.plugins} {params.options} \
            --data {input.data:q} --split {input.split:q} --model {params.model:q} \
            --seed {wildcards.seed} --threads {threads} --code {params.code} \
            --checkpoints {params.checkpoints:q} --out {params.out:q} >{log:q} 2>&1
        """
