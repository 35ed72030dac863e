"""What needs the models again; only where the config has `probe:`.

In: the data, the forget set, the models of all runs of a cell and seed, Retrain's and the base's.
Out: how fast they relearn, what they say of images with noise, what an untrained net says.
"""


rule probe:
    """All models of a cell and seed; each takes no longer than a process takes to start."""
    input:
        **values("probe", "models"),
        data=paths.DATA,
        split=paths.SPLIT,
    output:
        shows=paths.PROBE_SHOWS,
        record=paths.record(paths.PROBE),
        cost=paths.cost(paths.PROBE),
    log:
        paths.log("probe", "benchmark", "cell", "seed"),
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        gpu=1,
        mem_mb=memory,
        runtime=minutes("probe"),
    params:
        **values("probe", "options", "model", "code"),
        plugins=plugins,
        out=paths.PROBE,
        checkpoints=paths.checkpoints(paths.PROBE),
    shell:
        """
        collateral probe {params.plugins} {params.options} --models {input.models:q} \
            --data {input.data:q} --split {input.split:q} --model {params.model:q} \
            --seed {wildcards.seed} --threads {threads} --code {params.code} \
            --checkpoints {params.checkpoints:q} --out {params.out:q} >{log:q} 2>&1
        """
