"""Tables, figures and the page, from metrics alone.

In: metrics and costs of the cells. Out: metrics.csv, costs.csv, tables and figures per benchmark,
and one page over all of them.
"""


def of_cells(pattern):
    """Return an input function: one file of each cell of the benchmark."""

    def files(w):
        return expand(pattern, benchmark=w.benchmark, cell=benchmark_of(w).cells)

    return files


def run_labels(w):
    # The order is the config's: rows of tables and colours of figures follow it.
    return json.dumps(benchmark_of(w).labels())


rule tables:
    """Main and affected-class table of every cell, as CSV, Markdown and LaTeX."""
    input:
        metrics=of_cells(paths.CELL_METRICS),
        costs=of_cells(paths.CELL_COSTS),
    output:
        metrics=paths.METRICS,
        costs=paths.COSTS,
        tables=directory(paths.TABLES),
    log:
        paths.log("tables", "benchmark"),
    conda:
        "../../envs/figures.yaml"
    params:
        runs=run_labels,
        protocol=lambda w: benchmark_of(w).config.base.sharing,
        code=code_of("tables"),
    shell:
        """
        collateral tables --metrics {input.metrics:q} --costs {input.costs:q} \
            --runs {params.runs:q} --protocol {params.protocol} \
            --out-metrics {output.metrics:q} --out-costs {output.costs:q} \
            --out {output.tables:q} > {log:q} 2>&1
        """


rule figures:
    """The similarity plot and the affected-class bars of every cell."""
    input:
        metrics=paths.METRICS,
    output:
        report(
            directory(paths.FIGURES),
            patterns=["{cell}/{figure}.png"],
            caption="../report/figure.rst",
            category="{benchmark}",
            subcategory="{cell}",
            labels={"figure": "{figure}"},
        ),
    log:
        paths.log("figures", "benchmark"),
    conda:
        "../../envs/figures.yaml"
    params:
        runs=run_labels,
        code=code_of("figures"),
    shell:
        """
        collateral figures --metrics {input.metrics:q} --runs {params.runs:q} \
            --out {output:q} > {log:q} 2>&1
        """
