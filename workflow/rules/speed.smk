"""What makes a run and a large plan fast; included after all rules."""

import gc
import inspect

from snakemake.common import overwrite_function_params

from collateral.plan.schedule import lift_limit
from collateral.plan.warm import keep_warm

# A DAG is all live objects: looking through them for garbage is a seventh of a large dry run.
gc.set_threshold(200_000, 20, 100)
# Not those of a workflow that imports this one as a module.
OWN_RULES = workflow.modifier.rules

for rule_ in OWN_RULES:
    if "benchmark" in rule_.wildcard_names and not rule_.priority:
        rule_.priority = page_by_page


def functions_in(value):
    """Return the functions by which Snakemake finds a value of each job; a resource has two."""
    own, given = getattr(type(value), "evaluate", None), getattr(value, "_evaluator", None)
    return filter(inspect.isfunction, (value, own, given))


# Snakemake looks for the parameters of a function each time: a tenth of a dry run.
for rule_ in OWN_RULES:
    for value in [*rule_.input, *rule_.params, *rule_.resources.values(), rule_.priority]:
        for function in functions_in(value):
            overwrite_function_params(function, inspect.signature(function).parameters)


def speed_up():
    """Before the first job: no limit but the user's, and warm workers, see docs/speed.md."""
    lift_limit(workflow.scheduler)
    # Not where jobs have an environment, or a machine, of their own.
    if workflow.local_exec and not workflow.deployment_settings.deployment_method:
        keep_warm()
