"""Rules that make tables, figures and pages from numbers.

Input: the config, metrics and costs. Output: plan.json, tables, figures and the page of a
benchmark, an index of all pages, and check.done if no finding failed.
"""

import os
from pathlib import Path

from collateral.plan.report_plan import plan_hash, make_plan, templates_hash


rule plan:
    """Write plan.json: the parts of the config that tables, figures and page need."""
    output:
        paths.PLAN,
    log:
        paths.log("plan", "benchmark"),
    priority: page_by_page
    params:
        content=lambda w: plan_hash(GRID[w.benchmark]),
    run:
        make_plan(GRID[wildcards.benchmark]).save(Path(output[0]))


rule tables:
    """Write the tables of each cell and over all cells, as CSV, Markdown and LaTeX."""
    input:
        plan=paths.PLAN,
        metrics=paths.METRICS,
        costs=paths.COSTS,
    output:
        report(
            directory(paths.TABLES),
            patterns=["{cell}/{table}.md", "{table,[^/]+}.md"],
            caption="../report/table.rst",
            category="{benchmark}",
            subcategory=lambda w: w.get("cell", "All cells"),
            labels={"table": "{table}"},
        ),
    log:
        paths.log("tables", "benchmark"),
    priority: page_by_page
    conda:
        "../../envs/figures.yaml"
    threads: presenting_threads
    params:
        plugins=plugins,
        code=presenting_code("tables"),
    shell:
        """
        collateral tables {params.plugins} --plan {input.plan:q} --metrics {input.metrics:q} \
            --costs {input.costs:q} --out {output:q} --processes {threads} >{log:q} 2>&1
        """


rule figures:
    """Draw the figures of each cell and over all cells."""
    input:
        plan=paths.PLAN,
        metrics=paths.METRICS,
        costs=paths.COSTS,
    output:
        report(
            directory(paths.FIGURES),
            patterns=["{cell}/{figure}.png", "{figure,[^/]+}.png"],
            caption="../report/figure.rst",
            category="{benchmark}",
            subcategory=lambda w: w.get("cell", "All cells"),
            labels={"figure": "{figure}"},
        ),
    log:
        paths.log("figures", "benchmark"),
    priority: page_by_page
    conda:
        "../../envs/figures.yaml"
    threads: presenting_threads
    params:
        plugins=plugins,
        code=presenting_code("figures"),
    shell:
        """
        collateral figures {params.plugins} --plan {input.plan:q} --metrics {input.metrics:q} \
            --costs {input.costs:q} --out {output:q} --processes {threads} >{log:q} 2>&1
        """


rule report:
    """Write the self-contained page of a benchmark."""
    input:
        plan=paths.PLAN,
        metrics=paths.METRICS,
        costs=paths.COSTS,
        problems=paths.PROBLEMS,
        gates=paths.GATES,
        tables=paths.TABLES,
        figures=paths.FIGURES,
        pictures=of_cells(paths.PICTURES),
    output:
        page=report(paths.REPORT, caption="../report/page.rst", category="{benchmark}"),
        glance=paths.GLANCE,
        problems=paths.REPORT_PROBLEMS,
    log:
        paths.log("report", "benchmark"),
    priority: page_by_page
    conda:
        "../../envs/figures.yaml"
    params:
        plugins=plugins,
        folder=lambda w, input: os.path.dirname(input.metrics),
        templates=templates_hash(),
        code=presenting_code("report"),
    shell:
        """
        collateral report {params.plugins} --folder {params.folder:q} --out {output.page:q} \
            --glance {output.glance:q} --problems {output.problems:q} >{log:q} 2>&1
        """


rule index:
    """All pages below results/ at a glance, also those of other configs, and the theory's page."""
    input:
        glances=expand(paths.GLANCE, benchmark=GRID),
        theory=rules.theory.output,
    output:
        page=report(paths.INDEX, caption="../report/page.rst", category="The index"),
        theory=report(paths.THEORY_PAGE, caption="../report/page.rst", category="The index"),
    log:
        paths.log("index"),
    conda:
        "../../envs/figures.yaml"
    params:
        results=lambda w, output: os.path.dirname(output.page),
        first=list(GRID),
        theory=lambda w, input: os.path.dirname(input.theory[0]),
        templates=templates_hash(),
        code=stage_code("index"),
    shell:
        """
        collateral index --results {params.results:q} --first {params.first:q} \
            --theory {params.theory:q} --theory-page {output.theory:q} \
            --out {output.page:q} >{log:q} 2>&1
        """


rule check:
    """Fail if a finding failed; the page is written before and names the finding."""
    input:
        paths.REPORT_PROBLEMS,
    output:
        touch(paths.CHECKED),
    log:
        paths.log("check", "benchmark"),
    priority: page_by_page
    conda:
        "../../envs/figures.yaml"
    params:
        code=stage_code("check"),
    shell:
        "collateral check --problems {input:q} >{log:q} 2>&1"
