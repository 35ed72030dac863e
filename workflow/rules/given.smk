"""Rule that evaluates weights that another program unlearned.

Input: the user's file, the data and the forget set. Output: the same files as for a method's run,
so that tables and pages show it beside the methods.
"""


rule given:
    """Evaluate the user's unlearned weights; nothing is trained."""
    input:
        unpack(inputs_of("given")),
    output:
        **paths.run_files(paths.RUN),
    log:
        paths.log("given", "benchmark", "cell", "seed", "run"),
    wildcard_constraints:
        benchmark=paths.run_constraint(GRID, "given"),
    priority: files_first("given")
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        gpu=WHOLE_GPU,
        mem_mb=memory("given"),
        runtime=minutes("given"),
    params:
        **described("given"),
    shell:
        RUN_JOB
