"""The data set, and which of its examples are forgotten.

In: the config, and the user's own files where it names some. Out: dataset.npz and
labels.npz per benchmark, split.json per cell.
"""


rule data:
    """A data set as uint8 arrays in a fixed order; it fails where a forget set is not sound."""
    input:
        lambda w: data_job(w).files,
    output:
        data=paths.DATA,
        labels=paths.LABELS,
        record=paths.DATA_RECORD,
    log:
        paths.log("data", "benchmark"),
    conda:
        "../../envs/torch.yaml"
    params:
        plugins=plugins,
        name=lambda w: data_job(w).name,
        options=lambda w: data_job(w).options,
        # Of `output`, so that one more forget set reruns nothing.
        forget=lambda w, output: data_job(w).forget,
        code=lambda w: data_job(w).code,
    shell:
        """
        collateral data {params.plugins} --name {params.name:q} --options {params.options:q} \
            {params.forget} --code {params.code:q} --out {output.data:q} --labels {output.labels:q} \
            >{log:q} 2>&1
        """


rule split:
    """The forget set of a cell."""
    input:
        labels=paths.LABELS,
        files=lambda w: split_job(w).files,
    output:
        split=paths.SPLIT,
    log:
        paths.log("split", "benchmark", "cell"),
    conda:
        "../../envs/figures.yaml"
    params:
        plugins=plugins,
        kind=lambda w: split_job(w).kind,
        forget=lambda w: split_job(w).options,
        code=lambda w: split_job(w).code,
    shell:
        """
        collateral split {params.plugins} --labels {input.labels:q} --kind {params.kind:q} \
            --params {params.forget:q} --code {params.code} --out {output.split:q} >{log:q} 2>&1
        """
