"""The change to Snakemake's SLURM plug-in: on a stand-in, and on the plug-in that is installed."""

from importlib.metadata import version
from types import SimpleNamespace

import pytest

from collateral.plan.run_hooks import SLURM_PLUGIN, SlurmPluginError, patch_slurm_plugin


class Executor:
    """As the plug-in's: it sets when to look again, and asks for it."""

    next_seconds_between_status_checks = 40

    def wait_longer(self):
        self.next_seconds_between_status_checks += 10


def plugin_like(executor=Executor):
    """Return a module of which a test may change everything."""
    own = type("Executor", (executor,), {})
    return SimpleNamespace(__name__="plugin", Executor=own, get_min_job_age=lambda: None)


def test_it_looks_as_often_as_at_first_however_long_no_job_ends():
    plugin = plugin_like()
    patch_slurm_plugin(plugin, wait=5, memory=300)
    executor = plugin.Executor()
    executor.wait_longer()
    assert executor.next_seconds_between_status_checks == 5


def test_it_takes_squeues_memory_for_known():
    plugin = plugin_like()
    patch_slurm_plugin(plugin, wait=5, memory=300)
    assert plugin.get_min_job_age() == 300


@pytest.mark.parametrize("missing", ["Executor", "get_min_job_age"])
def test_another_plugin_is_refused(missing):
    plugin = plugin_like()
    delattr(plugin, missing)
    with pytest.raises(SlurmPluginError, match=f"plugin is not as of {SLURM_PLUGIN}"):
        patch_slurm_plugin(plugin, wait=5, memory=300)


def test_the_installed_plugin_is_the_one_that_this_was_made_for():
    module = pytest.importorskip("snakemake_executor_plugin_slurm")
    assert version("snakemake-executor-plugin-slurm").startswith(f"{SLURM_PLUGIN}.")
    used = module.Executor.check_active_jobs.__code__.co_names
    assert {"get_min_job_age", "next_seconds_between_status_checks"} <= {*used}
