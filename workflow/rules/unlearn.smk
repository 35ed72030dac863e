"""Rules that run unlearning methods: the teacher, tuning, and runs.

Input: the base model, the data and the forget set; Retrain only for controls that need it.
Output: the parameters selected by tuning (tune), and the unlearned model of a run with its outputs
on every example (unlearn), after every epoch for a tracked run (track). The first job that needs
files of `prepare` makes them; other jobs read them from its folder.
"""


rule teacher:
    """Train LTD's teacher for the first seed, if the selection rule of tuning uses it."""
    input:
        **values("teacher", "base"),
        data=paths.DATA,
        split=paths.SPLIT,
    output:
        says=paths.TEACHER_SAYS,
        record=paths.record(paths.TEACHER),
        cost=paths.cost(paths.TEACHER),
    log:
        paths.log("teacher", "benchmark", "cell"),
    priority: page_by_page
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        gpu=WHOLE_GPU,
        mem_mb=memory,
        runtime=minutes("teacher"),
    params:
        **values("teacher", "options", "model", "seed", "code"),
        plugins=plugins,
        out=paths.TEACHER,
        checkpoints=paths.checkpoints(paths.TEACHER),
    shell:
        """
        collateral teacher {params.plugins} {params.options} \
            --data {input.data:q} --split {input.split:q} \
            --model {params.model:q} --base {input.base:q} \
            --seed {params.seed} --threads {threads} --code {params.code} \
            --checkpoints {params.checkpoints:q} --out {params.out:q} >{log:q} 2>&1
        """


rule tune:
    """Run all trials of a method for the first seed, and select one; Retrain is not an input."""
    input:
        **values("tune", "base", "teacher", "prepared_by"),
        data=paths.DATA,
        split=paths.SPLIT,
    output:
        trials=paths.TRIALS,
        selected=paths.SELECTED,
        record=paths.record(paths.TUNE),
        cost=paths.cost(paths.TUNE),
    log:
        paths.log("tune", "benchmark", "cell", "method"),
    priority: page_by_page
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        gpu=WHOLE_GPU,
        mem_mb=memory,
        runtime=minutes("tune"),
    params:
        **values("tune", "options", "model", "seed", "prepared", "code"),
        plugins=plugins,
        out=paths.TUNE,
        checkpoints=paths.checkpoints(paths.TUNE),
    shell:
        """
        collateral tune {params.plugins} {params.options} --teacher {input.teacher:q} \
            --data {input.data:q} --split {input.split:q} \
            --model {params.model:q} --base {input.base:q} --prepared {params.prepared:q} \
            --seed {params.seed} --threads {threads} --code {params.code} \
            --checkpoints {params.checkpoints:q} --out {params.out:q} >{log:q} 2>&1
        """


rule unlearn:
    """Run a method or control for one seed."""
    input:
        **values("unlearn", "base", "prepared_by", "selected", "retrained"),
        data=paths.DATA,
        split=paths.SPLIT,
    output:
        **paths.run_files(paths.RUN),
    log:
        paths.log("unlearn", "benchmark", "cell", "seed", "run"),
    wildcard_constraints:
        benchmark=paths.run_constraint(GRID, "unlearn"),
    priority: page_by_page
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        gpu=WHOLE_GPU,
        mem_mb=memory,
        runtime=minutes("unlearn"),
    params:
        **values("unlearn", "options", "model", "prepared", "code"),
        plugins=plugins,
        out=paths.RUN,
        checkpoints=paths.checkpoints(paths.RUN),
    shell:
        """
        collateral unlearn {params.plugins} {params.options} --selected {input.selected:q} \
            --data {input.data:q} --split {input.split:q} --retrained {input.retrained:q} \
            --model {params.model:q} --base {input.base:q} --prepared {params.prepared:q} \
            --seed {wildcards.seed} --threads {threads} --code {params.code} \
            --checkpoints {params.checkpoints:q} --out {params.out:q} >{log:q} 2>&1
        """


use rule unlearn as track with:
    output:
        **paths.run_files(paths.RUN),
        epochs=paths.EPOCHS,
    wildcard_constraints:
        benchmark=paths.run_constraint(GRID, "track"),
