"""Golden hashes see every changed result, and neither times nor how a record describes its job."""

import golden
import pytest

from collateral.results import provenance

COST = {
    "seconds": {"support": 0.25, "unlearn": 1.5},
    "total_seconds": 1.76,
    "epoch_seconds": [0.5, 1.75],
    "peak_rss_mb": 626.9,
    "device": "cpu",
}
PAGE = """<style>p {{ color: red }}</style><p>Worst by <b>{}</b> points; code {}</p>
<script>const DATA = {}</script>"""


@pytest.fixture
def results(tmp_path):
    """Results of a run with a file of each kind."""
    run = tmp_path / "b/cell/seed-3/ft"
    run.mkdir(parents=True)
    (run / "outputs.npz").write_bytes(b"outputs")
    (tmp_path / "b/metrics.csv").write_text("ua,0.5\n")
    (tmp_path / "b/selected.json").write_text('{"lr": 0.1}')
    (tmp_path / "b/report.html").write_text(PAGE.format(5, "0123abcd4567ef89", 1))
    (tmp_path / "b/.hidden").touch()
    provenance.write_signed(run / "record.json", {"params": {"lr": 0.1}}, tmp_path / "b")
    provenance.write_signed(run / "cost.json", COST, tmp_path / "b")
    return tmp_path


def changed(results, name, content):
    """Return what golden hashes say when a file gets another content."""
    before = golden.hash_results(results)
    (results / name).write_text(content)
    return [*golden.differences(before, golden.hash_results(results))]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("b/cell/seed-3/ft/outputs.npz", "outputS"),
        ("b/metrics.csv", "ua,0.50\n"),
        ("b/selected.json", '{"lr": 0.01}'),
        ("b/report.html", PAGE.format(6, "0123abcd4567ef89", 1)),
    ],
)
def test_a_changed_result_is_named(results, name, content):
    assert changed(results, name, content) == [f"different: {name}"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("b/cell/seed-3/ft/record.json", '{"job": {}, "sha256": "0"}'),
        ("b/report.html", PAGE.format(5, "ffff0000ffff0000", 2)),
        ("b/.hidden", "more"),
    ],
)
def test_records_hashes_and_hidden_files_may_change(results, name, content):
    assert changed(results, name, content) == []


def test_files_that_come_and_go_are_named_records_too(results):
    before = golden.hash_results(results)
    (results / "b/cell/seed-3/ft/record.json").rename(results / "b/record.json")
    assert [*golden.differences(before, golden.hash_results(results))] == [
        "gone: b/cell/seed-3/ft/record.json",
        "new: b/record.json",
    ]


def test_fixed_times_depend_on_the_place_alone_and_their_file_stays_sound(results):
    folder = results / "b/cell/seed-3/ft"
    modified = (folder / "cost.json").stat().st_mtime_ns
    golden.fix_times(results)
    assert (folder / "cost.json").stat().st_mtime_ns == modified  # or jobs would run again
    first = provenance.read_signed(folder / "cost.json", results / "b")
    slower = {**COST, "seconds": {"support": 9.5, "unlearn": 2.5}, "epoch_seconds": [3.5, 9]}
    provenance.write_signed(folder / "cost.json", slower, results / "b")
    golden.fix_times(results)
    second = provenance.read_signed(folder / "cost.json", results / "b")
    assert first == second and first["seconds"]["support"] != first["seconds"]["unlearn"]
    assert first["device"] == "cpu" and first["epoch_seconds"][1] == first["total_seconds"]


def test_a_time_that_the_user_stated_stays():
    cost = {"seconds": {}, "total_seconds": 120.0, "place": "b/cost.json", "sha256": ""}
    assert golden.with_fixed_times(cost)["total_seconds"] == 120.0


def test_hashes_are_compared_in_both_directions():
    before, after = {"a": "1", "b": "2", "c": ""}, {"b": "3", "c": "", "d": "4"}
    lines = [*golden.differences(before, after)]
    assert lines == ["gone: a", "different: b", "new: d"]
