"""Settings that make a run and a large dry run faster; included after all rules."""

import gc
import inspect

from snakemake.common import overwrite_function_params

from collateral.plan.run_hooks import keep_warm
from collateral.plan.run_hooks import lift_limit

# Garbage collection rarely finds garbage, because a DAG consists of live objects.
# CPU seconds of a dry run with / without this: 247 jobs 1.7 / 1.7; 9,991 jobs 18.1 / 21.0.
gc.set_threshold(200_000, 20, 100)
# The rules of Collateral, without those of a workflow that imports it as a module.
OWN_RULES = workflow.modifier.rules

for rule_ in OWN_RULES:
    if "benchmark" in rule_.wildcard_names and not rule_.priority:
        rule_.priority = page_by_page


def functions_in(value):
    """Return the functions that compute a value of each job; a resource has two of them."""
    own, given = getattr(type(value), "evaluate", None), getattr(value, "_evaluator", None)
    return filter(inspect.isfunction, (value, own, given))


# Snakemake would inspect the signature of each function again for each job.
# CPU seconds of a dry run with / without this: 247 jobs 1.7 / 1.7; 9,991 jobs 18.1 / 21.1.
for rule_ in OWN_RULES:
    for value in [*rule_.input, *rule_.params, *rule_.resources.values(), rule_.priority]:
        for function in functions_in(value):
            overwrite_function_params(function, inspect.signature(function).parameters)


def speed_up():
    """Before the first job, lift Snakemake's default limit and start the warm server."""
    lift_limit(workflow.scheduler)
    # Jobs with their own conda environment or machine cannot be forked from this one.
    if workflow.local_exec and not workflow.deployment_settings.deployment_method:
        keep_warm()
