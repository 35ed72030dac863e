"""One thing that was looked for: what was found, and how to get it where it lacks."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """What was found; `remedy` where something lacks, which stops a run if it `is_needed`."""

    name: str
    found: str
    remedy: str = ""
    is_needed: bool = False

    @property
    def status(self) -> str:
        """In a word: ok, missing, or optional where one can do without."""
        if not self.remedy:
            return "ok"
        return "missing" if self.is_needed else "optional"
