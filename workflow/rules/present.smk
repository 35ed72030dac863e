"""Rules that make tables, figures and pages from numbers.

Input: the config, metrics and costs. Output: plan.json, tables, figures and the page of a
benchmark, an index of all pages, and check.done if no finding failed.
"""

from pathlib import Path

from collateral.jobs.index import IndexJob
from collateral.plan.fingerprint import stage_code
from collateral.plan.report_plan import make_plan, name_config, plan_hash, templates_hash
from collateral.results import layout

CONFIG_NAME = name_config(workflow.configfiles, Path.cwd())
INDEX_JOB = IndexJob(first=tuple(GRID), theory=layout.THEORY)


rule plan:
    """Write plan.json: the parts of the config that tables, figures and page need."""
    output:
        paths.PLAN,
    log:
        paths.log("plan", "benchmark"),
    priority: page_by_page
    params:
        content=lambda w: plan_hash(GRID[w.benchmark], CONFIG_NAME),
    run:
        make_plan(GRID[wildcards.benchmark], CONFIG_NAME).save(Path(output[0]))


rule tables:
    """Write the tables of each cell and over all cells, as CSV, Markdown and LaTeX."""
    input:
        unpack(inputs_of("tables")),
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
        **described("tables"),
    shell:
        RUN_JOB


rule figures:
    """Draw the figures of each cell and over all cells."""
    input:
        unpack(inputs_of("figures")),
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
        **described("figures"),
    shell:
        RUN_JOB


rule report:
    """Write the self-contained page of a benchmark."""
    input:
        unpack(inputs_of("report")),
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
        **described("report"),
    shell:
        RUN_JOB


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
        **described_alone(INDEX_JOB, f"{stage_code('index')} {templates_hash()}"),
    shell:
        RUN_JOB


rule check:
    """Fail if a finding failed; the page is written before and names the finding."""
    input:
        unpack(inputs_of("check")),
    output:
        touch(paths.CHECKED),
    log:
        paths.log("check", "benchmark"),
    priority: page_by_page
    conda:
        "../../envs/figures.yaml"
    params:
        **described("check"),
    shell:
        RUN_JOB
