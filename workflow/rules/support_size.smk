"""Rule that trains LTD's teacher on supports of several sizes, to compare these sizes.

Input: the base model, the data and the forget set; never Retrain. Output: predictions of the
teachers of all sizes on the forget set, and the accuracy lost in one step of gradient ascent.
"""


rule support_size:
    """Train LTD's teacher on supports of several sizes; Retrain is not an input."""
    input:
        unpack(inputs_of("support_size")),
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
        mem_mb=memory("support_size"),
        runtime=minutes("support_size"),
    params:
        **described("support_size"),
    shell:
        RUN_JOB
