"""The experiment: the config, checked before anything runs, and the grid that it spans."""

from collateral.config.errors import ConfigError
from collateral.config.load import check_files, load
from collateral.plan import paths
from collateral.plan.grid import build_grid
from collateral.plan.home import default_config
from collateral.plan.soundness import check_plan

# Folders on command lines are no inputs or outputs, and Snakemake would not move them.
if workflow.modifier.modify_path(paths.INDEX) != paths.INDEX:
    raise WorkflowError(
        f"Collateral writes to {paths.RESULTS}/ of the working folder: as a module, import it "
        "without `prefix:`; use a `--directory` of its own for another place."
    )

WRONG = "The config is not valid:\n"
NEEDS_DEFAULT = "benchmarks" not in config
try:
    check_files([*workflow.configfiles, *[default_config()] * NEEDS_DEFAULT])
except ConfigError as error:
    raise WorkflowError(f"{WRONG}{error}") from None
if NEEDS_DEFAULT:

    configfile: default_config()


try:
    CONFIG = load(config)
    GRID = build_grid(CONFIG)
    # Where jobs have an environment of their own, its packages are not these.
    check_plan(GRID, runs_here=not workflow.deployment_settings.deployment_method)
except ConfigError as error:
    raise WorkflowError(f"{WRONG}{error}") from None
