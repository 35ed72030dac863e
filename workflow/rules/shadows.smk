"""A pool of models on random shares of the train set, and what unlearning does to each.

In: dataset.npz, and for a method split.json and the tuning's choice; never Retrain. Out: a model
a member, shared by all cells and methods, and of each cell and method the margins of every training
example under every member, before it unlearned its part of the forget set and after. Off unless the
config has `shadows:`. A killed job goes on from its checkpoint.
"""


rule shadow:
    """A model trained on a random share of the train set."""
    input:
        data=paths.DATA,
        weights=lambda w: shadowing(w).start_files,
    output:
        **paths.shadow_files(paths.SHADOW),
    log:
        paths.log("shadow", "benchmark", "member"),
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        gpu=1,
        mem_mb=memory,
        runtime=minutes(shadowing),
    params:
        plugins=plugins,
        pool=lambda w: shadowing(w).pool,
        model=lambda w: shadowing(w).model,
        training=lambda w: shadowing(w).training,
        start=lambda w: shadowing(w).start,
        out=paths.SHADOW,
        checkpoints=paths.checkpoints(paths.SHADOW),
        code=lambda w: shadowing(w).code,
    shell:
        """
        collateral shadow {params.plugins} {params.pool} --data {input.data:q} \
            --model {params.model:q} --params {params.training:q} {params.start} \
            --seed {wildcards.member} --threads {threads} --code {params.code} \
            --checkpoints {params.checkpoints:q} --out {params.out:q} >{log:q} 2>&1
        """


rule expose:
    """A method on every shadow model, one after another; it has no path to Retrain."""
    input:
        data=paths.DATA,
        split=paths.SPLIT,
        shadows=lambda w: exposing(w).shadows,
        selected=lambda w: exposing(w).selected,
    output:
        exposed=paths.EXPOSED,
        record=paths.record(paths.EXPOSURE),
        cost=paths.cost(paths.EXPOSURE),
    log:
        paths.log("expose", "benchmark", "cell", "run"),
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        gpu=1,
        mem_mb=memory,
        runtime=minutes(exposing),
    params:
        plugins=plugins,
        method=lambda w: exposing(w).options,
        model=lambda w: exposing(w).model,
        seed=lambda w: exposing(w).seed,
        out=paths.EXPOSURE,
        checkpoints=paths.checkpoints(paths.EXPOSURE),
        code=lambda w: exposing(w).code,
    shell:
        """
        collateral expose {params.plugins} {params.method} --selected {input.selected:q} \
            --data {input.data:q} --split {input.split:q} \
            --model {params.model:q} --shadows {input.shadows:q} \
            --seed {params.seed} --threads {threads} --code {params.code} \
            --checkpoints {params.checkpoints:q} --out {params.out:q} >{log:q} 2>&1
        """
