"""How large LTD's support should be, without the retrained model.

In: the base model, the data and the forget set; never Retrain. Out: what teachers on supports of
every size say of the forget set, and whom one step of gradient ascent hurts.
"""


rule diagnose:
    """LTD's teacher on supports of every size; it has no path to Retrain."""
    input:
        data=paths.DATA,
        split=paths.SPLIT,
        base=base_weights,
        selected=diagnosed_selected,
    output:
        diagnosis=f"{paths.DIAGNOSE}/{paths.DIAGNOSIS}",
        record=f"{paths.DIAGNOSE}/{paths.RECORD}",
        cost=f"{paths.DIAGNOSE}/{paths.COST}",
    log:
        paths.log("diagnose", "benchmark", "cell", "seed"),
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        gpu=1,
        mem_mb=memory,
        runtime=minutes(diagnose_work),
    params:
        method=lambda w: cell_of(w).diagnosed.method.uses,
        model=lambda w: benchmark_of(w).config.model,
        knobs=diagnosed_values,
        sizes=lambda w: benchmark_of(w).config.support_size.k,
        top=lambda w: cell_of(w).diagnosed.params.top,
        out=paths.DIAGNOSE,
        checkpoints=paths.checkpoints(paths.DIAGNOSE),
        code=lambda w: method_code("diagnose", w, cell_of(w).diagnosed),
    shell:
        """
        collateral diagnose --method {params.method} --params {params.knobs:q} \
            --sizes {params.sizes} --top {params.top} --selected {input.selected:q} \
            --data {input.data:q} --split {input.split:q} \
            --model {params.model} --base {input.base:q} \
            --seed {wildcards.seed} --threads {threads} --code {params.code} \
            --checkpoints {params.checkpoints:q} --out {params.out:q} >{log:q} 2>&1
        """
