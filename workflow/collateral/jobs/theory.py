"""Job of the paper's theory: identities, rates and limits, and the synthetic figures."""

from collateral.jobs._job import Job
from collateral.results import layout


class TheoryJob(Job):
    """Tables and figures of the theory."""

    has_cost = False

    benchmark: str = ""
    seed: int
    runs: int  # of each experiment and check
    width: float  # of the figures, in inches

    @property
    def files(self) -> dict[str, str]:
        """The folder of the theory."""
        return {"theory": layout.THEORY}
