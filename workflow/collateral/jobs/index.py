"""Job that writes the index of all pages below results/, and the page on the paper's theory."""

from collateral.jobs._job import Job


class IndexJob(Job):
    """The index; the stage finds the pages itself, also those of other configs."""

    has_cost = False

    benchmark: str = ""
    first: tuple[str, ...]  # benchmarks to list first, in this order
    theory: str = ""  # folder of the theory, whose page is written too; empty without it
