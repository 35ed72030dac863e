"""Training from scratch, or from weights of the user's own.

In: dataset.npz, the weights, and for Retrain split.json. Out: the base model of a seed with its
embeddings, and the reference, retrained without the forget set. A killed job goes on from its
checkpoint.
"""


rule base:
    """A model trained on everything, or the user's own."""
    input:
        data=paths.DATA,
        weights=lambda w: base_job(w).files_of(int(w.seed)),
    output:
        **paths.run_files(paths.BASE),
        embeddings=paths.EMBEDDINGS,
    log:
        paths.log("base", "benchmark", "seed"),
    priority: files_first(base_job)
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        gpu=1,
        mem_mb=memory,
        runtime=minutes(base_job),
    params:
        plugins=plugins,
        model=lambda w: base_job(w).model,
        training=lambda w: base_job(w).training,
        start=lambda w: base_job(w).start_of(int(w.seed)),
        out=paths.BASE,
        checkpoints=paths.checkpoints(paths.BASE),
        code=lambda w: base_job(w).training_code,
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
        data=paths.DATA,
        split=paths.SPLIT,
        weights=lambda w: retrain_job(w).files_of(int(w.seed)),
    output:
        **paths.run_files(paths.RETRAIN),
    log:
        paths.log("retrain", "benchmark", "cell", "seed"),
    priority: files_first(retrain_job)
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        gpu=1,
        mem_mb=memory,
        runtime=minutes(retrain_job),
    params:
        plugins=plugins,
        model=lambda w: retrain_job(w).model,
        training=lambda w: retrain_job(w).training,
        start=lambda w: retrain_job(w).start_of(int(w.seed)),
        out=paths.RETRAIN,
        checkpoints=paths.checkpoints(paths.RETRAIN),
        code=lambda w: retrain_job(w).training_code,
    shell:
        """
        collateral train {params.plugins} --data {input.data:q} --split {input.split:q} \
            --model {params.model:q} --params {params.training:q} {params.start} \
            --seed {wildcards.seed} --threads {threads} --code {params.code} \
            --checkpoints {params.checkpoints:q} --out {params.out:q} >{log:q} 2>&1
        """
