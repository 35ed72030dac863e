"""Rules that compute numbers from cached outputs, without torch.

Input: outputs, records and costs of every run. Output for each cell: similarities, pictures,
metrics, costs and problems; for a benchmark: metrics.csv, costs.csv, problems.json, gates.json.
"""


rule neighbours:
    """Compute the similarity of every example to the forget set, and list the nearest examples."""
    input:
        unpack(inputs_of("neighbours")),
    output:
        neighbours=paths.NEIGHBOURS,
        record=paths.NEIGHBOURS_RECORD,
    log:
        paths.log("neighbours", "benchmark", "cell"),
    priority: page_by_page
    conda:
        "../../envs/figures.yaml"
    params:
        **described("neighbours"),
    shell:
        RUN_JOB


rule pictures:
    """Save images of the nearest and the most hurt examples, if the config allows images."""
    input:
        unpack(inputs_of("pictures")),
    output:
        pictures=paths.PICTURES,
        record=paths.PICTURES_RECORD,
    log:
        paths.log("pictures", "benchmark", "cell"),
    priority: page_by_page
    conda:
        "../../envs/figures.yaml"
    params:
        **described("pictures"),
    shell:
        RUN_JOB


rule metrics:
    """Compute all numbers of a cell."""
    input:
        unpack(inputs_of("metrics")),
    output:
        metrics=paths.CELL_METRICS,
        costs=paths.CELL_COSTS,
        problems=paths.CELL_PROBLEMS,
        metrics_record=paths.CELL_METRICS_RECORD,
        costs_record=paths.CELL_COSTS_RECORD,
    log:
        paths.log("metrics", "benchmark", "cell"),
    priority: page_by_page
    conda:
        "../../envs/figures.yaml"
    params:
        **described("metrics"),
    shell:
        RUN_JOB


rule gather:
    """Merge the numbers of all cells of a benchmark, and compute numbers over all cells."""
    input:
        unpack(inputs_of("gather")),
    output:
        metrics=paths.METRICS,
        costs=paths.COSTS,
        problems=paths.PROBLEMS,
        gates=paths.GATES,
        metrics_record=paths.METRICS_RECORD,
        costs_record=paths.COSTS_RECORD,
    log:
        paths.log("gather", "benchmark"),
    priority: page_by_page
    conda:
        "../../envs/figures.yaml"
    params:
        **described("gather"),
    shell:
        RUN_JOB
