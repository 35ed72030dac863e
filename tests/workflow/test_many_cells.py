"""Two thousand cells, planned: every command is one argument of a shell, and Linux has a limit."""

import pytest
from conftest import SMOKE

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
CONFIG = """
benchmarks:
  many:
    data: {name: synthetic, families: 100, classes_per_family: 10}
    model: mlp
    seeds: [0]
    classes: CLASSES
    fractions: [0.5, 0.9]
    methods: {ga: {}}
"""


def test_no_command_comes_near_what_one_argument_may_hold(fresh):
    config = fresh.folder / SMOKE[1]
    config.write_text(CONFIG.replace("CLASSES", str(list(range(1000)))))
    jobs = fresh.jobs(*SMOKE)
    assert sum(job.rule == "metrics" for job in jobs) == 2000
    assert {"data", "gather", "tables", "figures", "report", "index"} < {job.rule for job in jobs}
    longest = max(jobs, key=lambda job: len(" ".join(job.command)))
    assert len(" ".join(longest.command)) < 100_000, longest.rule  # of 131,072
