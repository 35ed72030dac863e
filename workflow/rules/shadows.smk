"""Rules of shadow models: training on random shares of the train set, and unlearning.

Input: dataset.npz, and for a method split.json and the parameters that tuning selected; never
Retrain. Output: shadow models, which all cells and methods share; for each cell and method, the
margins of every train example under every shadow model, before and after unlearning. These jobs
run only if the config has `shadows:`. A killed job resumes from its checkpoint.
"""


rule shadow:
    """Train a shadow model on a random share of the train set."""
    input:
        unpack(inputs_of("shadow")),
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
        mem_mb=memory("shadow"),
        runtime=minutes("shadow"),
    params:
        **described("shadow"),
    shell:
        RUN_JOB


rule expose:
    """Run a method on every shadow model in turn; Retrain is not an input."""
    input:
        unpack(inputs_of("expose")),
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
        mem_mb=memory("expose"),
        runtime=minutes("expose"),
    params:
        **described("expose"),
    shell:
        RUN_JOB
