"""Job that selects the forget set of a cell."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from collateral.jobs._job import Inputs, Job, PlannedInCell
from collateral.plan import paths
from collateral.plan.fingerprint import stage_code
from collateral.plugins.find import FORGET
from collateral.results import layout
from collateral.results.provenance import content_hash

LIST_HASH = "sha256"  # key in `chosen` for the hash of a list of examples to forget


class SplitJob(Job):
    """Selection of the examples to forget."""

    folder = layout.CELL
    has_cost = False

    cell: str
    forget: str  # kind of the forget set
    params: dict[str, Any]
    # What decides which examples to forget, besides the labels.
    needs: Literal["base", "shadows", "images"] | None = None
    base_seed: int = 0
    num_shadows: int = 0
    earlier: tuple[str, ...] = ()  # cells of all earlier rounds

    @property
    def inputs(self) -> Inputs:
        """Labels, earlier forget sets; the base's outputs, the shadows' margins, or the images."""
        base = f"{self.path(layout.BASE, seed=self.base_seed)}/{layout.OUTPUTS}"
        shadows = [self.path(layout.SHADOW, member=n) for n in range(self.num_shadows)]
        margins = [f"{folder}/{layout.MARGINS}" for folder in shadows]
        files = {"base": [base], "shadows": margins, "images": [layout.DATA], None: []}
        earlier = [self.path(layout.SPLIT, cell=name) for name in self.earlier]
        return {"labels": layout.LABELS, "needed": files[self.needs], "earlier": earlier}

    @property
    def records(self) -> dict[str, list[str]]:
        """The file split.json, which is the record of its job."""
        return {self.path(layout.SPLIT): []}


class PlannedSplit(PlannedInCell):
    """Planned job that chooses the forget set of a cell."""

    describes = SplitJob
    seconds = 0.1

    @property
    def values(self) -> dict[str, Any]:
        """Kind and parameters of the forget set, and what decides about its examples."""
        benchmark, forget = self.benchmark, self.cell.forget
        shadows = {"num_shadows": benchmark.pool.count} if forget.needs == "shadows" else {}
        first = benchmark.base_seed(benchmark.seeds[0])
        params = json.loads(json.dumps(forget.params))  # classes given by number become text
        base = {"base_seed": first} if forget.needs == "base" else {}
        about = {
            "forget": forget.kind,
            "params": params,
            "needs": forget.needs or None,
        }
        return {**about, **base, **shadows, "earlier": tuple(forget.earlier)}

    @property
    def user_files(self) -> list[str]:
        """User's list of examples to forget; empty if it does not exist."""
        path = self.cell.forget.params.get("path")
        file = None if path is None else Path(path).expanduser()
        return [str(file)] if file and file.exists() else []

    def user_hashes(self, found: Mapping[str, Any]) -> dict[str, str | None]:
        """Return the hash of the user's list, if it exists and the forget set names its hash."""
        if LIST_HASH not in found.get("chosen", {}) or not self.user_files:
            return {}
        return {f"chosen.{LIST_HASH}": content_hash(Path(self.user_files[0]))}

    @property
    def split(self) -> str:
        """Path of the file that contains the forget set."""
        return self.path(paths.SPLIT)

    @property
    def code(self) -> str:
        """Fingerprint of the code that selects the forget set."""
        return stage_code("split", FORGET.module(self.cell.forget.kind))
