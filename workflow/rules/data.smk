"""The data set, and which of its examples are forgotten.

In: the config, and the user's own files where it names some. Out: dataset.npz and
labels.npz per benchmark, split.json per cell.
"""


rule data:
    """A data set as uint8 arrays in a fixed order; it fails where a forget set is not sound."""
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
    params:
        **values("data", "name", "data_options", "code"),
        plugins=plugins,
        # A function of `output` is no trigger: one more forget set reruns nothing.
        forget=lambda w, output: job("data", w).forget,
    shell:
        """
        collateral data {params.plugins} --name {params.name:q} --options {params.data_options:q} \
            {params.forget} --code {params.code:q} --out {output.data:q} --labels {output.labels:q} \
            >{log:q} 2>&1
        """


rule split:
    """The forget set of a cell."""
    input:
        labels=paths.LABELS,
        files=value("split", "user_files"),
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
            --params {params.forget:q} --code {params.code} --out {output.split:q} >{log:q} 2>&1
        """
