"""Put one bug after another into a copy of the project: do the nearest tests see it?

    python tools/bugs.py                   # all of them, one after another: about 20 minutes
    python tools/bugs.py report drawn      # those whose area or words have one of these in them
    python tools/bugs.py --jobs 2
    python tools/bugs.py --stale           # no test: only the bugs that can no longer be put in

A bug is a text in a file, another one in its place, and the tests that should fail: not a diff,
whose lines around a change move with every other change. Where a file was renamed, the old text is
looked for in all of workflow/; where the text itself is gone, the bug is printed as stale and is to
be written anew. `mutants.py` breaks the pure modules by rule, everywhere; these are bugs as a tired
engineer writes them, a few in every area, tables, plots and pages among them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "workflow/collateral"
SUFFIXES = (".py", ".smk", ".j2")
SECONDS = 900  # in which a bug must be seen

# Tests of the numbers, tables, sentences, pages and plots of one made-up benchmark.
NUMBERS = "unit/test_numbers_of_outputs"
TABLES = "unit/test_shown_tables"
SENTENCES = "unit/test_shown_sentences"
PAGE = "unit/test_shown_page"
BROWSER = "unit/test_shown_in_browser"
DRAWN = "unit/test_plots*"  # of plots, and of figures and charts made from them


@dataclass(frozen=True)
class Bug:
    """A text of a file, the text with the bug, and the tests that should see it."""

    area: str
    words: str
    file: str  # below workflow/collateral, or workflow/ where it begins with a dot
    old: str
    new: str
    tests: tuple[str, ...]

    def path(self, root: Path) -> Path | None:
        """Return the file that has the old text once; None where there is none."""
        first = root / PACKAGE / self.file if not self.file.startswith(".") else None
        first = first or root / "workflow" / self.file.removeprefix("./")
        texts = source_texts(root)
        files = [first, *texts]
        return next((p for p in files if texts.get(p, "").count(self.old) == 1), None)

    def missing_tests(self, root: Path) -> list[str]:
        """Return the patterns of tests that no test file matches."""
        return [name for name in self.tests if not [*(root / "tests").glob(f"{name}.py")]]

    def problems(self, root: Path) -> list[str]:
        """Return the reasons why the bug cannot be tried any more."""
        found = [f"no test file matches {name}" for name in self.missing_tests(root)]
        if self.path(root) is None:
            files = [p for p, text in source_texts(root).items() if self.old in text]
            where = f"{len(files)} files, or twice in one" if files else "no file"
            found.insert(0, f"its text is in {where} of workflow/: {self.old!r}")
        return found


@cache
def source_texts(root: Path) -> dict[Path, str]:
    """Return the text of every rule, module and template below workflow/, read once."""
    files = sorted((root / "workflow").rglob("*"))
    return {p: p.read_text() for p in files if p.is_file() and p.suffix in SUFFIXES}


BUGS = (
    # Numbers.
    Bug(
        "numbers",
        "losses are against Retrain of the first seed, not of the same",
        "findings/locality/numbers.py",
        "self.correctness(self.cell.reference_result(seed))",
        "self.correctness(self.cell.reference_result(self.cell.seeds[0]))",
        (NUMBERS, "unit/test_finding_locality", "unit/test_stage_metrics"),
    ),
    Bug(
        "numbers",
        "a gap is the mean of distances, not the distance of means",
        "metrics/statistics.py",
        "abs(run[name].mean() - reference[name].mean())",
        "abs(run[name] - reference[name]).mean()",
        (NUMBERS, "unit/test_finding_gap"),
    ),
    Bug(
        "numbers",
        "Retrain's tug of war is against the previous seed",
        "metrics/statistics.py",
        "np.roll(values, -1, axis=0)",
        "np.roll(values, 1, axis=0)",
        (NUMBERS, "unit/test_finding_tow"),
    ),
    Bug(
        "numbers",
        "RMIA's OUT models include the Retrain of the attacked seed",
        "findings/rmia/numbers.py",
        "[pair for seed, pair in out.items() if seed != result.seed]",
        "[pair for seed, pair in out.items()]",
        (NUMBERS, "unit/test_finding_rmia"),
    ),
    Bug(
        "numbers",
        "KL is of the unlearned model from Retrain, the wrong way round",
        "metrics/divergence.py",
        "np.maximum(own - np.vecdot(p, log_q), 0)",
        "np.maximum(np.vecdot(q, log_q) - np.vecdot(q, log_p), 0)",
        (NUMBERS, "unit/test_finding_divergence"),
    ),
    Bug(
        "numbers",
        "the slope of every seed is over the similarities of the first",
        "findings/classes/numbers.py",
        "fitted_slope(similarity[result.seed], ",
        "fitted_slope(similarity[cell.seeds[0]], ",
        (SENTENCES, "unit/test_finding_classes"),
    ),
    Bug(
        "numbers",
        "the midpoint is taken from the difference, not from the sum",
        "findings/verdict/rule.py",
        "middle = (samples.base_ua + samples.retrained[..., UA, :]) / 2",
        "middle = (samples.base_ua - samples.retrained[..., UA, :]) / 2",
        (NUMBERS, "unit/test_finding_verdict"),
    ),
    Bug(
        "numbers",
        "the relearning gap counts the step before the first",
        "findings/probe/numbers.py",
        "own[:, 1:] - reference[:, 1:]",
        "own - reference",
        (NUMBERS, "unit/test_finding_probe"),
    ),
    Bug(
        "numbers",
        "one bin fewer is near",
        "metrics/similarity.py",
        "int(np.searchsorted(from_top, wanted)) + 1",
        "max(int(np.searchsorted(from_top, wanted)), 1)",
        (NUMBERS, "unit/test_finding_locality"),
    ),
    Bug(
        "numbers",
        "what tuning's teacher took is left out of where a method pays",
        "findings/costs/numbers.py",
        "costs = [cell.tuning_cost(method), *cell.teacher_costs(method)]",
        "costs = [cell.tuning_cost(method)]",
        (NUMBERS, "unit/test_tables_costs"),
    ),
    # Results.
    Bug(
        "results",
        "kept numbers are used again after the attacks have changed",
        "results/row_cache.py",
        "[*map(file_hash, paths), self.cell.attacks, versions()]",
        "[*map(file_hash, paths), versions()]",
        ("unit/test_results_kept",),
    ),
    Bug(
        "results",
        "over seeds, the status is the best one, not the worst",
        "results/cell.py",
        "return max((self.result(run, s).status for s in seeds), key=STATUSES.index)",
        "return min((self.result(run, s).status for s in seeds), key=STATUSES.index)",
        ("unit/test_results_table", "unit/test_stage_metrics"),
    ),
    Bug(
        "results",
        "a standard error divides by all seeds, also those that are undefined",
        "results/table.py",
        "float(np.sqrt(np.count_nonzero(~np.isnan(values)) or np.nan))",
        "float(np.sqrt(len(values) or np.nan))",
        ("unit/test_results_table", "unit/test_finding_paper"),
    ),
    Bug(
        "results",
        "of many classes, the rest is shared out among all, also the kept",
        "results/outputs.py",
        'each = (parts["rest"] - np.log(count - KEPT)).astype(np.float16)',
        'each = (parts["rest"] - np.log(count)).astype(np.float16)',
        ("unit/test_results_files", "contract/test_stages_training"),
    ),
    Bug(
        "results",
        "a new file of a joined archive keeps its time, and may be older than what it was made of",
        "results/unbundle.py",
        "os.utime(target, ns=(known.get(name, now),) * 2)",
        "os.utime(target, ns=(known.get(name, target.stat().st_mtime_ns),) * 2)",
        ("unit/test_bundle",),
    ),
    # Training and stages.
    Bug(
        "training",
        "images are flipped upside down",
        "training/examples.py",
        "torch.where(mirrored[:, None, None, None], crops.flip(2), crops)",
        "torch.where(mirrored[:, None, None, None], crops.flip(1), crops)",
        ("contract/test_examples",),
    ),
    Bug(
        "training",
        "warming up begins at a rate of zero and never reaches the whole",
        "training/fit.py",
        "enumerate(batches, start=done + 1)",
        "enumerate(batches, start=done)",
        ("contract/test_fit",),
    ),
    Bug(
        "training",
        "all members of a shadow pool draw the same batches",
        "stages/shadow.py",
        'Run(session.device, derive_seed("shadow", job.seed), checkpoints=checkpoints)',
        'Run(session.device, derive_seed("shadow", count), checkpoints=checkpoints)',
        ("contract/test_stage_shadows",),
    ),
    Bug(
        "training",
        "tuning may choose the defaults, which are no candidate",
        "stages/tune.py",
        "trials = rows[: len(candidates)]",
        "trials = rows",
        ("contract/test_stages_training", "unit/test_selection"),
    ),
    Bug(
        "training",
        "relearning is measured on the half that is learned",
        "training/probes.py",
        "        curve.append(accuracy(model, measured))",
        "        curve.append(accuracy(model, learnt))",
        ("contract/test_stage_probe",),
    ),
    Bug(
        "training",
        "the shown neighbours are those of the first seed alone",
        "stages/neighbours.py",
        "mean = {name: np.mean([of[name] for of in by_seed], axis=0) for name in by_seed[0]}",
        "mean = {name: by_seed[0][name] for name in by_seed[0]}",
        ("unit/test_neighbours",),
    ),
    # Data.
    Bug(
        "data",
        "a cut keeps the last examples of each class, not the first",
        "data/_subset.py",
        "keep[members[limit:]] = False",
        "keep[members[: len(members) - limit]] = False",
        ("unit/test_cut",),
    ),
    Bug(
        "data",
        "classes are numbered in the data set's order, not as listed",
        "data/_subset.py",
        "new[kept] = np.arange(len(kept))",
        "new[sorted(kept)] = np.arange(len(kept))",
        ("unit/test_cut",),
    ),
    Bug(
        "data",
        "the seed of a drawn test set does nothing",
        "data/_readers/test_set.py",
        'derive_seed("test", seed, keys[row])',
        'derive_seed("test", keys[row])',
        ("unit/test_draws_of_data", "unit/test_parquet", "contract/test_torchvision_sets"),
    ),
    Bug(
        "data",
        "floats become bytes by cutting off, not by rounding",
        "data/_readers/examples.py",
        "np.rint(images.astype(np.float32) * 255)",
        "(images.astype(np.float32) * 255)",
        ("contract/test_data_arrays",),
    ),
    Bug(
        "data",
        "subject 1 forgets 10 and 11 as well",
        "data/forget/where.py",
        "if value in wanted]",
        "if any(value.startswith(one) for one in wanted)]",
        ("contract/test_forget_sets", "unit/test_deletion_requests"),
    ),
    # Plan and rules.
    Bug(
        "plan",
        "a tuning is made again when `unlearn` changes, and not when `tune` does",
        "plan/jobs/_method.py",
        "return method_code(self.kind_name, self.spec, self.model)",
        'return method_code("unlearn", self.spec, self.model)',
        ("unit/test_jobs", "workflow/test_wiring"),
    ),
    Bug(
        "plan",
        "where seeds share a base, runs wait for one of their own",
        "plan/jobs/_method.py",
        "seed = self.benchmark.base_seed(self.seed)",
        "seed = self.seed",
        ("unit/test_jobs",),
    ),
    Bug(
        "plan",
        "the metrics do not wait for weights that somebody else unlearned",
        "plan/jobs/given.py",
        '    stage = "given"\n',
        '    stage = "given"\n    evaluated = ""\n',
        ("unit/test_jobs", "workflow/test_wiring"),
    ),
    Bug(
        "plan",
        "shadow models are trained from scratch where the base starts from weights",
        "./rules/shadows.smk",
        "--model {params.model:q} --params {params.training:q} {params.start} \\",
        "--model {params.model:q} --params {params.training:q} \\",
        ("workflow/test_wiring",),
    ),
    Bug(
        "plan",
        "a method on shadow models has its defaults, not what tuning chose",
        "./rules/shadows.smk",
        "collateral expose {params.plugins} {params.options} --selected {input.selected:q} \\",
        "collateral expose {params.plugins} {params.options} \\",
        ("workflow/test_wiring",),
    ),
    Bug(
        "plan",
        "runs of two tunings share what was prepared for one of them",
        "plan/jobs/_method.py",
        "run.tuned_by if len(run.preparations) > 1 else None)",
        "None)",
        ("unit/test_preparation", "unit/test_jobs"),
    ),
    Bug(
        "plan",
        "the page is not made again when a table or plot has changed",
        "plan/report_plan.py",
        '"report": ["views"],',
        '"report": ["numbers"],',
        ("unit/test_presentation",),
    ),
    Bug(
        "plan",
        "the page is not made again when its style or scripts have changed",
        "plan/report_plan.py",
        'return files_hash(folder, "*.j2")',
        'return files_hash(folder, "*.html.j2")',
        ("unit/test_presentation",),
    ),
    # Tables and sentences.
    Bug(
        "shown",
        "a teacher's deviation is held against a floor of its own, which it has not",
        "findings/_shared/compare.py",
        "noise_floor(row.cell, str(self.reference_metric))",
        "noise_floor(row.cell, self.metric)",
        (TABLES, "unit/test_tables_sweeps"),
    ),
    Bug(
        "shown",
        "the chance of test examples is that of retained ones",
        "findings/locality/views.py",
        '"chance": noise_floor_by_sd(cell, record["metric"], record["set"])}',
        '"chance": noise_floor_by_sd(cell, record["metric"], RETAIN)}',
        (TABLES, "unit/test_views"),
    ),
    Bug(
        "shown",
        "a sentence names the margin of damage as that of UA",
        "findings/verdict/sentences.py",
        "f\"±{_points(cell.number(run, 'margin', at=at))}\"",
        "f\"±{_points(cell.number(run, 'margin', at='damage'))}\"",
        (SENTENCES, "unit/test_finding_verdict"),
    ),
    Bug(
        "shown",
        "within a budget, the gap of the whole run is named",
        "findings/trajectory/views.py",
        "paths.by_run[runs[0]].within[share][0]",
        "paths.by_run[runs[0]].gap[-1]",
        (SENTENCES, "unit/test_tables_trajectory"),
    ),
    Bug(
        "shown",
        "behind ± stands a standard deviation where the caption says half an interval",
        "findings/classes/views.py",
        'Column("class_drop", heading=label, run=run, sign=True, spread=interval_half_width)',
        'Column("class_drop", heading=label, run=run, sign=True)',
        (TABLES, "unit/test_views"),
    ),
    # Figures and charts.
    Bug(
        "drawn",
        "the ends of an interval are the wrong way round, also in what hovering says",
        "findings/_shared/series.py",
        "[m + sign * h for m, h in zip(means, halves, strict=True)] for sign in (-1, 1)",
        "[m + sign * h for m, h in zip(means, halves, strict=True)] for sign in (1, -1)",
        (DRAWN,),
    ),
    Bug(
        "drawn",
        "the grey band of chance is half as high as it should be",
        "findings/accuracy/views.py",
        "Band(place - 0.48, place + 0.48, -half, half, NOISE_LABEL)",
        "Band(place - 0.48, place + 0.48, -half / 2, half / 2, NOISE_LABEL)",
        (DRAWN,),
    ),
    Bug(
        "drawn",
        "the lines of budgets stand at ten times their shares",
        "findings/trajectory/views.py",
        'Level(share / 100 * cost, "x", ',
        'Level(share / 10 * cost, "x", ',
        (DRAWN,),
    ),
    Bug(
        "drawn",
        "hovering says the damage where it should say the forgetting error",
        "findings/verdict/views.py",
        '"forgetting error": [format_number(error, ".1f", " points")]',
        '"forgetting error": [format_number(record["damage"], ".1f", " points")]',
        (DRAWN,),
    ),
    Bug(
        "drawn",
        "the dashed line stands at the lower end of the band, not at Retrain's level",
        "findings/_shared/series.py",
        '[Level(level, dash="dashed", ',
        '[Level(level - noise, dash="dashed", ',
        (DRAWN,),
    ),
    # The report.
    Bug(
        "report",
        "a number is said to stand one line above its own",
        "report/provenance.py",
        "enumerate(csv.DictReader(rows), 2)",
        "enumerate(csv.DictReader(rows), 1)",
        (PAGE, "unit/test_provenance"),
    ),
    Bug(
        "report",
        "the class of a test image is that of the train example of its number",
        "report/images.py",
        "label = (labels.test if is_test else labels.train)[place]",
        "label = labels.train[place]",
        (PAGE, "unit/test_report"),
    ),
    Bug(
        "report",
        "below an image stands the confidence of the first seed, not the mean",
        "report/images.py",
        "RunOutputs(run, np.mean(confidence, axis=0), ",
        "RunOutputs(run, confidence[0], ",
        (PAGE, "unit/test_report"),
    ),
    Bug(
        "report",
        "every seed of a run is told by the record of the first",
        "report/provenance.py",
        "path = folder / place.format(cell=cell.name, seed=seed, run=run) / layout.RECORD",
        "path = folder / place.format(cell=cell.name, seed=cell.seeds[0], run=run) / layout.RECORD",
        (PAGE, "unit/test_provenance"),
    ),
    Bug(
        "report",
        "in print, the images of all methods but one are missing",
        "report/style.css.j2",
        "  .strip[hidden], .tab[hidden] { display: block; }\n",
        "  .tab[hidden] { display: block; }\n",
        (BROWSER, "unit/test_report"),
    ),
    Bug(
        "report",
        "the strip of checks counts all of them for every colour",
        "report/parts.html.j2",
        'benchmark.gates_of("red"), benchmark.gates_of("amber"), benchmark.gates_of("green") %}',
        "benchmark.gates, benchmark.gates, benchmark.gates %}",
        (PAGE, "unit/test_gates", "unit/test_report"),
    ),
)


def test_files(root: Path, bug: Bug) -> list[str]:
    """Return the paths of the files of its tests."""
    return [str(path) for name in bug.tests for path in sorted((root / "tests").glob(f"{name}.py"))]


def run_tests(root: Path, files: Iterable[str]) -> tuple[bool, str]:
    """Run tests in a copy until one fails; return whether all passed, and the one that failed."""
    variables = {**os.environ, "PYTHONPATH": str(root / "workflow"), "PYTHONDONTWRITEBYTECODE": "1"}
    words = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *files]
    try:
        done = subprocess.run(
            words, cwd=root, env=variables, capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return False, ""
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    first = failed[0].partition(" - ")[0].rpartition("/")[2] if failed else ""
    return done.returncode == 0, first


def look(bug: Bug, root: Path) -> tuple[str, str]:
    """Put a bug into a copy, run its tests, take it out; return seen, not seen or stale."""
    path = bug.path(root)
    if path is None:
        return "stale", "its text is in no file, or in one twice"
    sound = path.read_text()
    path.write_text(sound.replace(bug.old, bug.new))
    try:
        has_passed, first = run_tests(root, test_files(root, bug))
    finally:
        path.write_text(sound)
    return ("seen", first) if first else ("not seen", "" if has_passed else "no test failed")


def copy_project(target: Path) -> Path:
    """Copy the files that git tracks, as they are in the working tree."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    return target


def main() -> None:
    """Print a line a bug, and how many of each area were seen."""
    parser = ArgumentParser()
    parser.add_argument("names", nargs="*", default=[""])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--stale", action="store_true", help="print stale bugs, run no test")
    args = parser.parse_args()
    bugs = [b for b in BUGS if any(name in f"{b.area} {b.words}" for name in args.names)]
    if args.stale:
        raise SystemExit(print_stale(bugs))
    with tempfile.TemporaryDirectory() as folder:
        copies: Queue[Path] = Queue()
        for place in range(args.jobs):
            copies.put(copy_project(Path(folder) / str(place)))
        first = copies.get()
        files = sorted({file for bug in bugs for file in test_files(first, bug)})
        is_sound, failed = run_tests(first, files)
        assert is_sound, f"without a bug: {failed or 'tests took too long'}"
        copies.put(first)

        def look_in_a_copy(bug: Bug) -> tuple[Bug, str, str]:
            root = copies.get()
            try:
                return bug, *look(bug, root)
            finally:
                copies.put(root)

        with ThreadPoolExecutor(args.jobs) as pool:
            found = []
            for bug, state, by in pool.map(look_in_a_copy, bugs):
                print(f"{state:8} | {bug.area:8} | {bug.words} | {by}", flush=True)
                found.append((bug.area, state))
    print_sums(found)


def print_stale(bugs: list[Bug]) -> int:
    """Print every bug that cannot be tried any more; return 1 if there is one."""
    stale = {bug: found for bug in bugs if (found := bug.problems(ROOT))}
    for bug, found in stale.items():
        print("\n    ".join([f"{bug.area}: {bug.words} ({bug.file})", *found]))
    print(f"{len(stale)} of {len(bugs)} bugs are stale")
    return 1 if stale else 0


def print_sums(found: list[tuple[str, str]]) -> None:
    """Print how many bugs of each area were seen."""
    total, seen = Counter(area for area, _ in found), Counter(a for a, s in found if s == "seen")
    for area, count in total.items():
        print(f"{area}: {seen[area]} of {count}")
    print(f"all: {sum(seen.values())} of {len(found)}")
    stale = [state for _, state in found if state == "stale"]
    raise SystemExit(1 if stale else 0)


if __name__ == "__main__":
    main()
