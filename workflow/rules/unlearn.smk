"""Rules that run unlearning methods: the teacher, tuning, and runs.

Input: the base model, the data and the forget set; Retrain only for controls that need it.
Output: the parameters selected by tuning (tune), and the unlearned model of a run with its outputs
on every example (unlearn), after every epoch for a tracked run (track). The first job that needs
files of `prepare` makes them; other jobs read them from its folder.
"""


rule teacher:
    """Train LTD's teacher for the first seed, if the selection rule of tuning uses it."""
    input:
        unpack(inputs_of("teacher")),
    output:
        teacher=paths.TEACHER_RESULT,
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
        mem_mb=memory("teacher"),
        runtime=minutes("teacher"),
    params:
        **described("teacher"),
    shell:
        RUN_JOB


rule tune:
    """Run all trials of a method for the first seed, and select one; Retrain is not an input."""
    input:
        unpack(inputs_of("tune")),
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
        mem_mb=memory("tune"),
        runtime=minutes("tune"),
    params:
        **described("tune"),
    shell:
        RUN_JOB


rule unlearn:
    """Run a method or control for one seed."""
    input:
        unpack(inputs_of("unlearn")),
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
        mem_mb=memory("unlearn"),
        runtime=minutes("unlearn"),
    params:
        **described("unlearn"),
    shell:
        RUN_JOB


use rule unlearn as track with:
    output:
        **paths.run_files(paths.RUN),
        epochs=paths.EPOCHS,
    wildcard_constraints:
        benchmark=paths.run_constraint(GRID, "track"),
