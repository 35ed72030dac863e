"""Maps and tables of docs/atlas.md, from the results kept in docs/data."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from collateral.contract.conventions import derive_seed
from collateral.findings.atlas.maps import Map, Scale, count_columns, draw_panels, row_height
from collateral.metrics import emitters, forecast
from collateral.metrics.arrays import Floats
from collateral.plots.plot import Plot
from collateral.results import layout
from generators.tables import table

DATA = Path(__file__).resolve().parents[1] / "data"
DIGITS, PUBLIC = DATA / "atlas-digits", DATA / "atlas-public"
BENCHMARK, PARTS = "digits_atlas", ("50", "100")
RANDOM = "random"  # beginning of the names of random sets
NAMES = {"ga": "GA", "iu": "IU"}
ENDS = ("", "_low", "_high")
TESTED = (
    "loss",
    "found",
    "p",
    *(f"{name}{end}" for name in ("slope", "asymmetry") for end in ENDS),
)
QUANTILE = 0.95
NEAR = 5  # number of classes that count as most similar to a forgotten one
WIDTH, HEIGHT = 11.0, 11.0  # of a map of 100 classes, in inches
LEAST_SHARE = 0.4  # height of a map of few classes, as a share of HEIGHT


def keep_digits(results: Path) -> None:
    """Keep the pairs of the finished atlas of the digits, and the tests over all its cells."""
    source = results / BENCHMARK
    if not (source / layout.METRICS).is_file():
        return
    DIGITS.mkdir(exist_ok=True)
    for part in PARTS:
        pairs = pd.read_csv(source / layout.TABLES / f"atlas-{part}.csv")
        pairs.round(4).to_csv(DIGITS / f"pairs-{part}.csv", index=False, lineterminator="\n")
    rows = pd.read_csv(source / layout.METRICS, dtype=str, keep_default_na=False)
    chosen = rows[(rows["cell"] == "") & rows["metric"].str.startswith("atlas_")]
    wanted = chosen[["run", "metric", "at", "value"]]
    wanted.to_csv(DIGITS / "tests.csv", index=False, lineterminator="\n")


def known_parts(results: Path) -> list[str]:
    """Return the shares of the digits whose pairs are kept, or are in the folder of results."""
    made = results / BENCHMARK / layout.TABLES
    places = {part: (DIGITS / f"pairs-{part}.csv", made / f"atlas-{part}.csv") for part in PARTS}
    return [part for part, files in places.items() if any(file.exists() for file in files)]


def plot_digits(part: str) -> Plot:
    """Return the maps of all methods, and of what forgetting itself costs."""
    pairs = pd.read_csv(DIGITS / f"pairs-{part}.csv", dtype={"emitter": str, "receiver": str})
    names = [*dict.fromkeys(pairs["emitter"])]
    floor = pairs.drop_duplicates("receiver").set_index("receiver").loc[names, "noise"]
    maps = []
    for label, own in pairs.groupby("label", sort=False):
        grids = {name: _grid(own, names, names, name) for name in ("loss", "is_shown")}
        maps.append(Map(str(label), 100 * grids["loss"], grids["is_shown"] > 0))
    legitimate = 100 * _grid(own, names, names, "legitimate")
    maps.append(Map("Legitimate", legitimate, np.zeros_like(maps[0].found), is_tested=False))
    return _plot(f"atlas-digits-{part}", maps, names, names, 100 * floor.to_numpy())


def plot_public(method: str) -> Plot:
    """Return the map of a method on the paper's public base: the base minus the run."""
    drops, similarity = read_public(method)
    names = [*similarity.columns]
    order = [names[place] for place in emitters.cluster_order(similarity.to_numpy())]
    forgotten = [name for name in order if name in set(drops["emitter"])]
    values = 100 * _grid(drops, forgotten, order, "accuracy_drop")
    one = Map(NAMES[method], values, np.zeros(values.shape, bool), is_tested=False)
    floor = np.full(len(order), 100 * find_floor(drops))
    plot = _plot(f"atlas-public-{method}", [one], forgotten, order, floor)
    height = HEIGHT * max(len(forgotten) / len(order), LEAST_SHARE)
    return replace(plot, width=WIDTH, row_height=height)


def _plot(
    name: str, maps: list[Map], forgotten: list[str], measured: list[str], floor: Floats
) -> Plot:
    used = np.array([[e != r for r in measured] for e in forgotten])
    columns = count_columns(len(measured))
    panels = draw_panels(maps, Scale.fit(maps, used, floor), forgotten, measured)
    return Plot(name, name, "", panels, columns, row_height=row_height(columns))


def _grid(rows: pd.DataFrame, forgotten: list[str], measured: list[str], column: str) -> Floats:
    """Return a column as a matrix: emitters by receivers."""
    found = rows.pivot(index="emitter", columns="receiver", values=column)
    return found.loc[forgotten, measured].to_numpy(dtype=float)


def read_public(method: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows of benchmarks/atlas_public.py, and the similarity of the classes."""
    drops = pd.read_csv(PUBLIC / f"{method}.csv")
    return drops, pd.read_csv(PUBLIC / "similarity.csv", index_col="class")


def find_floor(drops: pd.DataFrame) -> float:
    """Return the size below which 95 % of the drops lie if random images are forgotten."""
    random = drops[drops["emitter"].str.startswith(RANDOM)]
    return float(random["accuracy_drop"].abs().quantile(QUANTILE))


def public_table() -> str:
    """Return one row per method: how much it hurts, and whether similarity explains whom."""
    rows = [_public_row(method) for method in NAMES if (PUBLIC / f"{method}.csv").exists()]
    head = ["", "classes", "own class", "most similar five", "all other classes", "random images"]
    return table([*head, "beyond the floor", "per 0.1 of similarity", "correlation", "p"], rows)


def _public_row(method: str) -> list[str]:
    drops, similarity = read_public(method)
    is_random = drops["emitter"].str.startswith(RANDOM)
    classes, floor = drops[~is_random], find_floor(drops)
    is_own = classes["emitter"] == classes["receiver"]
    names = [name for name in similarity.columns if name in set(classes["emitter"])]
    damage = _grid(classes, names, names, "accuracy_drop")
    near = similarity.loc[names, names].to_numpy()
    rng = np.random.default_rng(derive_seed("atlas", method))
    others = classes.loc[~is_own, "accuracy_drop"]
    means = (
        classes.loc[is_own, "accuracy_drop"],
        _drops_of_similar(classes[~is_own], similarity),
        others,
        drops.loc[is_random, "accuracy_drop"],
    )
    p = emitters.permutation_p(damage, near, rng)
    return [
        *(NAMES[method], str(len(names))),
        *(f"{100 * one.mean():.1f}" for one in means),
        f"{100 * (others.abs() > floor).mean():.0f} % (±{100 * floor:.0f})",
        f"{10 * float(emitters.similarity_slope(damage, near)):+.2f}",
        f"{float(emitters.partial_correlation(damage, near)):.2f}",
        "< .001" if p < 0.001 else f"{p:.3f}",
    ]


def _drops_of_similar(others: pd.DataFrame, similarity: pd.DataFrame) -> pd.Series:
    """Return the drops of the five classes that are most similar to each forgotten class."""
    near = similarity.stack().rename("similarity").rename_axis(["emitter", "receiver"])
    joined = others.join(near, on=["emitter", "receiver"])
    chosen = joined.sort_values("similarity", ascending=False).groupby("emitter").head(NEAR)
    return chosen["accuracy_drop"]


def digits_table() -> str:
    """Return one row per method and share: loss, pairs that differ, slope and asymmetry."""
    tests = pd.read_csv(DIGITS / "tests.csv", dtype={"at": str})
    rows = []
    for part in PARTS:
        values = tests[tests["at"] == part].set_index(["run", "metric"])["value"]
        for run, label in _labels().items():
            found = {name: float(values[run, f"atlas_{name}"]) for name in TESTED}
            rows.append([
                *(f"{label}, {part} %", f"{100 * found['loss']:.1f}", f"{found['found']:.0f}"),
                _interval(10 * found[f"slope{end}"] for end in ENDS),
                "< .001" if found["p"] < 0.001 else f"{found['p']:.3f}",
                _interval((100 * found[f"asymmetry{end}"] for end in ENDS), ".0f"),
            ])  # fmt: skip
    return table(["", "loss", "pairs of 90", "per 0.1 of similarity", "p", "not mutual, %"], rows)


def _labels() -> dict[str, str]:
    """Return the names of the methods of the digits' atlas by run."""
    rows = pd.read_csv(DIGITS / f"pairs-{PARTS[0]}.csv").drop_duplicates("run")
    return {str(run): str(label) for run, label in zip(rows["run"], rows["label"], strict=True)}


def _interval(values: Iterable[float], shape: str = "+.2f") -> str:
    """Return a value and its interval; a dash if the interval is undefined."""
    value, low, high = values
    if np.isnan(value + low + high):
        return "–"
    return f"{value:{shape}} [{low:{shape}}, {high:{shape}}]".replace("-", "−")


def forecast_table() -> str:
    """Return one row per method and stratum with harm: how well new emitters were forecast."""
    rows = pd.read_csv(DIGITS / "forecast.csv")
    rows = rows[(rows["emitter"] == "all") & (rows["net_hurt"] >= forecast.LEAST_HURT)]
    labels = _labels()
    return table(
        ["", "hurt", "AUC", "gain", "best rule", "net precision", "forecast"],
        [
            [
                *(f"{labels[one.method]}, {forecast.STRATA[one.stratum]}", f"{one.net_hurt:.0f}"),
                _interval((one.auc, one.low, one.high), ".3f"),
                _interval((one.gain, one.gain_low, one.gain_high), "+.3f"),
                forecast.describe_rule(one.rule).partition(",")[0],
                f"{100 * one.precision_at_hurt:.0f} %",
                "given" if pd.isna(one.refusal) else "refused",
            ]
            for one in rows.itertuples()
        ],
    )


def atlas_tables() -> dict[str, str]:
    """Return the tables of docs/atlas.md whose results are kept."""
    found = {"public": public_table()} if PUBLIC.is_dir() else {}
    tables = {"tests.csv": ("digits", digits_table), "forecast.csv": ("forecast", forecast_table)}
    for file, (mark, make) in tables.items():
        if (DIGITS / file).exists():
            found[mark] = make()
    return found
