"""Rules that compute numbers from cached outputs, without torch.

Input: outputs, records and costs of every run. Output for each cell: similarities, pictures,
metrics, costs and problems; for a benchmark: metrics.csv, costs.csv, problems.json, gates.json.
"""

import os

from collateral.plan.fingerprint import stage_code
from collateral.plan.report_plan import presenting_code


rule neighbours:
    """Compute the similarity of every example to the forget set, and list the nearest examples."""
    input:
        **values("neighbours", "embeddings"),
        data=paths.DATA,
        split=paths.SPLIT,
    output:
        neighbours=paths.NEIGHBOURS,
        record=paths.NEIGHBOURS_RECORD,
    log:
        paths.log("neighbours", "benchmark", "cell"),
    priority: page_by_page
    conda:
        "../../envs/figures.yaml"
    params:
        **values("neighbours", "seeds", "code"),
    shell:
        """
        collateral neighbours --data {input.data:q} --split {input.split:q} \
            --embeddings {input.embeddings:q} --seeds {params.seeds} --code {params.code} \
            --out {output.neighbours:q} >{log:q} 2>&1
        """


rule pictures:
    """Save images of the nearest and the most hurt examples, if the config allows images."""
    input:
        **values("pictures", "reference", "outputs", "withheld"),
        data=paths.DATA,
        split=paths.SPLIT,
        neighbours=paths.NEIGHBOURS,
    output:
        pictures=paths.PICTURES,
        record=paths.PICTURES_RECORD,
    log:
        paths.log("pictures", "benchmark", "cell"),
    priority: page_by_page
    conda:
        "../../envs/figures.yaml"
    params:
        **values("pictures", "keep", "code"),
    shell:
        """
        collateral pictures --data {input.data:q} --split {input.split:q} \
            --neighbours {input.neighbours:q} --reference {input.reference:q} \
            --outputs {input.outputs:q} --withheld {input.withheld:q} --keep {params.keep:q} --code {params.code} \
            --out {output.pictures:q} >{log:q} 2>&1
        """


rule metrics:
    """Compute all numbers of a cell."""
    input:
        **values("metrics", "results"),
        labels=paths.LABELS,
        split=paths.SPLIT,
        neighbours=paths.NEIGHBOURS,
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
        **values("metrics", "options"),
        plugins=plugins,
        folder=lambda w, input: os.path.dirname(input.labels),
        code=presenting_code("metrics"),
    shell:
        """
        collateral metrics {params.plugins} --folder {params.folder:q} {params.options} \
            --out {output.metrics:q} --costs {output.costs:q} --problems {output.problems:q} \
            >{log:q} 2>&1
        """


rule gather:
    """Merge the numbers of all cells of a benchmark, and compute numbers over all cells."""
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
    priority: page_by_page
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
