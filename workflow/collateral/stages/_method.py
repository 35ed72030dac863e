"""Load what every stage that runs a method needs: data, forget set, and results of `prepare`."""

import shutil
from pathlib import Path

from collateral.contract.params import MethodParams
from collateral.plugins.find import prepare_values, prepared_name
from collateral.results import layout
from collateral.results.provenance import content_hash
from collateral.results.split import Split
from collateral.stages._options import MethodOptions
from collateral.training.checkpoints import Checkpoints
from collateral.training.job_io import open_session
from collateral.training.run_method import Prepared, load_method, read_prepared


class OpenedJob:
    """A method with its data, its forget set, and the results of its first phase, `prepare`."""

    def __init__(self, job: MethodOptions) -> None:
        """Load the data, and delete files that `prepare` wrote in an earlier run of this job."""
        self._job = job
        self.session = open_session(job.data, job.threads)
        self.split = Split.load(job.split, self.session.folder)
        self.method = load_method(
            job.method, job.model, job.base, job.seed, self.session, self.split
        )
        self.made: dict[str, Prepared] = {}  # results of `prepare` in this job, by folder name
        self.read: list[Path] = []  # files that this job read from the `prepare` of other jobs
        shutil.rmtree(job.out / layout.PREPARED, ignore_errors=True)

    def prepare(self, params: MethodParams, checkpoints: Checkpoints) -> Prepared | None:
        """Return the result of `prepare`: read from another job's folder, or computed and stored.

        None for a method without `prepare`.
        """
        if not self.method.has_prepare:
            return None
        job, root, name = self._job, self.session.folder, prepared_name(self._job.method, params)
        if name in self.made:
            return self.made[name]
        if shared := read_prepared(job.prepared, job.method, params, root):
            folder, prepared = shared
            self.read.append(folder / layout.PREPARED_TENSORS)
            return prepared
        made = self.made[name] = self.method.prepare(params, checkpoints.within(name))
        # After round 1, each run starts from its own model, whose hash is in the folder's name.
        start = f"-{content_hash(job.base)[:10]}" if len(self.split.earlier) else ""
        folder = job.out / layout.PREPARED / f"{name}{start}"
        record = {"method": job.method, **job.record(prepare_values(job.method, params))}
        made.save(folder, self.session.device, root, record)
        return made
