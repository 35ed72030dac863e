"""The progress display: estimates and texts worked out by hand, and what it prints of events."""

import io
import logging
from types import SimpleNamespace

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from collateral.plan.estimate import presenting_seconds
from snakemake_logger_plugin_collateral import LogHandler, last_lines
from snakemake_logger_plugin_collateral.progress import Progress, coarse, duration


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def run_one_after_another(progress, clock, *jobs):
    """Let (rule, seconds) jobs run and finish in turn."""
    for jobid, (rule, seconds) in enumerate(jobs):
        progress.start(jobid, rule, {})
        clock.now += seconds
        progress.finish(jobid)


def test_time_left_weighs_the_jobs_left_by_the_mean_of_their_rule(clock):
    progress = Progress({"fast": 3, "slow": 2}, clock)
    run_one_after_another(progress, clock, ("fast", 1), ("fast", 3), ("slow", 10))
    assert progress.seconds_left() == 1 * 2 + 1 * 10


def test_an_unseen_rule_takes_the_mean_over_all_finished_jobs(clock):
    progress = Progress({"a": 1, "b": 2, "unseen": 1}, clock)
    run_one_after_another(progress, clock, ("a", 2), ("b", 6))
    assert progress.seconds_left() == 6 + (2 + 6) / 2


def test_figures_of_many_cells_take_longer_than_the_mean_job(clock):
    progress = Progress({"metrics": 100, "figures": 1}, clock)
    run_one_after_another(progress, clock, *[("metrics", 1)] * 100)
    assert progress.seconds_left() == presenting_seconds("figures", 100) > 100


# Seconds on one of two cores, as measured in a run of 200 small cells; figures use both cores.
CELL = (("split", 0.1), ("neighbours", 0.1), ("retrain", 0.7), ("unlearn", 0.7), ("metrics", 0.8))
END = (("gather", 6), ("tables", 5), ("figures", 90), ("report", 24), ("index", 0.5))


def test_time_left_is_right_within_a_factor_of_two_in_a_run_of_many_cells(clock):
    progress = Progress({rule: 200 for rule, _ in CELL} | {rule: 1 for rule, _ in END}, clock)
    pairs = [(job, job) for job in CELL * 100]  # two at a time
    said = []
    for first, *others in [*pairs, *((job,) for job in END)]:
        for jobid, (rule, _) in enumerate([first, *others]):
            progress.start(jobid, rule, {})
        for _ in range(10):
            clock.now += first[1] / 10
            said.append((clock.now, progress.seconds_left()))
        for jobid in range(1 + len(others)):
            progress.finish(jobid)
    checked = [(clock.now - now, left) for now, left in said if now < clock.now - 30 and left]
    assert len(checked) > 0.9 * len(said)
    assert all(true / 2 < left < 2 * true for true, left in checked)


def test_time_left_is_shared_by_as_many_jobs_as_ran_at_a_time(clock):
    progress = Progress({"one": 4}, clock)
    progress.start(1, "one", {})
    progress.start(2, "one", {})
    clock.now = 10
    progress.finish(1)
    progress.finish(2)
    assert progress.seconds_left() == 2 * 10 / 2


def test_the_last_page_is_made_alone(clock):
    progress = Progress({"one": 4, "report": 1}, clock)
    for jobids in ((1, 2), (3, 4)):
        for jobid in jobids:
            progress.start(jobid, "one", {})
        clock.now += 10
        for jobid in jobids:
            progress.finish(jobid)
    assert progress.seconds_left() == 10
    progress.start(5, "report", {})
    clock.now += 4
    assert progress.seconds_left() == 10 - 4


def test_running_jobs_are_credited_with_what_they_have_behind_them(clock):
    progress = Progress({"one": 3}, clock)
    run_one_after_another(progress, clock, ("one", 10))
    progress.start(1, "one", {})
    clock.now = 16
    assert progress.seconds_left() == 10 + (10 - 6)


def test_a_running_job_over_its_time_is_credited_no_more_than_the_mean(clock):
    progress = Progress({"one": 3}, clock)
    run_one_after_another(progress, clock, ("one", 10))
    progress.start(1, "one", {})
    clock.now = 100
    assert progress.seconds_left() == 10


def test_a_failed_job_is_still_to_be_done(clock):
    progress = Progress({"one": 2}, clock)
    run_one_after_another(progress, clock, ("one", 10))
    progress.start(1, "one", {})
    clock.now = 20
    progress.fail(1)
    assert progress.seconds_left() == 10
    assert not progress.running


def test_no_time_is_given_before_rules_of_half_of_the_jobs_have_been_seen(clock):
    progress = Progress({"base": 1, "unlearn": 3}, clock)
    assert progress.seconds_left() is None
    run_one_after_another(progress, clock, ("base", 10))
    assert progress.seconds_left() is None
    run_one_after_another(progress, clock, ("unlearn", 10))
    assert progress.seconds_left() == 2 * 10


def a_dozen_jobs(clock):
    progress = Progress({"unlearn": 11, "tune": 1}, clock)
    run_one_after_another(progress, clock, ("unlearn", 10))
    progress.start(1, "unlearn", {"cell": "eight-50", "seed": "1", "run": "rl"})
    progress.start(2, "tune", {"cell": "three-90", "method": "ltd"})
    return progress


def test_the_status_says_jobs_done_what_runs_and_time_left(clock):
    # 10 s for each of the 11 jobs left, one at a time: 110 s
    assert a_dozen_jobs(clock).status(120) == (
        "[ 1/12]   8 %  2 running: unlearn (eight-50, seed 1, rl), tune (three-90, ltd)"
        "   about 2 min left"
    )


def test_a_narrow_status_cuts_the_jobs_and_keeps_the_time(clock):
    status = a_dozen_jobs(clock).status(60)
    assert status == "[ 1/12]   8 %  2 running: unlearn (eig...   about 2 min left"
    assert len(status) == 60


def test_a_job_without_wildcards_is_named_by_its_rule(clock):
    progress = Progress({"tables": 2}, clock)
    progress.start(1, "tables", {})
    assert progress.status(80) == "[0/2]   0 %  1 running: tables"


def test_each_tenth_of_the_jobs_is_news_once(clock):
    progress = Progress({"one": 20}, clock)
    run_one_after_another(progress, clock, ("one", 0))
    assert not progress.has_news()
    run_one_after_another(progress, clock, ("one", 0))
    assert progress.has_news()
    progress.note_status()
    assert not progress.has_news()


def test_a_finished_job_is_news_ten_seconds_after_the_last(clock):
    progress = Progress({"one": 100}, clock)
    run_one_after_another(progress, clock, ("one", 9.5))
    assert not progress.has_news()
    clock.now = 10
    assert progress.has_news()
    progress.note_status()
    clock.now = 30
    assert not progress.has_news()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (12, "12 s"), (60, "1 min"), (492, "8 min 12 s"), (7530, "2 h 5 min")],
)
def test_duration_is_written_in_the_two_largest_units(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "10 s"), (31, "40 s"), (58, "1 min"), (61, "2 min"), (3601, "1 h 1 min")],
)
def test_an_estimate_is_rounded_up(seconds, text):
    assert coarse(seconds) == text


@pytest.fixture
def handler(monkeypatch):
    """A handler in a run of two jobs, printing into its stream."""
    monkeypatch.setattr("sys.stderr", io.StringIO())
    details = dict.fromkeys(["dryrun", "verbose", "debug_dag", "printshellcmds"], False)
    shown = {"stdout": False, "nocolor": True, "quiet": None, "show_failed_logs": False}
    handler = LogHandler(SimpleNamespace(**details, **shown), None)
    emit(handler, LogEvent.WORKFLOW_STARTED)
    emit(handler, LogEvent.RUN_INFO, stats={"base": 1, "unlearn": 1, "total": 2})
    start(handler, 1, "base")
    return handler


def emit(handler, event=None, message="", level=logging.INFO, **attributes):
    record = {"event": event, "msg": message, "levelno": level, **attributes}
    handler.emit(logging.makeLogRecord(record | {"levelname": logging.getLevelName(level)}))


def start(handler, jobid, rule, **wildcards):
    emit(handler, LogEvent.JOB_INFO, jobid=jobid, rule_name=rule, wildcards=wildcards)


def fail(handler, jobid, rule, logs, message=None, **aux):
    what = {"jobid": jobid, "rule_name": rule, "log": logs, "rule_msg": message, "aux": aux}
    emit(handler, LogEvent.JOB_ERROR, level=logging.ERROR, **what)


def test_a_failure_names_job_log_and_cause_at_once_and_at_the_end(handler, tmp_path):
    log = tmp_path / "unlearn.log"
    log.write_text("epoch 1\nepoch 2\n  at step 3\nValueError: no examples\n\n")
    start(handler, 2, "unlearn", cell="eight-50", seed="1")
    fail(handler, 2, "unlearn", [str(log)])
    said = f"failed: unlearn (eight-50, seed 1)\n  log: {log}\n  epoch 2\n    at step 3\n"
    said += "  ValueError: no examples\n"
    assert handler.stream.getvalue() == "2 jobs: 1 base, 1 unlearn\n" + said
    handler.close()
    assert handler.stream.getvalue().endswith(said + "0 of 2 jobs done in 0 s; 1 failed.\n" + said)


def test_a_failure_shows_the_message_of_the_cluster(handler):
    fail(handler, 1, "base", [], "SLURM status is: OUT_OF_MEMORY", external_jobid="17")
    assert handler.stream.getvalue().endswith(
        "failed: base\n  SLURM status is: OUT_OF_MEMORY\n  external_jobid: 17\n"
    )


def test_a_missing_log_is_reported(tmp_path):
    assert last_lines(tmp_path / "none.log") == ["(not written)"]


def test_a_failure_that_a_retry_made_good_is_forgotten(handler):
    fail(handler, 1, "base", [])
    start(handler, 1, "base")
    emit(handler, LogEvent.JOB_FINISHED, job_id=1)
    handler.close()
    assert handler.stream.getvalue().endswith("\n1 of 2 jobs done in 0 s.\n")


def test_the_first_line_of_a_run_with_many_rules_is_wrapped(handler):
    rules = {f"rule_{letter}": 100 for letter in "abcdefghij"}
    emit(handler, LogEvent.RUN_INFO, stats={**rules, "total": 1000})
    first, second = handler.stream.getvalue().splitlines()[-2:]
    assert first.startswith("1000 jobs: 100 rule_a, ")
    assert second.startswith("  100 rule_")
    assert second.endswith("100 rule_j")
    assert len(second) < len(first) <= 80


def test_the_status_in_a_file_has_at_most_80_characters(handler):
    start(handler, 2, "unlearn", cell="a-long-name-of-a-cell-50", seed="1", run="neggrad_plus")
    start(handler, 3, "unlearn", cell="a-long-name-of-a-cell-90", seed="4", run="neggrad_plus")
    handler._draw()
    status = handler.stream.getvalue().splitlines()[-1]
    assert status.startswith("[0/2]   0 %  3 running: base, unlearn (a-long-name")
    assert len(status) == 80


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_the_status_on_a_terminal_is_narrower_than_the_terminal(handler, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    handler.is_terminal = True
    start(handler, 2, "unlearn", cell="a-long-name-of-a-cell-50", seed="1", run="neggrad_plus")
    start(handler, 3, "unlearn", cell="a-long-name-of-a-cell-90", seed="4", run="neggrad_plus")
    handler._draw()
    status = handler.stream.getvalue().splitlines()[-1].rpartition("\x1b[K")[2]
    assert min(columns - 1, 100) <= len(status) <= columns - 1


def test_a_run_is_summed_up_once(handler):
    for jobid in (1, 2):
        emit(handler, LogEvent.JOB_FINISHED, job_id=jobid)
    handler.close()
    handler.close()
    assert handler.stream.getvalue() == "2 jobs: 1 base, 1 unlearn\n2 jobs done in 0 s.\n"


def test_warnings_and_errors_are_shown_and_chatter_is_not(handler):
    before = handler.stream.getvalue()
    emit(handler, None, "Select jobs to execute...")
    emit(handler, LogEvent.RESOURCES_INFO, "Provided cores: 2")
    emit(handler, None, "a warning", logging.WARNING)
    emit(handler, LogEvent.ERROR, "an error", logging.ERROR, exception="WorkflowError")
    assert handler.stream.getvalue() == before + "a warning\nan error\n"


def test_jobs_killed_by_an_interrupt_are_not_called_failures(handler):
    emit(handler, None, "Terminating processes on user request.")
    emit(handler, LogEvent.ERROR, "died", logging.ERROR, exception="RuleException")
    fail(handler, 1, "base", [])
    handler.close()
    assert handler.stream.getvalue().splitlines()[1:] == [
        "Terminating processes on user request.",
        "0 of 2 jobs done in 0 s.",
    ]
