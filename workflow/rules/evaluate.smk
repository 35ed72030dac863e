"""Numbers from cached outputs; no torch, and no image after `neighbours`.

In: outputs, records and costs of every run of a cell. Out: its similarities, metrics and costs.
"""


rule neighbours:
    """How similar every example is to the forget set, and pictures of the nearest."""
    input:
        data=paths.DATA,
        split=paths.SPLIT,
        embeddings=base_embeddings,
    output:
        paths.NEIGHBOURS,
    log:
        paths.log("neighbours", "benchmark", "cell"),
    conda:
        "../../envs/figures.yaml"
    params:
        seeds=lambda w: benchmark_of(w).seeds,
        code=lambda w: code_of("neighbours"),
    shell:
        """
        collateral neighbours --data {input.data:q} --split {input.split:q} \
            --embeddings {input.embeddings:q} --seeds {params.seeds} --out {output:q} \
            >{log:q} 2>&1
        """


rule metrics:
    """All numbers of a cell."""
    input:
        labels=paths.LABELS,
        split=paths.SPLIT,
        neighbours=paths.NEIGHBOURS,
        results=cell_results,
        choices=cell_choices,
        diagnoses=cell_diagnoses,
    output:
        metrics=paths.CELL_METRICS,
        costs=paths.CELL_COSTS,
        tuning=paths.CELL_TUNING,
    log:
        paths.log("metrics", "benchmark", "cell"),
    conda:
        "../../envs/figures.yaml"
    params:
        folder=lambda w, output: os.path.dirname(output.metrics),
        seeds=lambda w: benchmark_of(w).seeds,
        runs=lambda w: list(cell_of(w).runs),
        tuned=lambda w: list(cell_of(w).tuned),
        diagnosed=lambda w: [run.name for run in [cell_of(w).diagnosed] if run],
        tracked=lambda w: cell_of(w).tracked,
        code=lambda w: code_of("metrics"),
    shell:
        """
        collateral metrics --labels {input.labels:q} --split {input.split:q} \
            --neighbours {input.neighbours:q} --cell-folder {params.folder:q} \
            --cell {wildcards.cell} --seeds {params.seeds} --runs {params.runs:q} \
            --tuned {params.tuned:q} --tracked {params.tracked:q} --diagnosed {params.diagnosed:q} \
            --tuning {output.tuning:q} \
            --out {output.metrics:q} --costs {output.costs:q} >{log:q} 2>&1
        """
