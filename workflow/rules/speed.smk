"""What makes a large plan fast; included after all rules that ask functions."""

import gc
import inspect

# A DAG is all live objects: looking through them for garbage is a ninth of a large dry run.
gc.set_threshold(200_000, 20, 100)

# Snakemake asks for the signature of each function again for each job: an eighth of a dry run.
for rule_ in workflow.rules:
    for function in [*rule_.input, *rule_.params, *rule_.resources.values()]:
        if inspect.isfunction(function):
            function.__signature__ = inspect.signature(function)
