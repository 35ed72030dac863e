"""Numbers from cached outputs; no torch, and no image after `neighbours` and `pictures`.

In: outputs, records and costs of every run. Out: similarities, pictures, metrics, costs and what could not be
computed, of each cell; metrics.csv, costs.csv, problems.json and gates.json of the benchmark.
"""

import os

from collateral.plan.fingerprint import stage_code
from collateral.plan.presentation import presenting_code


rule neighbours:
    """How similar every example is to the forget set, and which are nearest."""
    input:
        data=paths.DATA,
        split=paths.SPLIT,
        embeddings=lambda w: neighbours_job(w).embeddings,
    output:
        neighbours=paths.NEIGHBOURS,
        record=paths.NEIGHBOURS_RECORD,
    log:
        paths.log("neighbours", "benchmark", "cell"),
    conda:
        "../../envs/figures.yaml"
    params:
        seeds=lambda w: benchmark_of(w).seeds,
        code=lambda w: neighbours_job(w).code,
    shell:
        """
        collateral neighbours --data {input.data:q} --split {input.split:q} \
            --embeddings {input.embeddings:q} --seeds {params.seeds} --code {params.code} \
            --out {output.neighbours:q} >{log:q} 2>&1
        """


rule pictures:
    """Images of the nearest examples, as far as the config lets results contain them."""
    input:
        data=paths.DATA,
        neighbours=paths.NEIGHBOURS,
        withheld=lambda w: pictures_job(w).withheld,
    output:
        pictures=paths.PICTURES,
        record=paths.PICTURES_RECORD,
    log:
        paths.log("pictures", "benchmark", "cell"),
    conda:
        "../../envs/figures.yaml"
    params:
        keep=lambda w: pictures_job(w).keep,
        code=lambda w: pictures_job(w).code,
    shell:
        """
        collateral pictures --data {input.data:q} --neighbours {input.neighbours:q} \
            --withheld {input.withheld:q} --keep {params.keep:q} --code {params.code} \
            --out {output.pictures:q} >{log:q} 2>&1
        """


rule metrics:
    """All numbers of a cell."""
    input:
        labels=paths.LABELS,
        split=paths.SPLIT,
        neighbours=paths.NEIGHBOURS,
        outputs=lambda w: evaluation(w).outputs,
        trials=lambda w: evaluation(w).trials,
        sizes=lambda w: evaluation(w).support_sizes,
        probes=lambda w: evaluation(w).probes,
        exposures=lambda w: evaluation(w).exposures,
    output:
        metrics=paths.CELL_METRICS,
        costs=paths.CELL_COSTS,
        problems=paths.CELL_PROBLEMS,
        metrics_record=paths.CELL_METRICS_RECORD,
        costs_record=paths.CELL_COSTS_RECORD,
    log:
        paths.log("metrics", "benchmark", "cell"),
    conda:
        "../../envs/figures.yaml"
    params:
        plugins=plugins,
        folder=lambda w, input: os.path.dirname(input.labels),
        cell=lambda w: evaluation(w).options,
        code=presenting_code("metrics"),
    shell:
        """
        collateral metrics {params.plugins} --folder {params.folder:q} {params.cell} \
            --out {output.metrics:q} --costs {output.costs:q} --problems {output.problems:q} \
            >{log:q} 2>&1
        """


rule gather:
    """All numbers of a benchmark: those of its cells, and what findings say over all of them."""
    input:
        plan=paths.PLAN,
        metrics=of_cells(paths.CELL_METRICS),
        costs=of_cells(paths.CELL_COSTS),
        problems=of_cells(paths.CELL_PROBLEMS),
    output:
        metrics=paths.METRICS,
        costs=paths.COSTS,
        problems=paths.PROBLEMS,
        gates=paths.GATES,
        metrics_record=paths.METRICS_RECORD,
        costs_record=paths.COSTS_RECORD,
    log:
        paths.log("gather", "benchmark"),
    conda:
        "../../envs/figures.yaml"
    params:
        plugins=plugins,
        folder=lambda w, input: os.path.dirname(input.plan),
        code=presenting_code("gather"),
    shell:
        """
        collateral gather {params.plugins} --folder {params.folder:q} --out {output.metrics:q} \
            --costs {output.costs:q} --problems {output.problems:q} --gates {output.gates:q} \
            >{log:q} 2>&1
        """
