"""Unlearning.

In: the base model, the data and the forget set; never Retrain, but for controls that ask for it.
Out: the values chosen by tuning (tune), and the unlearned model of a run with what it says of every
example (unlearn). What does not depend on tuned values is prepared by the first job that needs it,
and kept in its folder for all others.
"""


rule tune:
    """All trials of a method on the first seed, and the choice; it has no path to Retrain."""
    input:
        data=paths.DATA,
        split=paths.SPLIT,
        base=base_weights,
        prepared=lambda w: costs_in(tune_sources(w)),
    output:
        trials=f"{paths.TUNE}/{paths.TRIALS}",
        selected=f"{paths.TUNE}/{paths.SELECTED}",
        cost=f"{paths.TUNE}/{paths.COST}",
    log:
        paths.log("tune", "benchmark", "cell", "method"),
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        gpu=1,
        mem_mb=memory,
        runtime=minutes(tune_work),
    params:
        method=tune_options,
        model=lambda w: benchmark_of(w).config.model,
        seed=lambda w: benchmark_of(w).seeds[0],
        prepared=lambda w: prepared_in(tune_sources(w)),
        out=paths.TUNE,
        checkpoints=paths.checkpoints(paths.TUNE),
        code=lambda w: method_code("tune", w, cell_of(w).runs[w.method]),
    shell:
        """
        collateral tune {params.method} --data {input.data:q} --split {input.split:q} \
            --model {params.model} --base {input.base:q} --prepared {params.prepared:q} \
            --seed {params.seed} --threads {threads} --code {params.code} \
            --checkpoints {params.checkpoints:q} --out {params.out:q} >{log:q} 2>&1
        """


rule unlearn:
    """One run of a method or control."""
    input:
        data=paths.DATA,
        split=paths.SPLIT,
        base=base_weights,
        prepared=lambda w: costs_in(run_sources(w)),
        selected=selected_of,
        retrained=retrained_of,
    output:
        **paths.run_files(paths.RUN),
    log:
        paths.log("unlearn", "benchmark", "cell", "seed", "run"),
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        gpu=1,
        mem_mb=memory,
        runtime=minutes(run_work),
    params:
        run=lambda w: run_options(w.benchmark, w.cell, w.run),
        model=lambda w: benchmark_of(w).config.model,
        prepared=lambda w: prepared_in(run_sources(w)),
        out=paths.RUN,
        checkpoints=paths.checkpoints(paths.RUN),
        code=lambda w: method_code("unlearn", w, run_of(w)),
    shell:
        """
        collateral unlearn {params.run} --selected {input.selected:q} \
            --data {input.data:q} --split {input.split:q} --retrained {input.retrained:q} \
            --model {params.model} --base {input.base:q} --prepared {params.prepared:q} \
            --seed {wildcards.seed} --threads {threads} --code {params.code} \
            --checkpoints {params.checkpoints:q} --out {params.out:q} >{log:q} 2>&1
        """


rule original:
    """The control that forgets nothing: the base model's outputs, without a process for torch."""
    input:
        model=base_weights,
        outputs=lambda w: f"{base_folder(w)}/{paths.OUTPUTS}",
        record=lambda w: f"{base_folder(w)}/{paths.RECORD}",
    output:
        **paths.run_files(paths.ORIGINAL),
    log:
        paths.log("original", "benchmark", "cell", "seed"),
    conda:
        "../../envs/figures.yaml"
    params:
        base=base_folder,
        out=paths.ORIGINAL,
        code=lambda w: code_of("original"),
    shell:
        """
        collateral original --base {params.base:q} --seed {wildcards.seed} \
            --out {params.out:q} >{log:q} 2>&1
        """
