"""How the examples of an epoch of training are parted into batches."""

# In train mode batch norm takes mean and deviation from the batch: where the maps of a network are
# 1 x 1, those of two examples say nothing, and one step on them can ruin a model.
LEAST_BATCH = 8


def batch_sizes(examples: int, size: int) -> list[int]:
    """Return the sizes of an epoch's batches in order.

    A rest of fewer than LEAST_BATCH examples joins the batch before it, if there is one.
    """
    full, rest = divmod(examples, size)
    if full and 0 < rest < LEAST_BATCH:
        return [size] * (full - 1) + [size + rest]
    return [size] * full + [rest] * (rest > 0)


def num_batches(examples: int, size: int) -> int:
    """Return how many batches an epoch has."""
    return len(batch_sizes(examples, size))
