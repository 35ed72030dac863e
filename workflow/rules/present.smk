"""Tables, figures and the page, from metrics alone.

In: metrics and costs of the cells. Out: metrics.csv, costs.csv, tables and figures per benchmark,
and one page over all of them.
"""


rule tables:
    """Main, affected-class and sweeps' tables of every cell, as CSV, Markdown and LaTeX."""
    input:
        metrics=of_cells(paths.CELL_METRICS),
        costs=of_cells(paths.CELL_COSTS),
        tuning=of_cells(paths.CELL_TUNING),
    output:
        metrics=paths.METRICS,
        costs=paths.COSTS,
        tables=report(
            directory(paths.TABLES),
            patterns=["{cell}/{table}.md"],
            caption="../report/table.rst",
            category="{benchmark}",
            subcategory="{cell}",
            labels={"table": "{table}"},
        ),
    log:
        paths.log("tables", "benchmark"),
    conda:
        "../../envs/figures.yaml"
    params:
        runs=run_labels,
        sweeps=sweeps_of,
        protocol=lambda w: benchmark_of(w).config.base.sharing,
        code=lambda w: code_of("tables"),
    shell:
        """
        collateral tables --metrics {input.metrics:q} --costs {input.costs:q} \
            --tuning {input.tuning:q} \
            --runs {params.runs:q} --sweeps {params.sweeps:q} --protocol {params.protocol} \
            --out-metrics {output.metrics:q} --out-costs {output.costs:q} \
            --out {output.tables:q} >{log:q} 2>&1
        """


rule figures:
    """The figures of every cell; more for whole classes, tracked runs and sweeps of numbers."""
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
        sweeps=sweeps_of,
        code=lambda w: code_of("figures"),
    shell:
        """
        collateral figures --metrics {input.metrics:q} --runs {params.runs:q} \
            --sweeps {params.sweeps:q} --out {output:q} >{log:q} 2>&1
        """


rule report:
    """One self-contained page over all benchmarks."""
    input:
        metrics=expand(paths.METRICS, benchmark=GRID),
        tables=expand(paths.TABLES, benchmark=GRID),
        figures=expand(paths.FIGURES, benchmark=GRID),
        theory=rules.theory.output,
    output:
        report(paths.REPORT, caption="../report/page.rst", category="The page"),
    log:
        paths.log("report"),
    conda:
        "../../envs/figures.yaml"
    params:
        sources=report_sources(),
        theory=lambda w, input: os.path.dirname(input.theory[0]),
        code=lambda w: code_of("report"),
    shell:
        """
        collateral report --benchmarks {params.sources:q} --theory {params.theory:q} \
            --out {output:q} >{log:q} 2>&1
        """
