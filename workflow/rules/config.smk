"""Read and check the config before any job runs, and expand it into all runs."""

from pathlib import Path

from snakemake.common.configfile import load_configfile

from collateral.config.errors import ConfigError
from collateral.config.load import load
from collateral.config.yaml import read_file, reread
from collateral.plan import paths
from collateral.plan.grid import build_grid
from collateral.plan.paths import default_config
from collateral.plan.preflight import check_plan

# `prefix:` is refused, because Snakemake would not add it to the folders on command lines.
if workflow.modifier.modify_path(paths.INDEX) != paths.INDEX:
    raise WorkflowError(
        f"Collateral writes to {paths.RESULTS}/ of the working folder: as a module, import it "
        "without `prefix:`; use a `--directory` of its own for another place."
    )

WRONG = "The config is not valid:\n"
KNOWN = {}  # contents of config files that were read already
if "benchmarks" not in config:
    try:
        # This reports errors that Snakemake's reader hides.
        KNOWN[str(default_config())] = read_file(Path(default_config()))
    except ConfigError as error:
        raise WorkflowError(f"{WRONG}{error}") from None

    configfile: default_config()


try:
    CONFIG = load(reread(config, workflow, load_configfile, KNOWN))
    GRID = build_grid(CONFIG)
    # Installed packages are not checked here if jobs run in their own software environments.
    check_plan(
        GRID,
        runs_here=not workflow.deployment_settings.deployment_method,
        is_first=workflow.is_main_process,
        # A dry run of a cluster's profile has the executor of a dry run.
        on_this_machine=workflow.local_exec and not workflow.dryrun,
    )
except ConfigError as error:
    raise WorkflowError(f"{WRONG}{error}") from None
