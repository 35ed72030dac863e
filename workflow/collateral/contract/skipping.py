"""How a method says that it cannot work; its row stays, without numbers."""

SKIPPED = "skipped"  # the status of such a run


class Skipped(Exception):
    """Raised by `unlearn` before its first epoch; the text is the reason, for the record."""
