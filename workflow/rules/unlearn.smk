"""Unlearning.

In: the base model, the data and the forget set; never Retrain, but for controls that ask for it.
Out: the unlearned model of a run and what it says of every example.
"""


def base_weights(w):
    seed = benchmark_of(w).base_seed(int(w.seed))
    return f"{paths.BASE}/{paths.MODEL}".format(benchmark=w.benchmark, seed=seed)


rule unlearn:
    """One run of a method or control."""
    input:
        data=paths.DATA,
        split=paths.SPLIT,
        base=base_weights,
    output:
        **paths.run_files(paths.RUN),
    log:
        paths.log("unlearn", "benchmark", "cell", "seed", "run"),
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        gpu=1,
    params:
        method=lambda w: run_of(w).method.uses,
        model=lambda w: benchmark_of(w).config.model,
        knobs=lambda w: run_of(w).method.params(run_of(w).vary).model_dump_json(),
        out=lambda w: paths.RUN.format(**w),
        checkpoints=lambda w: paths.checkpoints(paths.RUN).format(**w),
        plugins=plugins(),
        code=lambda w: code_of(
            "unlearn", method_module(run_of(w).method.uses, "method"), model_module(w)
        ),
    shell:
        """
        collateral unlearn --run {wildcards.run:q} --method {params.method} \
            --params {params.knobs:q} --data {input.data:q} --split {input.split:q} \
            --model {params.model} --base {input.base:q} \
            --seed {wildcards.seed} --threads {threads} --code {params.code} {params.plugins} \
            --checkpoints {params.checkpoints:q} --out {params.out:q} > {log:q} 2>&1
        """
