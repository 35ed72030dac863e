"""Which jobs come first: of the first benchmark, and those that look at the user's files."""

import pytest
from conftest import REPOSITORY, Job, copy_project, read_yaml, write_weights

pytestmark = pytest.mark.workflow
BENCHMARKS = [*read_yaml(REPOSITORY / "config.yaml")["benchmarks"]]


@pytest.fixture(scope="module")
def jobs(tmp_path_factory) -> list[Job]:
    """The jobs of the default run."""
    return copy_project(tmp_path_factory.mktemp("planned")).jobs("--configfile", "config.yaml")


def test_an_earlier_benchmark_comes_first_and_the_theory_last(jobs):
    priorities: dict[str | None, set[int]] = {}
    for job in jobs:
        priorities.setdefault(job.wildcards.get("benchmark"), set()).add(job.priority)
    # None: the theory and the index. Below zero Snakemake's ILP scheduler would start nothing.
    assert priorities.pop(None) == {0}
    assert priorities == {name: {len(BENCHMARKS) - i} for i, name in enumerate(BENCHMARKS)}


OWN = """
benchmarks:
  own:
    data: {name: digits}
    model: mlp
    base: {epochs: 1}
    seeds: [0]
    classes: [digit_3]
    fractions: [0.5]
    methods: {ft: {}}
    given: {theirs: {weights: made.pt}}
    retrain: {weights: made.pt}
"""


def test_weights_of_the_user_are_looked_at_before_anything_is_trained(tmp_path):
    project = copy_project(tmp_path)
    (project.folder / "own.yaml").write_text(OWN)
    write_weights(project.folder / "made.pt", "mlp", 10, (8, 8, 1))
    found = {job.rule: job.priority for job in project.jobs("--configfile", "own.yaml")}
    assert found["given"] == found["retrain"] == 2
    assert found["base"] == found["unlearn"] == found["data"] == 1


def test_a_page_waits_for_its_own_benchmark_alone_and_not_for_the_theory(jobs):
    reports = {job.wildcards["benchmark"]: job for job in jobs if job.rule == "report"}
    assert {*reports} == {*BENCHMARKS}
    for name, job in reports.items():
        assert {file.split("/")[1] for file in job.input} == {name}
