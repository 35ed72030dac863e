"""Training from scratch, or from weights of the user's own.

In: dataset.npz, the weights, and for Retrain split.json. Out: the base model of a seed with its
embeddings, and the reference, retrained without the forget set. A killed job goes on from its
checkpoint.
"""


rule base:
    """A model trained on everything, or the user's own."""
    input:
        **values("base", "weights"),
        data=paths.DATA,
    output:
        **paths.run_files(paths.BASE),
        embeddings=paths.EMBEDDINGS,
    log:
        paths.log("base", "benchmark", "seed"),
    priority: files_first("base")
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        gpu=1,
        mem_mb=memory,
        runtime=minutes("base"),
    params:
        **values("base", "model", "training", "start", "code"),
        plugins=plugins,
        out=paths.BASE,
        checkpoints=paths.checkpoints(paths.BASE),
    shell:
        """
        collateral train {params.plugins} --data {input.data:q} \
            --model {params.model:q} --params {params.training:q} {params.start} \
            --seed {wildcards.seed} --threads {threads} --code {params.code} \
            --checkpoints {params.checkpoints:q} --out {params.out:q} >{log:q} 2>&1
        """


rule retrain:
    """The reference: a model trained without the forget set, or the user's own."""
    input:
        **values("retrain", "weights"),
        data=paths.DATA,
        split=paths.SPLIT,
    output:
        **paths.run_files(paths.RETRAIN),
    log:
        paths.log("retrain", "benchmark", "cell", "seed"),
    priority: files_first("retrain")
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        gpu=1,
        mem_mb=memory,
        runtime=minutes("retrain"),
    params:
        **values("retrain", "model", "training", "start", "code"),
        plugins=plugins,
        out=paths.RETRAIN,
        checkpoints=paths.checkpoints(paths.RETRAIN),
    shell:
        """
        collateral train {params.plugins} --data {input.data:q} --split {input.split:q} \
            --model {params.model:q} --params {params.training:q} {params.start} \
            --seed {wildcards.seed} --threads {threads} --code {params.code} \
            --checkpoints {params.checkpoints:q} --out {params.out:q} >{log:q} 2>&1
        """
