"""Rule that probes finished models, if the config has `probe:`.

Input: the data, the forget set, and the models of all runs of a cell and seed, also Retrain and
the base model. Output: relearning curves, predictions on noisy images, outputs of an untrained
net, linear probes, similarity of features, and curves of fine-tuning on retained examples.
"""


rule probe:
    """Probe all models of a cell and seed in one job, because each takes only seconds."""
    input:
        unpack(inputs_of("probe")),
    output:
        probe=paths.PROBE_RESULT,
        record=paths.record(paths.PROBE),
        cost=paths.cost(paths.PROBE),
    log:
        paths.log("probe", "benchmark", "cell", "seed"),
    priority: page_by_page
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        gpu=WHOLE_GPU,
        mem_mb=memory("probe"),
        runtime=minutes("probe"),
    params:
        **described("probe"),
    shell:
        RUN_JOB
