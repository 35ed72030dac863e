"""Numbers from cached outputs; no torch, and no image after `neighbours`.

In: outputs, records and costs of every run of a cell. Out: its similarities, metrics and costs.
"""


def base_embeddings(w):
    benchmark = benchmark_of(w)
    pattern = f"{paths.BASE}/{paths.EMBEDDINGS}"
    seeds = map(benchmark.base_seed, benchmark.seeds)
    return [pattern.format(benchmark=w.benchmark, seed=seed) for seed in seeds]


def cell_results(w):
    """Return the files of all runs of a cell that its metrics are made of."""
    folders = expand(
        paths.RUN,
        benchmark=w.benchmark,
        cell=w.cell,
        seed=benchmark_of(w).seeds,
        run=["retrain", *benchmark_of(w).cells[w.cell].runs],
    )
    names = (paths.OUTPUTS, paths.RECORD, paths.COST)
    return [f"{folder}/{name}" for folder in folders for name in names]


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
        code=code_of("neighbours"),
    shell:
        """
        collateral neighbours --data {input.data:q} --split {input.split:q} \
            --embeddings {input.embeddings:q} --seeds {params.seeds} --out {output:q} \
            > {log:q} 2>&1
        """


rule metrics:
    """All numbers of a cell."""
    input:
        labels=paths.LABELS,
        split=paths.SPLIT,
        neighbours=paths.NEIGHBOURS,
        results=cell_results,
    output:
        metrics=paths.CELL_METRICS,
        costs=paths.CELL_COSTS,
    log:
        paths.log("metrics", "benchmark", "cell"),
    conda:
        "../../envs/figures.yaml"
    params:
        folder=lambda w: paths.CELL.format(**w),
        seeds=lambda w: benchmark_of(w).seeds,
        runs=lambda w: list(benchmark_of(w).cells[w.cell].runs),
        code=code_of("metrics"),
    shell:
        """
        collateral metrics --labels {input.labels:q} --split {input.split:q} \
            --neighbours {input.neighbours:q} --cell-folder {params.folder:q} \
            --cell {wildcards.cell} --seeds {params.seeds} --runs {params.runs:q} \
            --out {output.metrics:q} --costs {output.costs:q} > {log:q} 2>&1
        """
