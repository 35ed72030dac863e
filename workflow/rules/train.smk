"""Rules that train models from scratch or from the user's initial weights.

Input: dataset.npz, the weights, and split.json for Retrain. Output: the base model of a seed with
its embeddings, and Retrain. A killed job resumes from its checkpoint.
"""


rule base:
    """Train the base model on all train examples, or read the user's weights."""
    input:
        unpack(inputs_of("base")),
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
        mem_mb=memory("base"),
        runtime=minutes("base"),
    params:
        **described("base"),
    shell:
        RUN_JOB


rule retrain:
    """Train Retrain, the reference, without the forget set, or read the user's weights."""
    input:
        unpack(inputs_of("retrain")),
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
        mem_mb=memory("retrain"),
        runtime=minutes("retrain"),
    params:
        **described("retrain"),
    shell:
        RUN_JOB
