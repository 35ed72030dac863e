"""Rule that trains LTD's teacher on supports of several sizes, to compare these sizes.

Input: the base model, the data and the forget set; never Retrain. Output: predictions of the
teachers of all sizes on the forget set, and the accuracy lost in one step of gradient ascent.
"""


rule support_size:
    """Train LTD's teacher on supports of several sizes; Retrain is not an input."""
    input:
        **values("support_size", "base", "selected"),
        data=paths.DATA,
        split=paths.SPLIT,
    output:
        sizes=paths.SUPPORT_SIZES,
        record=paths.record(paths.SUPPORT_SIZE),
        cost=paths.cost(paths.SUPPORT_SIZE),
    log:
        paths.log("support_size", "benchmark", "cell", "seed"),
    priority: page_by_page
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        gpu=WHOLE_GPU,
        mem_mb=memory,
        runtime=minutes("support_size"),
    params:
        **values("support_size", "options", "model", "code"),
        plugins=plugins,
        out=paths.SUPPORT_SIZE,
        checkpoints=paths.checkpoints(paths.SUPPORT_SIZE),
    shell:
        """
        collateral support_size {params.plugins} {params.options} --selected {input.selected:q} \
            --data {input.data:q} --split {input.split:q} \
            --model {params.model:q} --base {input.base:q} \
            --seed {wildcards.seed} --threads {threads} --code {params.code} \
            --checkpoints {params.checkpoints:q} --out {params.out:q} >{log:q} 2>&1
        """
