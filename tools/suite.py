"""Run the settings of configs/suite in miniature: few images, few epochs; images are made.

    python tools/suite.py                        # all; `make suite`
    python tools/suite.py poison persons         # some
    python tools/suite.py --dry-run              # what would run
    python tools/suite.py --hours                # hours of the real settings on one A100
    python tools/suite.py --record FILE.csv      # add a row per setting (docs/data/suite.csv)

Each setting has a folder of its own below build/suite: files in the layout of the official ones,
the config, and the results, which are deleted after a run that ends well, unless `--keep`. Files of
CIFAR are made as arrays (.npz), because torchvision checks the hashes of the official files. A
setting fails if a job fails, or if a check of its pages is red.

Hours are those of `collateral estimate --device a100`. Where it counts the files of a data set, the
official numbers of images stand in for them, evenly spread over the classes.
"""

import csv
import ctypes
import io
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from collateral.config.load import load
from collateral.config.yaml import read_file
from collateral.data._readers.torchvision_sets import CIFAR10
from collateral.data.cifar100 import CLASS_NAMES, COARSE, COARSE_NAMES
from collateral.plan.estimate import SHIPPED, estimate
from collateral.plan.slurm import IN_FLIGHT
from collateral.plugins.find import METHOD, add_plugins

ROOT = Path(__file__).resolve().parents[1]
SUITE = ROOT / "configs/suite"

# Where a miniature has another model. The papers' ResNet-18 takes a minute of CPU time per training
# even here; its tests are in tests/contract.
MODELS = {
    "resnet18": "resnet8",
    "timm/resnet50": "timm/resnet10t",
    "timm/resnet18": "timm/resnet10t",
    "timm/vit_small_patch16_224": "timm/vit_tiny_patch16_224",
}
TOWER, SMALL_TOWER = "vit_base_patch32_clip_quickgelu_224", "vit_xsmall_patch16_clip_224"
# Epochs of base and Retrain, and of methods; three seeds are the fewest with a verdict.
EPOCHS, METHOD_EPOCHS, BATCH, ROUNDS, SEEDS = 12, 2, 16, 3, 3
SHADOWS = 12  # three models with and without each example in either half
# Transformers learn the made images in fewer epochs.
EPOCHS_OF = {"vit_small": 6, "swin_tiny": 6, "clip": 6}
RATES = {"sgd": 0.05, "adamw": 5e-4}  # learning rates that suit few steps from random weights
# Height and width of images; others have an eighth of their size, 16 pixels at least.
SIDES = {"clip": 32, "vit_small": 32, "swin_tiny": 32}
CIFAR_SIDE = 16
FEWER: dict[str, dict[str, Any]] = {
    "iu": {"samples": 40},
    "sfron": {"steps": 4},
    "scrub": {"max_epochs": 1},
    "unsir": {"noises": 4, "copies": 2, "noise_steps": 3, "per_class": 5},
    "rfe": {"epochs": 2},
}
TRAIN, TEST = 12, 5  # images of each class
LEAST_SHARE = 0.05  # least share that is forgotten at random, so that it is a few images
# In these there are more images, because the corrupted ones are a small part of them.
MORE = {"poison": 36, "confusion": 36}
WNIDS = tuple(f"n{1443537 + 7 * place:08d}" for place in range(6))
LESIONS = ("HAM_0000118", "HAM_0002730", "HAM_0001466", "HAM_0002761")
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER in linux/prctl.h
ORPHAN_SECONDS = 60  # time that the warm server has to end
# Official data whose files are not here: classes, train images and test images of a class, side.
OFFICIAL = {
    "data/tiny-imagenet-200": (200, 500, 50),
    "data/imagenet-100": (100, 1267, 50),  # 126,689 + 5,000
    "data/105_classes_pins_dataset": (105, 134, 33),  # 17,534
    "data/mufac": (8, 1250, 190),  # about 10,000 + 1,500
    "data/ham10000": (7, 1145, 286),  # 10,015
}


def names() -> list[str]:
    """Return the names of the settings."""
    return sorted(path.stem for path in SUITE.glob("*.yaml"))


# --- the config -------------------------------------------------------------------------------


def shrink(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a config with fewer epochs and rounds, at most three seeds, and smaller images."""
    small = json.loads(json.dumps(config))  # so that what anchors share becomes copies
    for key, benchmark in small["benchmarks"].items():
        benchmark["seeds"] = benchmark["seeds"][:SEEDS]
        if "shadows" in benchmark:
            benchmark["shadows"]["count"] = SHADOWS
        shrink_base(benchmark["base"], EPOCHS_OF.get(key, EPOCHS))
        benchmark["model"] = MODELS.get(benchmark["model"], benchmark["model"])
        for cell in benchmark.get("cells", {}).values():
            if "rounds" in cell:
                cell["rounds"] = cell["rounds"][:ROUNDS]
            elif cell["forget"]["kind"] == "random_part":
                cell["forget"]["fraction"] = max(LEAST_SHARE, cell["forget"]["fraction"])
        for method, values in benchmark["methods"].items():
            benchmark["methods"][method] = shrink_method(values.get("uses", method), values)
        shrink_data(benchmark["data"], SIDES.get(key))
    return small


def shrink_base(base: dict[str, Any], epochs: int) -> None:
    rate = RATES[base.get("optimizer", "sgd")]
    base |= {"epochs": epochs, "batch_size": BATCH, "lr": rate}
    if "milestones" in base:
        base["milestones"] = [epochs // 2, epochs * 3 // 4]


def shrink_method(method: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a method with few epochs and small batches."""
    fields = METHOD.load(method, "params").Params.model_fields
    own = {"epochs": METHOD_EPOCHS, "batch_size": BATCH}
    small = {**values, **{key: value for key, value in own.items() if key in fields}}
    for part in ("low", "mid", "high"):
        if method == "rum" and small.get(part):
            small[part] = shrink_method(small[part]["uses"], small[part])
    return {**small, **FEWER.get(method, {})}


def shrink_data(data: dict[str, Any], side: int | None) -> None:
    for key in ("size", "crop"):
        if key in data:
            data[key] = side or max(16, data[key] // 8)
    for key, most in (("padding", 2), ("per_class", TRAIN), ("imbalance", 6)):
        if key in data:
            data[key] = min(most, data[key])
    for key, count in (("patched", 24), ("mislabelled", 10)):
        if key in data:
            data[key]["count"] = count


# --- the files --------------------------------------------------------------------------------


def make_picture(kind: int, seed: int, height: int, width: int) -> np.ndarray:
    """Return a picture of its class's coloured squares, the same when mirrored, with noise."""
    squares = np.random.default_rng(kind).integers(30, 220, (4, 2, 3))
    squares = np.concatenate([squares, squares[:, ::-1]], axis=1)
    rows, columns = (np.arange(side) * 4 // side for side in (height, width))
    noise = np.random.default_rng([kind, seed]).normal(0, 20, (height, width, 3))
    return np.clip(squares[rows][:, columns] + noise, 0, 255).astype(np.uint8)


def to_jpeg(kind: int, seed: int, side: int) -> bytes:
    file = io.BytesIO()
    picture = make_picture(kind, seed, side, side + side // 4)
    Image.fromarray(picture).save(file, "JPEG", quality=90)
    return file.getvalue()


def write_jpeg(path: Path, kind: int, seed: int, side: int = 32) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(to_jpeg(kind, seed, side))


def make_files(folder: Path, config: dict[str, Any]) -> None:
    """Make data and weights of a small config in a folder, and let the config name them."""
    for key, benchmark in config["benchmarks"].items():
        data = benchmark["data"]
        if data["name"] == "cifar100" or data.get("dataset") == "CIFAR10":
            benchmark["data"] = make_cifar(folder, key, data)
        elif data["name"] == "torchvision":
            make_pets(folder / data["root"] / "oxford-iiit-pet")
        else:
            path = folder / data["path"]
            if not path.exists():
                MAKERS[path.name](path)
    if "plugins" in config:
        config["plugins"] = [*map(str, copy_plugins(folder, config["plugins"]))]
    for benchmark in config["benchmarks"].values():
        if "init" in benchmark:
            make_weights(folder / benchmark["init"]["weights"], benchmark["model"])


def make_cifar(folder: Path, key: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Write CIFAR-10, CIFAR-100 or CIFAR-20 as arrays; return the `data` block that reads them."""
    is_hundred, is_coarse = data["name"] == "cifar100", data.get("label") == "coarse"
    classes = CLASS_NAMES if is_hundred else tuple(CIFAR10.split())
    side = SIDES.get(key, CIFAR_SIDE)
    arrays: dict[str, Any] = {"class_names": COARSE_NAMES if is_coarse else classes}
    counts = (4, 1) if is_coarse else (TRAIN, 2) if is_hundred else (MORE.get(key, TRAIN), TEST)
    for part, each in zip(("train", "test"), counts, strict=True):
        fine = np.random.default_rng(each).permutation(np.repeat(np.arange(len(classes)), each))
        seeds = np.arange(len(fine)) + 10_000 * (part == "test")
        pictures = [make_picture(*pair, side, side) for pair in zip(fine, seeds, strict=True)]
        arrays[f"{part}_images"] = np.stack(pictures)
        arrays[f"{part}_labels"] = np.array(COARSE)[fine] if is_coarse else fine
        if is_coarse:
            arrays["test_fine" if part == "test" else "fine"] = np.array(classes)[fine]
    path = Path("data") / f"{key}.npz"
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    np.savez(folder / path, **arrays)
    ours = {"name", "dataset", "root", "label", "size"}
    kept = {name: value for name, value in data.items() if name not in ours}
    return {"name": "arrays", "path": str(path), "flip": True, "padding": 2, **kept}


def make_tiny_imagenet(folder: Path) -> None:
    rows = []
    for kind, wnid in enumerate(WNIDS):
        for place in range(TRAIN):
            write_jpeg(folder / f"train/{wnid}/images/{wnid}_{place}.JPEG", kind, place)
        boxes = [f"{wnid}_{place}.JPEG\t0\t0\t63\t63\n" for place in range(TRAIN)]
        (folder / f"train/{wnid}/{wnid}_boxes.txt").write_text("".join(boxes))
    for place in range(TEST * len(WNIDS)):
        kind = (5 * place + 1) % len(WNIDS)
        write_jpeg(folder / f"val/images/val_{place}.JPEG", kind, 1000 + place)
        rows.append(f"val_{place}.JPEG\t{WNIDS[kind]}\t0\t0\t63\t63\n")
    (folder / "val/val_annotations.txt").write_text("".join(rows))
    write_jpeg(folder / "test/images/test_0.JPEG", 0, 2000)
    (folder / "wnids.txt").write_text("\n".join(WNIDS[::-1]))
    (folder / "words.txt").write_text("".join(f"{wnid}\ta thing\n" for wnid in WNIDS))


def make_imagenet100(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    (folder / "data").mkdir(parents=True)
    labels = ["bonnet, poke bonnet", "green mamba", "langur", "Doberman", "gyromitra"]
    features = {"image": {"_type": "Image"}, "label": {"_type": "ClassLabel", "names": labels}}
    info = {"huggingface": json.dumps({"info": {"features": features}})}
    sizes = {"train-00000-of-00002": TRAIN, "train-00001-of-00002": 4}
    sizes["validation-00000-of-00001"] = TEST
    for file, each in sizes.items():
        kinds = [place % len(labels) for place in range(each * len(labels))]
        seed = 1000 * (1 + len(file) + each)
        images = [
            {"bytes": to_jpeg(kind, seed + place, 40), "path": f"{place}.jpg"}
            for place, kind in enumerate(kinds)
        ]
        table = pa.table({"image": images, "label": kinds}).replace_schema_metadata(info)
        pq.write_table(table, folder / f"data/{file}.parquet")


def make_pins(folder: Path) -> None:
    for kind in range(12):
        person = f"pins_{chr(65 + kind)}da {chr(75 + kind)}ing"
        for place in range(TRAIN):
            write_jpeg(folder / person / f"{person[5:]}{place}_{97 * place}.jpg", kind, place)


def make_mufac(folder: Path) -> None:
    ages = "abcdefgh"
    for part, each in (("train", TRAIN), ("val", 2), ("test", TEST)):
        places = range(each * len(ages))
        files = [f"{place:04d}_{part}.jpg" for place in places]
        for place, file in enumerate(files):
            write_jpeg(
                folder / f"{part}_images" / file, place % len(ages), len(part) * 1000 + place
            )
        rows = [(file, ages[place % len(ages)]) for place, file in enumerate(files)]
        with (folder / f"custom_{part}_dataset.csv").open("w", newline="") as opened:
            csv.writer(opened).writerows([("image_path", "age_class"), *rows])
        if part == "train":
            (folder / "forget.txt").write_text("".join(f"train_images/{f}\n" for f in files[:14]))


def make_ham10000(folder: Path) -> None:
    """Seven diagnoses; one to three pictures of each lesion, all with the same diagnosis."""
    diagnoses = ("nv", "mel", "bkl", "bcc", "akiec", "vasc", "df")
    rows = [
        ("lesion_id", "image_id", "dx", "dx_type", "age", "sex", "localization", "dataset"),
    ]
    for lesion in range(56):
        number = LESIONS[lesion] if lesion < len(LESIONS) else f"HAM_{10 + lesion:07d}"
        kind = (lesion + lesion // 9) % len(diagnoses)
        for _ in range(1 + (lesion * 5 + 2) % 3):
            file = f"ISIC_{24306 + len(rows):07d}.jpg"
            write_jpeg(folder / "images" / file, kind, len(rows))
            sex = ("male", "female")[lesion * 3 % 5 % 2]
            rows.append((number, file, diagnoses[kind], "histo", "80.0", sex, "scalp", "vidir"))
    with (folder / "labels.csv").open("w", newline="") as opened:
        csv.writer(opened).writerows(rows)


def make_pets(folder: Path) -> None:
    """37 breeds, as torchvision reads them: names begin with the breed, labels with 1."""
    breeds = [f"{'Aa' if kind % 2 else 'aB'}breed_{kind:02d}" for kind in range(37)]
    (folder / "annotations").mkdir(parents=True)
    for part, each in (("trainval", 4), ("test", 1)):
        lines = []
        for kind, breed in enumerate(breeds):
            for place in range(each):
                name = f"{breed}_{place + 1 + 100 * (part == 'test')}"
                write_jpeg(folder / f"images/{name}.jpg", kind, len(part) * 1000 + place, 36)
                lines.append(f"{name} {kind + 1} {1 + kind % 2} {place + 1}\n")
        (folder / f"annotations/{part}.txt").write_text("".join(lines))


MAKERS = {
    "tiny-imagenet-200": make_tiny_imagenet,
    "imagenet-100": make_imagenet100,
    "105_classes_pins_dataset": make_pins,
    "mufac": make_mufac,
    "ham10000": make_ham10000,
}


def copy_plugins(folder: Path, plugins: Sequence[str]) -> Iterator[Path]:
    """Copy the folders of plug-ins; CLIP gets a smaller tower."""
    for plugin in plugins:
        copy = folder / Path(plugin).name
        shutil.copytree(ROOT / plugin, copy, ignore=shutil.ignore_patterns("__pycache__"))
        for path in copy.rglob("*.py"):
            path.write_text(path.read_text().replace(TOWER, SMALL_TOWER))
        yield copy


def make_weights(path: Path, model: str) -> None:
    """Write weights drawn at random: of timm's models for their own image size, of CLIP for ours.

    Only weights of timm's own models are resampled for another size, not those within a plug-in.
    """
    import timm
    import torch
    from safetensors.torch import save_file

    torch.manual_seed(0)
    if model.startswith("timm/"):
        weights = timm.create_model(model.removeprefix("timm/"), num_classes=1000).state_dict()
    else:
        tower = timm.create_model(SMALL_TOWER, num_classes=512, img_size=SIDES["clip"])
        weights = {f"tower.{name}": value for name, value in tower.state_dict().items()}
        text = torch.nn.functional.normalize(torch.randn(37, 512), dim=1)
        weights |= {"head.weight": 100 * text, "head.bias": torch.zeros(37)}
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file({name: value.contiguous() for name, value in weights.items()}, path)


def make_miniature(name: str, folder: Path) -> Path:
    """Make the files and the config of a setting in a new folder; return the config."""
    folder.mkdir(parents=True)
    config = shrink(read_file(SUITE / f"{name}.yaml"))
    make_files(folder, config)
    path = folder / "config.yaml"
    path.write_text(json.dumps(config, indent=1))
    return path


# --- hours ------------------------------------------------------------------------------------


def estimate_hours(name: str) -> float:
    """Return the hours of a real setting on one A100, by `collateral estimate`."""
    config = read_file(SUITE / f"{name}.yaml")
    for benchmark in config["benchmarks"].values():
        if found := OFFICIAL.get(benchmark["data"].get("path", "")):
            stand_in(benchmark, *found)
    add_plugins([ROOT / plugin for plugin in config.get("plugins", [])])
    return estimate(load(config), SHIPPED["a100"], IN_FLIGHT).total.gpu_seconds / 3600


def stand_in(benchmark: dict[str, Any], classes: int, train: int, test: int) -> None:
    """Replace data that are not here by made ones of as many images of the same size."""
    data = benchmark["data"]
    side = data.get("crop", data["size"])
    benchmark["data"] = {
        "name": "synthetic",
        "families": classes,
        "classes_per_family": 1,
        "size": side,
        "channels": 3,
        "num_train": train,
        "num_test": test,
    }
    benchmark.pop("groups", None)
    benchmark.pop("positive", None)
    if "classes" in benchmark:
        benchmark["classes"] = [*range(len(benchmark["classes"]))]
    for cell in benchmark.get("cells", {}).values():
        num_forgotten = {"files": 1500, "where": 8}.get(cell["forget"]["kind"])
        if num_forgotten:
            share = num_forgotten / (classes * train)
            cell["forget"] = {"kind": "random_part", "fraction": share}


def in_words(hours: float) -> str:
    """Return hours as the head of a config has them."""
    return f"{hours:,.0f} hours" if hours >= 10 else f"{hours:.1f} hours"


def stated_hours(name: str) -> str:
    """Return the hours that the head comment of a config states."""
    text = " ".join(re.findall(r"^# ?(.*)$", (SUITE / f"{name}.yaml").read_text(), re.M))
    (found,) = re.findall(r"--device a100`: ([\d.,]+ hours)", text)
    return found


# --- the runs ---------------------------------------------------------------------------------


def run(name: str, folder: Path, cores: str, *, dry: bool) -> tuple[bool, float, float]:
    """Run a miniature; return whether it ended well, its seconds and its CPU seconds."""
    config = make_miniature(name, folder)
    pages = [f"results/{key}/check.done" for key in json.loads(config.read_text())["benchmarks"]]
    words = [str(Path(sys.executable).with_name("snakemake")), *pages, "--cores", cores]
    words += ["--directory", str(folder), "--configfile", str(config)]
    words += ["--dry-run", "--quiet"] if dry else []
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    # Jobs import the package of this checkout, wherever another one is installed.
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "workflow")}
    environment.setdefault("OMP_NUM_THREADS", "1")
    adopt_orphans()
    start, before = time.monotonic(), cpu_seconds()
    with (folder / "log.txt").open("w") as log:
        done = subprocess.run(
            words, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT, check=False
        )
    reap_orphans()
    return done.returncode == 0, time.monotonic() - start, cpu_seconds() - before


def read_outcome(folder: Path) -> dict[str, int]:
    """Count cells, runs, red checks and verdicts on the pages of a setting."""
    found = dict.fromkeys(("cells", "runs", "red", "verdicts"), 0)
    for path in sorted(folder.glob("results/*/gates.json")):
        gates = json.loads(path.read_text())["gates"]
        found["cells"] += len({gate["cell"] for gate in gates})
        found["red"] += sum(gate["colour"] == "red" for gate in gates)
        with path.with_name("metrics.csv").open() as file:
            verdicts = [row for row in csv.DictReader(file) if row["metric"] == "verdict"]
        found["verdicts"] += sum(bool(row["value"]) for row in verdicts)
    runs = folder.glob("results/*/*/seed-*/*/record.json")
    found["runs"] = sum("prepared" not in path.parts for path in runs)
    return found


def add_row(file: Path, row: Mapping[str, Any]) -> None:
    """Append a row to a CSV file; a new file gets its head."""
    is_new = not file.exists()
    with file.open("a", newline="") as opened:
        writer = csv.DictWriter(opened, [*row], lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(row)


def adopt_orphans() -> None:
    """Become the parent of processes whose parent ends: the warm server outlives Snakemake."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)


def reap_orphans() -> None:
    """Wait for adopted processes, so that their CPU time counts."""
    end = time.monotonic() + ORPHAN_SECONDS
    with suppress(ChildProcessError):
        while time.monotonic() < end:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(0.1)


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(words: Sequence[str] | None = None) -> int:
    parser = ArgumentParser(description="Run the settings of configs/suite in miniature.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="settings; default: all")
    parser.add_argument("--cores", default="all")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/suite")
    parser.add_argument("--dry-run", action="store_true", help="plan only")
    parser.add_argument("--keep", action="store_true", help="keep data and results")
    parser.add_argument("--record", type=Path, help="CSV file; a row per setting is added")
    parser.add_argument("--hours", action="store_true", help="print hours on one A100; run nothing")
    given = parser.parse_args(words)
    if unknown := {*given.names} - {*names()}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(names())}")
    wanted = given.names or names()
    if given.hours:
        for name in wanted:
            print(f"{name:16}{in_words(estimate_hours(name)):>12}")
        return 0
    return sum(not run_one(name, given) for name in wanted)


def run_one(name: str, given: Namespace) -> bool:
    """Run a setting, and print and record what came out; tell whether all is well."""
    folder = given.folder.resolve() / name
    shutil.rmtree(folder, ignore_errors=True)
    ended, seconds, cpu = run(name, folder, given.cores, dry=given.dry_run)
    found = read_outcome(folder)
    is_good = ended and not found["red"]
    words = f"{seconds:8.0f} s{cpu:8.0f} CPU s{found['red']:5} red{found['verdicts']:5} verdicts"
    print(f"{name:16}{'ok' if is_good else 'FAILED':>8}{words}", flush=True)
    if given.record and ended:
        add_row(
            given.record,
            {"setting": name, "seconds": f"{seconds:.0f}"} | {"cpu_seconds": f"{cpu:.0f}", **found},
        )
    if not ended:
        print((folder / "log.txt").read_text()[-3000:])
    elif is_good and not given.keep:
        shutil.rmtree(folder)
    return is_good


if __name__ == "__main__":
    sys.exit(main())
