"""Unlearning.

In: the base model, the data and the forget set; never Retrain, but for controls that ask for it.
Out: what trials and runs share (prepare), the values chosen by tuning (tune), and the unlearned
model of a run with what it says of every example (unlearn).
"""


rule prepare:
    """What does not depend on tuned values, once for all that share it."""
    input:
        data=paths.DATA,
        split=paths.SPLIT,
        base=base_weights,
    output:
        tensors=f"{paths.PREPARED}/{paths.PREPARED_TENSORS}",
        report=f"{paths.PREPARED}/{paths.PREPARED_REPORT}",
        cost=f"{paths.PREPARED}/{paths.COST}",
    log:
        paths.log("prepare", "benchmark", "cell", "seed", "prepared"),
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        gpu=1,
        mem_mb=memory,
        runtime=minutes(prepare_passes),
    params:
        method=lambda w: cell_of(w).preparations[w.prepared].method.uses,
        model=lambda w: benchmark_of(w).config.model,
        knobs=lambda w: as_json(cell_of(w).preparations[w.prepared].prepare_values(w.prepared)),
        out=paths.PREPARED,
        checkpoints=paths.checkpoints(paths.PREPARED),
        plugins=lambda w: plugins(cell_of(w).preparations[w.prepared]),
        code=lambda w: method_code("prepare", w, cell_of(w).preparations[w.prepared]),
    shell:
        """
        collateral prepare --method {params.method} --params {params.knobs:q} \
            --data {input.data:q} --split {input.split:q} \
            --model {params.model} --base {input.base:q} \
            --seed {wildcards.seed} --threads {threads} --code {params.code} {params.plugins} \
            --checkpoints {params.checkpoints:q} --out {params.out:q} >{log:q} 2>&1
        """


rule tune:
    """All trials of a method on the first seed, and the choice; it has no path to Retrain."""
    input:
        data=paths.DATA,
        split=paths.SPLIT,
        base=base_weights,
        prepared=lambda w: tensors_in(tune_prepared(w)),
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
        runtime=minutes(tune_passes),
    params:
        method=lambda w: cell_of(w).tuned[w.method].uses,
        model=lambda w: benchmark_of(w).config.model,
        seed=lambda w: benchmark_of(w).seeds[0],
        knobs=lambda w: cell_of(w).runs[w.method].params.model_dump_json(),
        trials=lambda w: as_json(cell_of(w).tuned[w.method].trials()),
        default=lambda w: as_json(cell_of(w).tuned[w.method].default_trial()),
        prepared=tune_prepared,
        out=paths.TUNE,
        checkpoints=paths.checkpoints(paths.TUNE),
        plugins=lambda w: plugins(cell_of(w).runs[w.method]),
        code=lambda w: method_code("tune", w, cell_of(w).runs[w.method]),
    shell:
        """
        collateral tune --method {params.method} --params {params.knobs:q} \
            --trials {params.trials:q} --default {params.default:q} --data {input.data:q} --split {input.split:q} \
            --model {params.model} --base {input.base:q} --prepared {params.prepared:q} \
            --seed {params.seed} --threads {threads} --code {params.code} {params.plugins} \
            --checkpoints {params.checkpoints:q} --out {params.out:q} >{log:q} 2>&1
        """


rule unlearn:
    """One run of a method or control."""
    input:
        data=paths.DATA,
        split=paths.SPLIT,
        base=base_weights,
        prepared=lambda w: tensors_in(run_prepared(w)),
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
        runtime=minutes(run_passes),
    params:
        method=lambda w: run_of(w).method.uses,
        model=lambda w: benchmark_of(w).config.model,
        knobs=lambda w: run_of(w).params.model_dump_json(),
        vary=lambda w: as_json(run_of(w).vary),
        prepared=run_prepared,
        out=paths.RUN,
        checkpoints=paths.checkpoints(paths.RUN),
        plugins=lambda w: plugins(run_of(w)),
        code=lambda w: method_code("unlearn", w, run_of(w)),
    shell:
        """
        collateral unlearn --run {wildcards.run:q} --method {params.method} \
            --params {params.knobs:q} --selected {input.selected:q} --vary {params.vary:q} \
            --data {input.data:q} --split {input.split:q} --retrained {input.retrained:q} \
            --model {params.model} --base {input.base:q} --prepared {params.prepared:q} \
            --seed {wildcards.seed} --threads {threads} --code {params.code} {params.plugins} \
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
