"""Unlearning.

In: the base model, the data and the forget set; never Retrain, but for controls that ask for it.
Out: the values chosen by tuning (tune), and the unlearned model of a run with what it says of every
example (unlearn), of a tracked run after every epoch (track). What does not depend on tuned values
is prepared by the first job that needs it, and kept in its folder for all others.
"""


rule teacher:
    """LTD's teacher on the first seed, where tuning asks what it knows of the forget set."""
    input:
        data=paths.DATA,
        split=paths.SPLIT,
        base=lambda w: teaching(w).base,
    output:
        says=paths.TEACHER_SAYS,
        record=paths.record(paths.TEACHER),
        cost=paths.cost(paths.TEACHER),
    log:
        paths.log("teacher", "benchmark", "cell"),
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        gpu=1,
        mem_mb=memory,
        runtime=minutes(teaching),
    params:
        plugins=plugins,
        method=lambda w: teaching(w).options,
        model=lambda w: teaching(w).model,
        seed=lambda w: teaching(w).seed,
        out=paths.TEACHER,
        checkpoints=paths.checkpoints(paths.TEACHER),
        code=lambda w: teaching(w).code,
    shell:
        """
        collateral teacher {params.plugins} {params.method} \
            --data {input.data:q} --split {input.split:q} \
            --model {params.model:q} --base {input.base:q} \
            --seed {params.seed} --threads {threads} --code {params.code} \
            --checkpoints {params.checkpoints:q} --out {params.out:q} >{log:q} 2>&1
        """


rule tune:
    """All trials of a method on the first seed, and the choice; it has no path to Retrain."""
    input:
        data=paths.DATA,
        split=paths.SPLIT,
        base=lambda w: tuning(w).base,
        teacher=lambda w: tuning(w).teacher,
        prepared=lambda w: costs_in(tuning(w).sources),
    output:
        trials=paths.TRIALS,
        selected=paths.SELECTED,
        record=paths.record(paths.TUNE),
        cost=paths.cost(paths.TUNE),
    log:
        paths.log("tune", "benchmark", "cell", "method"),
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        gpu=1,
        mem_mb=memory,
        runtime=minutes(tuning),
    params:
        plugins=plugins,
        method=lambda w: tuning(w).options,
        model=lambda w: tuning(w).model,
        seed=lambda w: tuning(w).seed,
        prepared=lambda w: prepared_in(tuning(w).sources),
        out=paths.TUNE,
        checkpoints=paths.checkpoints(paths.TUNE),
        code=lambda w: tuning(w).code,
    shell:
        """
        collateral tune {params.plugins} {params.method} --teacher {input.teacher:q} \
            --data {input.data:q} --split {input.split:q} \
            --model {params.model:q} --base {input.base:q} --prepared {params.prepared:q} \
            --seed {params.seed} --threads {threads} --code {params.code} \
            --checkpoints {params.checkpoints:q} --out {params.out:q} >{log:q} 2>&1
        """


rule unlearn:
    """One run of a method or control."""
    input:
        data=paths.DATA,
        split=paths.SPLIT,
        base=lambda w: unlearning(w).base,
        prepared=lambda w: costs_in(unlearning(w).sources),
        selected=lambda w: unlearning(w).selected,
        retrained=lambda w: unlearning(w).retrained,
    output:
        **paths.run_files(paths.RUN),
    log:
        paths.log("unlearn", "benchmark", "cell", "seed", "run"),
    wildcard_constraints:
        benchmark=paths.of_runs(GRID, "unlearn"),
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        gpu=1,
        mem_mb=memory,
        runtime=minutes(unlearning),
    params:
        plugins=plugins,
        run=lambda w: unlearning(w).options,
        model=lambda w: unlearning(w).model,
        prepared=lambda w: prepared_in(unlearning(w).sources),
        out=paths.RUN,
        checkpoints=paths.checkpoints(paths.RUN),
        code=lambda w: unlearning(w).code,
    shell:
        """
        collateral unlearn {params.plugins} {params.run} --selected {input.selected:q} \
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
        benchmark=paths.of_runs(GRID, "track"),
