"""Settings that make a run and a large dry run faster; included after all rules."""

import gc
import inspect

from snakemake.common import overwrite_function_params

from collateral.plan.run_hooks import keep_warm
from collateral.plan.run_hooks import lift_limit

# Collect garbage less often, because a DAG consists of live objects and makes little garbage.
# CPU seconds of a dry run with / without this line: 247 jobs 1.7 / 1.7; 9,991 jobs 18.1 / 21.0.
gc.set_threshold(200_000, 20, 100)
# The rules of Collateral, without those of a workflow that imports it as a module.
OWN_RULES = workflow.modifier.rules

for rule_ in OWN_RULES:
    if "benchmark" in rule_.wildcard_names and not rule_.priority:
        rule_.priority = page_by_page


def functions_in(value):
    """Return the functions by which Snakemake computes `value` for a job; a resource has two."""
    own, given = getattr(type(value), "evaluate", None), getattr(value, "_evaluator", None)
    return filter(inspect.isfunction, (value, own, given))


# Store the signature of each function, because Snakemake would inspect it again for each job.
# CPU seconds of a dry run with / without this loop: 247 jobs 1.7 / 1.7; 9,991 jobs 18.1 / 21.1.
for rule_ in OWN_RULES:
    for value in [*rule_.input, *rule_.params, *rule_.resources.values(), rule_.priority]:
        for function in functions_in(value):
            overwrite_function_params(function, inspect.signature(function).parameters)


def speed_up():
    """Lift Snakemake's limit on jobs per second, and start the server that forks local jobs."""
    lift_limit(workflow.scheduler)
    # The server cannot fork jobs for their own conda environment or for another machine.
    if workflow.local_exec and not workflow.deployment_settings.deployment_method:
        keep_warm()
