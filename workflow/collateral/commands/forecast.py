"""Forecast who will be hurt by a request, before anything is unlearned.

It reads a trained base model and a finished atlas (the config key `atlas`) of the same data and
model. For each method it says which retained examples, classes and groups will lose confidence in
their true class against Retrain, with a probability, and how well such forecasts did on classes
that they had never seen. Where they were no better than simple rules, it says so and forecasts
nothing. Without an atlas it prints the config that makes one, and its estimated hours.
"""

from collections.abc import Iterable, Iterator, Sequence
from math import isnan, nan
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import yaml

from collateral.commands._forecast import (
    BaseModels,
    FinishedAtlas,
    Forecast,
    evaluate_atlas,
    find_atlas,
    find_forgotten,
    keep_forecasts,
    make_forecasts,
    read_atlas,
    read_base,
)
from collateral.commands.estimate import lead, select_speeds
from collateral.config.load import load, read
from collateral.contract.messages import listed
from collateral.contract.terminal import hang
from collateral.contract.work import count_cores
from collateral.metrics.forecast import STRATA, Evaluation, Interval, describe_rule
from collateral.plan import estimate as plan
from collateral.plan import paths
from collateral.plan.grid import Benchmark, Cell, build_grid
from collateral.results import layout
from collateral.results.dataset import Labels
from collateral.results.files import atomic, csv_text
from collateral.results.provenance import verify

MOST_NAMED = 3  # number of classes, and of values of a group, that are named
QUALITY = [
    *("method", "stratum", "emitter", "hurt", "net_hurt", "auc", "low", "high", "rule"),
    *("rule_auc", "gain", "gain_low", "gain_high", "calibration", "precision_at_hurt", "refusal"),
]
COLUMNS = ("cell", "method", "stratum", "example", "class", "probability")
KEPT = "Kept: the page of the finished run will show it beside the outcome."
NOT_KEPT = "A method has run already, so this is no forecast for the page; it is printed only."
OTHER_RECIPE = "The base models of the atlas were trained otherwise than this one"
UNTESTED = "How good the forecast is was tested with the models of the atlas alone."
NOT_FINISHED = "this atlas is not finished; run snakemake first."
NO_RETRAIN = (
    "this atlas will have no Retrain, and harm is measured against Retrain. Remove the key "
    "`retrain` from the config; then run snakemake."
)
FRACTIONS = [0.5, 1.0]  # shares of the suggested atlas


def forecast(
    config: Annotated[Path, "a config with the request, such as config.yaml"],
    *,
    atlas: Annotated[
        Path | None, "folder of a finished atlas; default: found in the folder of results"
    ] = None,
    results: Annotated[Path, "folder of results"] = Path(paths.RESULTS),
    out: Annotated[
        Path | None,
        "CSV file for the probability of every example; of an atlas: for the quality by emitter; "
        "not of both in one config",
    ] = None,
) -> None:
    """Print the forecast of every request in a config."""
    if atlas is not None and not (atlas / "plan.json").exists():
        raise ValueError(f"--atlas: {atlas} has no plan.json; name a benchmark's folder of results")
    if atlas is not None and read_atlas(atlas) is None:
        raise ValueError(f"--atlas: {atlas} is a benchmark without the config key `atlas`")
    rows: list[dict[str, object]] = []
    benchmarks = build_grid(read(config, "config"))
    if out is not None:
        _check_one_kind(benchmarks.values(), results, atlas)
    for name, benchmark in benchmarks.items():
        print(f"{name}:")
        for line in _describe(benchmark, results, atlas, rows):
            print(line)
    if out is not None:
        with atomic(out) as temporary:
            columns = QUALITY if rows and "emitter" in rows[0] else [*COLUMNS]
            temporary.write_text(csv_text(columns, rows), encoding="utf-8")


def _check_one_kind(benchmarks: Iterable[Benchmark], results: Path, folder: Path | None) -> None:
    """Raise if a CSV file would have the quality of an atlas and probabilities of examples."""
    names: dict[bool, str] = {}
    for benchmark in benchmarks:
        root = results / benchmark.name
        if not (root / layout.LABELS).exists():
            continue
        labels = Labels.load(verify(root / layout.LABELS, root))
        found = _find(benchmark, results, folder, labels)
        if found is not None and not found.problem:
            names[_is_its_own(benchmark, found, results)] = benchmark.name
    if len(names) == 2:
        raise ValueError(
            f"--out: {names[True]} is a finished atlas, whose rows have other columns than those "
            f"of {names[False]}; leave --out out, or name a config with one of them"
        )


def _find(
    benchmark: Benchmark, results: Path, folder: Path | None, labels: Labels | None
) -> FinishedAtlas | None:
    return read_atlas(folder) if folder else find_atlas(results, benchmark, labels)


def _is_its_own(benchmark: Benchmark, found: FinishedAtlas, results: Path) -> bool:
    """Whether a benchmark is the atlas itself; each of its emitters is forecast from the others."""
    return benchmark.config.atlas is not None and found.root == results / benchmark.name


def _describe(
    benchmark: Benchmark, results: Path, folder: Path | None, rows: list[dict[str, object]]
) -> Iterator[str]:
    """Yield what is forecast for a benchmark, or what is missing; add a row for each example."""
    base = read_base(results / benchmark.name, benchmark)
    labels = base.labels if base else None
    found = _find(benchmark, results, folder, labels)
    if found is None or found.problem:
        yield from _describe_missing(benchmark, found, results)
        return
    yield hang("  ", f"Learned from the atlas {found.root}: {_size(found)}.")
    if _is_its_own(benchmark, found, results):
        yield hang("  ", "Each class or group of the atlas is forecast from all others.")
        for method, stratum, evaluation in evaluate_atlas(found):
            yield from _describe_evaluation(_label(found, method), stratum, evaluation)
            rows += list_quality(found, method, stratum, evaluation)
        return
    if base is None:
        seed = benchmark.base_seeds[0]
        target = f"{results}/{benchmark.name}/base/seed-{seed}/embeddings.npz"
        yield hang("  ", f"There is no base model yet: `snakemake {target}` trains it.")
        return
    if differences := found.find_other_recipe(base):
        yield hang("  ", f"{OTHER_RECIPE} ({', '.join(differences)}). {UNTESTED}")
    yield from _describe_methods(benchmark, found)
    for cell in benchmark.cells.values():
        yield from _describe_cell(benchmark, cell, base, found, rows)


def _size(atlas: FinishedAtlas) -> str:
    cell = next(iter(atlas.cells.values()))
    return (
        f"{len(atlas.emitters)} forgotten classes or groups, {len(cell.seeds)} seeds, "
        f"{len(atlas.methods)} methods"
    )


def _label(atlas: FinishedAtlas, method: str) -> str:
    return str(atlas.plan.labels.get(method, method))


def _describe_missing(
    benchmark: Benchmark, found: FinishedAtlas | None, results: Path
) -> Iterator[str]:
    """Yield why nothing can be learned, and the config that would make an atlas with its cost."""
    if found is not None:
        yield hang("  ", f"Nothing is forecast: in the atlas {found.root}, {found.problem}.")
        return
    if benchmark.config.atlas is not None:
        has_retrain = benchmark.config.has_retrain
        yield hang("  ", f"Nothing is forecast: {NOT_FINISHED if has_retrain else NO_RETRAIN}")
        return
    yield hang(
        "  ",
        f"Nothing is forecast: {results} has no atlas of these data and this model. This config "
        "makes one:",
    )
    text = suggest_atlas(benchmark)
    yield "\n" + "\n".join(f"    {line}" for line in text.splitlines()) + "\n"
    wanted, cores = load(yaml.safe_load(text)), count_cores()
    speeds = select_speeds(wanted, None, results, calibrate=False)
    yield hang("  ", f"Estimated: {lead(plan.estimate(wanted, speeds, cores), cores)}")


def suggest_atlas(benchmark: Benchmark) -> str:
    """Return a config of an atlas with the data, model, recipe, seeds and methods of a benchmark.

    A list of values that is tuned over is replaced by its first value.
    """
    config = benchmark.config
    kept = config.model_dump(
        mode="json", by_alias=True, exclude_defaults=True, include={"data", "model", "init", "base"}
    )
    methods = {
        name: {
            key: value[0] if isinstance(value, list | tuple) else value
            for key, value in raw.items()
        }
        for name, raw in config.methods.items()
    }
    content: dict[str, Any] = {
        **{key: kept[key] for key in ("data", "model", "init", "base") if key in kept},
        "seeds": list(config.seeds),
        "atlas": {"each": "class", "fractions": FRACTIONS},
        "methods": methods,
        "pictures": "none",
    }
    whole = {"benchmarks": {f"{benchmark.name}_atlas"[-100:]: content}}
    text: str = yaml.safe_dump(whole, sort_keys=False, default_flow_style=None, width=88)
    return text


def _describe_methods(benchmark: Benchmark, atlas: FinishedAtlas) -> Iterator[str]:
    """Yield a line on methods that the atlas does not have, or has with other parameters."""
    methods = list(benchmark.config.methods)
    if missing := [name for name in methods if name not in atlas.methods]:
        yield hang("  ", listed("Not in the atlas, so not forecast", missing) + ".")
    other = []
    for name in methods:
        if name in atlas.methods:
            runs = (cell.runs[name] for cell in benchmark.cells.values() if name in cell.runs)
            choices = [one.model_dump(mode="json") for run in runs for one in run.choices]
            known = atlas.parameters(name)
            if known is not None and known not in choices:
                other.append(name)
    if other:
        yield hang("  ", listed("Run with other parameters in the atlas", other) + ".")


def _describe_cell(
    benchmark: Benchmark,
    cell: Cell,
    base: BaseModels,
    atlas: FinishedAtlas,
    rows: list[dict[str, object]],
) -> Iterator[str]:
    forget = find_forgotten(cell, base)
    yield f"  {cell.name}:"
    if forget is None:
        yield hang("    ", "Its forget set is not chosen yet, so nothing is forecast.")
        return
    methods = [name for name in benchmark.config.methods if name in atlas.methods]
    made = [*make_forecasts(atlas, base, forget, methods)]
    is_kept = keep_forecasts(base, cell, atlas, made)
    yield hang("    ", KEPT if is_kept else NOT_KEPT, 6)
    for one in made:
        label = _label(atlas, one.method)
        where = STRATA[one.stratum]
        if one.refusal:
            yield hang("    ", f"{label}, {where}: no forecast: {one.refusal}.", 6)
            continue
        yield hang("    ", f"{label}, {where}: {describe_forecast(one, base, benchmark)}", 6)
        names = base.labels.class_names
        rows += [
            {
                **{"cell": cell.name, "method": one.method, "stratum": one.stratum},
                **{"example": int(row), "class": names[c], "probability": f"{p:.4f}"},
            }
            for row, c, p in zip(one.rows, one.label, one.probability, strict=True)
        ]


def describe_forecast(one: Forecast, base: BaseModels, benchmark: Benchmark) -> str:
    """Return the expected number of hurt examples, where they are, and how good that is."""
    names = base.labels.class_names
    by_class = {
        names[c]: float(one.probability[one.label == c].sum()) for c in np.unique(one.label)
    }
    parts = [f"about {one.expected:.0f} of {len(one.rows)} examples hurt"]
    parts.append(f"classes {_largest(by_class)}")
    for column in benchmark.config.groups:
        if column in base.labels.columns:
            values = base.labels.columns[column].astype(str)[one.rows]
            sums = {str(v): float(one.probability[values == v].sum()) for v in np.unique(values)}
            parts.append(f"{column} {_largest(sums)}")
    return f"{'; '.join(parts)}. {_quality(one.evaluation)}"


def _largest(sums: dict[str, float]) -> str:
    first = sorted(sums.items(), key=lambda item: -item[1])[:MOST_NAMED]
    return ", ".join(f"{name} ({value:.0f})" for name, value in first)


def _quality(found: Evaluation) -> str:
    """Return in words how good forecasts of emitters were that the model had never seen."""
    best = found.best_baseline
    gap = found.calibration
    return (
        f"On {found.num_emitters} emitters never seen: AUC {_text(found.auc)}, {_text(found.gain)} "
        f"above one rule alone ({describe_rule(best)}: {found.baselines[best]:.2f}); predicted "
        f"minus observed share {100 * gap.mean:+.1f} points "
        f"[{100 * gap.low:+.1f}, {100 * gap.high:+.1f}]."
    )


def _text(found: Interval) -> str:
    return f"{found.mean:.2f} [{found.low:.2f}, {found.high:.2f}]"


def _describe_evaluation(label: str, stratum: str, found: Evaluation) -> Iterator[str]:
    """Yield the leave-one-out result of a method and stratum, also where it is refused."""
    start = f"{label}, {STRATA[stratum]}: {found.hurt} hurt ({found.net_hurt} beyond chance). "
    if found.refusal:
        yield hang("  ", f"{start}No forecast: {found.refusal}.", 4)
        return
    yield hang("  ", f"{start}{_quality(found)}{_describe_precision(found)}", 4)


def list_quality(
    atlas: FinishedAtlas, method: str, stratum: str, found: Evaluation
) -> Iterator[dict[str, object]]:
    """Yield the quality of forecasts as rows of a CSV file: over all emitters, then of each."""
    best = found.best_baseline
    place: dict[str, object] = {"method": method, "stratum": stratum, "rule": best}
    yield place | {
        **{"emitter": "all", "hurt": found.hurt, "net_hurt": found.net_hurt},
        **{"auc": found.auc.mean, "low": found.auc.low, "high": found.auc.high},
        **{"rule_auc": found.baselines[best] if best else nan, "gain": found.gain.mean},
        **{"gain_low": found.gain.low, "gain_high": found.gain.high},
        **{"calibration": found.calibration.mean, "precision_at_hurt": found.precision_at_hurt},
        "refusal": found.refusal,
    }
    for emitter, (own, rule) in found.by_emitter.items():
        values = {"auc": own, "rule_auc": rule, "gain": own - rule}
        yield dict.fromkeys(QUALITY, "") | place | {"emitter": atlas.emitters[emitter]} | values


def _describe_precision(found: Evaluation) -> str:
    """Return net precision among 1 % of the examples, and among as many as are hurt."""
    parts = []
    if not isnan(found.precision):
        parts.append(f"{found.precision:.2f} among the first 1 %")
    if not isnan(found.precision_at_hurt):
        parts.append(f"{found.precision_at_hurt:.2f} among the first {found.hurt}")
    return f" Net precision: {', '.join(parts)}." if parts else ""


def likely_hurt(config: Path, results: Path = Path(paths.RESULTS)) -> str:
    """Return one line on who is likely to be hurt; empty without a base model and an atlas."""
    parts: list[str] = []
    for name, benchmark in build_grid(read(config, "config")).items():
        base = read_base(results / name, benchmark)
        atlas = find_atlas(results, benchmark, base.labels) if base else None
        if base and atlas and not atlas.problem:
            parts += _likely_classes(benchmark, base, atlas)
    return f"likely to be hurt: {'; '.join(parts)}" if parts else ""


def _likely_classes(benchmark: Benchmark, base: BaseModels, atlas: FinishedAtlas) -> Iterable[str]:
    """Yield for each cell the classes in which most examples are expected to be hurt."""
    methods = [name for name in benchmark.config.methods if name in atlas.methods]
    for cell in benchmark.cells.values():
        forget = find_forgotten(cell, base)
        found: Sequence[Forecast] = (
            [] if forget is None else [*make_forecasts(atlas, base, forget, methods)]
        )
        sums: dict[str, float] = {}
        for one in (one for one in found if not one.refusal):
            for c in np.unique(one.label):
                hurt = float(one.probability[one.label == c].sum())
                class_name = base.labels.class_names[c]
                sums[class_name] = max(sums.get(class_name, 0.0), hurt)
        if sums:
            yield f"{_largest(sums)} (examples, by the method that hurts most)"
