"""Rules that train models from scratch or from the user's initial weights.

Input: dataset.npz, the weights, and split.json for Retrain. Output: the base model of a seed with
its embeddings, and Retrain. A killed job resumes from its checkpoint.
"""


rule base:
    """Train the base model on all train examples, or read the user's weights."""
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
    """Train Retrain, the reference, without the forget set, or read the user's weights."""
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
