"""Time of a whole cell on digits (tuning, all methods, all metrics): ours against the plain flow.

    python benchmarks/bench_cell.py [--quick]

One cell and one seed with the methods of the default config. The base and the retrained model exist
before the measurement. Ours is snakemake on all cores, including its own start and the start of
every job. The plain flow runs the same trials one after the other in one process with torch's
default threads.
"""

import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from measure import ROOT, Row, in_turns, ratio, run, run_program

BENCHMARK, CELL = "bench", "digit_3-50"
SMALL = {"classes": ["digit_3", "digit_5", "digit_8"], "per_class": 30, "test_per_class": 20}
KEPT = {"retrain", "split.json"}  # files of the cell that exist before the measurement


def config_of(quick: bool) -> dict[str, Any]:
    """Return the default config's benchmark of all digits with one cell and one seed."""
    default = yaml.safe_load((ROOT / "config.yaml").read_text())
    benchmark = default["benchmarks"]["digits_resnet"]
    kept = {key: benchmark[key] for key in ("data", "model", "base", "methods")}
    kept |= {"classes": ["digit_3"], "fractions": [0.5], "seeds": [0], "controls": []}
    if quick:
        kept["data"] |= SMALL
        kept["base"] |= {"epochs": 2}
        kept["methods"] = {"ft": {"epochs": 1, "lr": [0.01, 0.05]}}
    return {"benchmarks": {BENCHMARK: kept}}


class Project:
    """A folder in which snakemake works on the config."""

    def __init__(self, folder: Path, config: dict[str, Any]) -> None:
        """Write the config; train the base and the retrained model, which are not measured."""
        self.config, self.folder = folder / "bench.yaml", folder
        self.config.write_text(yaml.safe_dump(config))
        self.cell = folder / "results" / BENCHMARK / CELL
        results = Path("results") / BENCHMARK
        base = results / "base" / "seed-0" / "model.safetensors"
        retrained = results / CELL / "seed-0" / "retrain" / "model.safetensors"
        self._snakemake(base, retrained)

    def ours(self) -> None:
        """Run the cell with snakemake, from the base and retrained model to the metrics."""
        for path in [*self.cell.iterdir(), *(self.cell / "seed-0").iterdir()]:
            if path.name not in KEPT | {"seed-0"}:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        self._snakemake(Path("results") / BENCHMARK / CELL / "metrics.csv")

    def plain(self) -> None:
        """Run the plain flow on the same data, split and base model."""
        words = sys.executable, "-m", "plain.cell", self.config, self.folder / "results"
        run_program(*words, cwd=ROOT / "benchmarks")

    def _snakemake(self, *targets: Path) -> None:
        options = ["--directory", self.folder, "--configfile", self.config]
        run_program("snakemake", "--cores", "all", *options, "--", *targets)


def measure(quick: bool) -> list[Row]:
    """Compare ours with the plain flow on one cell."""
    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder), config_of(quick))
        contestants = {"plain": partial(Project.plain, project), "ours": project.ours}
        seconds = in_turns(contestants, 1 if quick else 5, warm_up=False)
    walls = {name: min(each.wall for each in side) for name, side in seconds.items()}
    note = f"plain {walls['plain']:.0f} s, ours {walls['ours']:.0f} s"
    what = "a whole cell on digits: ours / plain sequential flow"
    return [ratio(what, seconds["ours"], seconds["plain"], at_most=0.25, note=note)]


if __name__ == "__main__":
    run(measure, __doc__)
