"""Rules of the data set and of the forget sets.

Input: the config, and the user's files that it names. Output: dataset.npz and
labels.npz per benchmark, split.json per cell. Some kinds of forget sets depend on the outputs of
the base model, or on the margins of shadow models.
"""


rule data:
    """Write the data set as uint8 arrays in a fixed order; fail if a forget set is not valid."""
    input:
        value("data", "user_files"),
    output:
        data=paths.DATA,
        labels=paths.LABELS,
        record=paths.DATA_RECORD,
    log:
        paths.log("data", "benchmark"),
    conda:
        "../../envs/torch.yaml"
    resources:
        mem_mb=data_memory,
    params:
        **values("data", "name", "data_options", "code"),
        plugins=plugins,
        # A function of `output` triggers no rerun, so a new forget set does not rerun this job.
        forget=lambda w, output: job("data", w).forget,
    shell:
        """
        collateral data {params.plugins} --name {params.name:q} --options {params.data_options:q} \
            {params.forget} --code {params.code:q} --out {output.data:q} --labels {output.labels:q} \
            >{log:q} 2>&1
        """


rule split:
    """Select the forget set of a cell."""
    input:
        labels=paths.LABELS,
        files=value("split", "user_files"),
        models=value("split", "models"),
        earlier=value("split", "earlier"),
    output:
        split=paths.SPLIT,
    log:
        paths.log("split", "benchmark", "cell"),
    conda:
        "../../envs/figures.yaml"
    params:
        **values("split", "kind", "forget", "code"),
        plugins=plugins,
    shell:
        """
        collateral split {params.plugins} --labels {input.labels:q} --kind {params.kind:q} \
            --params {params.forget:q} --models {input.models:q} --earlier {input.earlier:q} \
            --code {params.code} --out {output.split:q} >{log:q} 2>&1
        """
