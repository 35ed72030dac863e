"""Load what every stage that runs a method needs: data, forget set, and results of `prepare`."""

import shutil
from pathlib import Path

from collateral.contract.params import MethodParams
from collateral.jobs._method import StartedJob
from collateral.plugins.find import prepare_values, prepared_name
from collateral.results import layout
from collateral.results.provenance import MADE, content_hash
from collateral.results.record import versions
from collateral.results.split import Split
from collateral.stages._workspace import Workspace
from collateral.training.checkpoints import Checkpoints
from collateral.training.job_io import open_session
from collateral.training.run_method import Prepared, load_method, read_prepared


class OpenedJob:
    """A method with its data, its forget set, and the results of its first phase, `prepare`."""

    def __init__(self, job: StartedJob, place: Workspace) -> None:
        """Load the data, and delete files that `prepare` wrote in an earlier run of this job."""
        self._job, self._place = job, place
        self._base = place.input("base")
        self.session = open_session(place.input("data"), place.threads, freeze=job.freeze)
        self.split = Split.load(place.input("split"), self.session.folder)
        self.method = load_method(
            job.method, job.model, self._base, job.seed, self.session, self.split
        )
        self.made: dict[str, Prepared] = {}  # results of `prepare` in this job, by folder name
        self.read: list[Path] = []  # files that this job read from the `prepare` of other jobs
        shutil.rmtree(place.out / layout.PREPARED, ignore_errors=True)

    def prepare(self, params: MethodParams, checkpoints: Checkpoints) -> Prepared | None:
        """Return the result of `prepare`: read from another job's folder, or computed and stored.

        None for a method without `prepare`.
        """
        if not self.method.has_prepare:
            return None
        place, method, root = self._place, self._job.method, self.session.folder
        name = prepared_name(method, params)
        if name in self.made:
            return self.made[name]
        folders = [record.parent / layout.PREPARED for record in place.inputs("prepared")]
        if shared := read_prepared(folders, method, params, root):
            folder, prepared = shared
            self.read.append(folder / layout.PREPARED_TENSORS)
            return prepared
        made = self.made[name] = self.method.prepare(params, checkpoints.within(name))
        # After round 1, each run starts from its own model, whose hash is in the folder's name.
        start = f"-{content_hash(self._base)[:10]}" if len(self.split.earlier) else ""
        folder = place.out / layout.PREPARED / f"{name}{start}"
        about = {"params": prepare_values(method, params), "versions": versions()}
        made.save(folder, self.session.device, root, {**place.identity, MADE: about})
        return made
