"""Tables, figures and the page, from numbers alone.

In: the config, metrics and costs. Out: plan.json, tables and figures per benchmark, and one page
over all of them; check.done only if every finding could be made.
"""

import os
from pathlib import Path

from collateral.plan.presentation import plan_hash, plan_of, templates_hash


rule plan:
    """What tables, figures and page must know of the config."""
    output:
        paths.PLAN,
    log:
        paths.log("plan", "benchmark"),
    params:
        content=lambda w: plan_hash(benchmark_of(w)),
    run:
        plan_of(benchmark_of(wildcards)).save(Path(output[0]))


rule tables:
    """The findings' tables, of each cell and over all, as CSV, Markdown and LaTeX."""
    input:
        plan=paths.PLAN,
        metrics=paths.METRICS,
        costs=paths.COSTS,
    output:
        report(
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
        plugins=plugins,
        code=presenting_code("tables"),
    shell:
        """
        collateral tables {params.plugins} --plan {input.plan:q} --metrics {input.metrics:q} \
            --costs {input.costs:q} --out {output:q} >{log:q} 2>&1
        """


rule figures:
    """The findings' figures of each cell."""
    input:
        plan=paths.PLAN,
        metrics=paths.METRICS,
        costs=paths.COSTS,
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
        plugins=plugins,
        code=presenting_code("figures"),
    shell:
        """
        collateral figures {params.plugins} --plan {input.plan:q} --metrics {input.metrics:q} \
            --costs {input.costs:q} --out {output:q} >{log:q} 2>&1
        """


rule report:
    """One self-contained page over all benchmarks."""
    input:
        plans=expand(paths.PLAN, benchmark=GRID),
        metrics=expand(paths.METRICS, benchmark=GRID),
        costs=expand(paths.COSTS, benchmark=GRID),
        tables=expand(paths.TABLES, benchmark=GRID),
        figures=expand(paths.FIGURES, benchmark=GRID),
        theory=rules.theory.output,
    output:
        page=report(paths.REPORT, caption="../report/page.rst", category="The page"),
        problems=paths.REPORT_PROBLEMS,
    log:
        paths.log("report"),
    conda:
        "../../envs/figures.yaml"
    params:
        plugins=plugins,
        benchmarks=expand(paths.BENCHMARK, benchmark=GRID),
        theory=lambda w, input: os.path.dirname(input.theory[0]),
        templates=templates_hash(),
        code=presenting_code("report"),
    shell:
        """
        collateral report {params.plugins} --benchmarks {params.benchmarks:q} --theory {params.theory:q} \
            --out {output.page:q} --problems {output.problems:q} >{log:q} 2>&1
        """


rule check:
    """The exit code: it fails where a finding did, after the page is there and names it."""
    input:
        paths.REPORT_PROBLEMS,
    output:
        touch(paths.CHECKED),
    log:
        paths.log("check"),
    conda:
        "../../envs/figures.yaml"
    params:
        code=stage_code("check"),
    shell:
        "collateral check --problems {input:q} >{log:q} 2>&1"
