"""Rules of shadow models: training on random shares of the train set, and unlearning.

Input: dataset.npz, and for a method split.json and the parameters that tuning selected; never
Retrain. Output: shadow models, which all cells and methods share; for each cell and method, the
margins of every train example under every shadow model, before and after unlearning. These jobs
run only if the config has `shadows:`. A killed job resumes from its checkpoint.
"""


rule shadow:
    """Train a shadow model on a random share of the train set."""
    input:
        **values("shadow", "weights"),
        data=paths.DATA,
    output:
        **paths.shadow_files(paths.SHADOW),
    log:
        paths.log("shadow", "benchmark", "member"),
    priority: page_by_page
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        gpu=1,
        mem_mb=memory,
        runtime=minutes("shadow"),
    params:
        **values("shadow", "options", "model", "training", "start", "code"),
        plugins=plugins,
        out=paths.SHADOW,
        checkpoints=paths.checkpoints(paths.SHADOW),
    shell:
        """
        collateral shadow {params.plugins} {params.options} --data {input.data:q} \
            --model {params.model:q} --params {params.training:q} {params.start} \
            --seed {wildcards.member} --threads {threads} --code {params.code} \
            --checkpoints {params.checkpoints:q} --out {params.out:q} >{log:q} 2>&1
        """


rule expose:
    """Run a method on every shadow model in turn; Retrain is not an input."""
    input:
        **values("expose", "shadows", "selected"),
        data=paths.DATA,
        split=paths.SPLIT,
    output:
        exposed=paths.EXPOSED,
        record=paths.record(paths.EXPOSURE),
        cost=paths.cost(paths.EXPOSURE),
    log:
        paths.log("expose", "benchmark", "cell", "run"),
    priority: page_by_page
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        gpu=1,
        mem_mb=memory,
        runtime=minutes("expose"),
    params:
        **values("expose", "options", "model", "seed", "code"),
        plugins=plugins,
        out=paths.EXPOSURE,
        checkpoints=paths.checkpoints(paths.EXPOSURE),
    shell:
        """
        collateral expose {params.plugins} {params.options} --selected {input.selected:q} \
            --data {input.data:q} --split {input.split:q} \
            --model {params.model:q} --shadows {input.shadows:q} \
            --seed {params.seed} --threads {threads} --code {params.code} \
            --checkpoints {params.checkpoints:q} --out {params.out:q} >{log:q} 2>&1
        """
