"""Rules of the data set and of the forget sets.

Input: the config, and the user's files that it names. Output: dataset.npz and
labels.npz per benchmark, split.json per cell. Some kinds of forget sets depend on the outputs of
the base model, or on the margins of shadow models.
"""


rule data:
    """Write the data set as uint8 arrays in a fixed order; fail if a forget set is not valid."""
    input:
        unpack(inputs_of_data),
    output:
        data=paths.DATA,
        labels=paths.LABELS,
        record=paths.DATA_RECORD,
    log:
        paths.log("data", "benchmark"),
    priority: page_by_page
    conda:
        "../../envs/torch.yaml"
    resources:
        mem_mb=data_memory,
    params:
        **described("data"),
    shell:
        RUN_JOB


rule split:
    """Select the forget set of a cell."""
    input:
        unpack(inputs_of("split")),
    output:
        split=paths.SPLIT,
    log:
        paths.log("split", "benchmark", "cell"),
    priority: page_by_page
    conda:
        "../../envs/figures.yaml"
    params:
        **described("split"),
    shell:
        RUN_JOB
