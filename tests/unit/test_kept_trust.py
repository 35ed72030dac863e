"""What a long run keeps: archives of several seeds, and the judged numbers of each model."""

import csv

import judged_numbers
import pytest
import seed_by_seed

from collateral.contract.claims import LAST, Claim

HEAD = "cell,class,fraction,seed,run,kind,metric,set,at,value,status"
ROWS = [
    "part,,,7,silent,control,ua,,,0.123456789,ok",
    "part,,,12,silent,control,ua,,,,ok",
    "part,,,7,silent,control,relearn_accuracy,,10,0.4,ok",
    "part,,,7,silent,control,relearn_accuracy,,9,0.3,ok",
    "part,,,7,silent,control,relearn_accuracy,,near,0.2,ok",
    "part,,,7,silent,control,delta_acc,test,9,-0.02,ok",
    "part,,,7,silent,control,delta_acc,test,8,-0.01,ok",
    "part,,,7,silent,control,delta_acc,retain,9,-0.03,ok",
    "random,,,7,silent,control,ua,,,0.5,ok",
    "random,,,7,silent,control,zrf,,,0.5,ok",
    "random,,,,silent,control,ua,,,0.6,ok",
]
CLAIMS = [
    Claim("ua", "outputs", 1),
    Claim("relearn_accuracy", "inside", 1, at=LAST),
    Claim("delta_acc", "harm", 1, "test", at=9),
]


def test_one_row_per_model_has_its_judged_numbers_and_no_other(tmp_path):
    found = judged_numbers.pick(csv.DictReader([HEAD, *ROWS]), CLAIMS)
    judged_numbers.write(found, tmp_path / "metrics.csv")
    assert (tmp_path / "metrics.csv").read_text().split("\n") == [
        "cell,run,seed,delta_acc 9 test,relearn_accuracy last,ua",
        "part,silent,7,-0.02,0.4,0.123457",
        "part,silent,12,,,",
        "random,silent,7,,,0.5",
        "",
    ]


def test_a_batch_of_seeds_is_one_archive():
    assert seed_by_seed.batches([7, 3, 12], 1) == {
        "seed-7.tar": [7], "seed-3.tar": [3], "seed-12.tar": [12]
    }  # fmt: skip
    assert seed_by_seed.batches([7, 3, 12, 5, 9], 2) == {
        "seeds-7-3.tar": [7, 3], "seeds-12-5.tar": [12, 5], "seeds-9-9.tar": [9]
    }  # fmt: skip


CONFIG = """
benchmarks:
  digits:
    data: {name: digits}
    model: resnet8
    base: {epochs: 2}
    seeds: [7, 3, 12, 5, 9]
    cells: {part: {forget: {kind: class_part, class: digit_3, fraction: 0.5}}}
    methods: {ft: {epochs: 1}}
"""


@pytest.fixture
def called(tmp_path, monkeypatch):
    """Run the tool with two archives there already; return what it calls."""
    calls = []
    monkeypatch.setattr(seed_by_seed, "_call", lambda *args: calls.append([*map(str, args)]))
    config, out = tmp_path / "config.yaml", tmp_path / "kept"
    config.write_text(CONFIG)
    (out / "digits").mkdir(parents=True)
    (out / "digits" / "seeds-7-3.tar").touch()

    def run(*more):
        arguments = ["seed_by_seed", str(config), "digits", "--out", str(out), "--at-once", "2"]
        monkeypatch.setattr("sys.argv", [*arguments, *more])
        seed_by_seed.main()
        return calls

    return run


def test_a_finished_batch_is_unpacked_and_the_others_are_run_and_kept(called):
    _, unbundled, first, kept, last, also_kept = called()
    assert unbundled[:2] == ["collateral", "unbundle"] and unbundled[2].endswith("seeds-7-3.tar")
    for targets, seeds in ((first, {12, 5}), (last, {9})):
        made = [one for one in targets if one.endswith("retrain/outputs.npz")]
        assert {int(one.split("seed-")[1].split("/")[0]) for one in made} == seeds
    assert kept[kept.index("--seeds") :][1:3] == ["12", "5"]
    assert also_kept[-1].endswith("seeds-9-9.tar")


def test_part_of_a_batch_is_run_but_not_kept(called):
    calls = called("--seeds", "12")
    assert [one[0] for one in calls] == ["snakemake", "collateral", "snakemake"]
    assert any("seed-12/" in one for one in calls[-1])
    assert not any("seed-5/" in one for one in calls[-1])
