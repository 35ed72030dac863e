"""The command `collateral` with epochs of three training steps, to measure memory.

python benchmarks/few_steps.py train --data ...    # like `collateral train --data ...`
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from collateral.cli import main
from collateral.training.examples import Batch, Examples

NUM_STEPS = 3
whole_epoch = Examples.batches


def few_batches(examples: Examples, *args: Any, **options: Any) -> Iterator[Batch]:
    """Return the first batches of an epoch."""
    return islice(whole_epoch(examples, *args, **options), NUM_STEPS)


if __name__ == "__main__":
    Examples.batches = few_batches  # type: ignore[method-assign]
    main()
