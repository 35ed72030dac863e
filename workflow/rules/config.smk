"""The experiment: the config, checked before anything runs, and the grid that it spans."""

from collateral.config.errors import ConfigError
from collateral.config.load import check_files, load
from collateral.plan.grid import build_grid
from collateral.plan.soundness import check_plan

WRONG = "The config is not valid:\n"
NEEDS_DEFAULT = "benchmarks" not in config
try:
    check_files([*workflow.configfiles, *["config.yaml"] * NEEDS_DEFAULT])
except ConfigError as error:
    raise WorkflowError(f"{WRONG}{error}") from None
if NEEDS_DEFAULT:

    configfile: "config.yaml"


try:
    CONFIG = load(config)
    GRID = build_grid(CONFIG)
    # Where jobs have an environment of their own, its packages are not these.
    check_plan(GRID, runs_here=not workflow.deployment_settings.deployment_method)
except ConfigError as error:
    raise WorkflowError(f"{WRONG}{error}") from None
