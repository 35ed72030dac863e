"""Snakemake logger that shows a run in one line: finished jobs, running jobs, time left.

`snakemake --logger collateral`, or `logger: collateral` in a profile. Warnings and errors come as
Snakemake words them; the full text is in .snakemake/log. The output of other commands (a dry run,
--lint, --summary) and of runs with details (--verbose, --printshellcmds, --debug-dag) is that of
Snakemake.
"""

import logging
import shutil
import sys
import threading
from pathlib import Path
from textwrap import wrap
from typing import Any

from snakemake.logging import ColorizingTextHandler, DefaultFormatter
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_collateral.progress import Progress, duration

REDRAW_SECONDS = 0.2  # time between an event and the drawing of the status line
PLAIN_WIDTH = 80  # width of lines if the output is not a terminal
JOINED = "\u00a0"  # space at which no line is broken
ERASE_LINE = "\r\x1b[K"  # terminal code that erases the current line
# First words of log messages that have no event type; they identify these messages.
BEFORE_EVERY_RUN = "Assuming unrestricted shared filesystem usage"
NOTHING_TO_DO = "Nothing to be done"
INTERRUPTED = "Terminating processes"
# First words of messages that are printed although they are no warnings.
SHOWN = (INTERRUPTED, "Will exit after", "Trying to restart job")


class LogHandler(LogHandlerBase):
    """Print the progress of a run from Snakemake's log events."""

    writes_to_stream = True
    writes_to_file = False
    has_filter = False  # with this setting, Snakemake adds its own filter, which respects --quiet
    has_formatter = True
    needs_rulegraph = False

    def __post_init__(self) -> None:
        """Set up the display; nothing is printed before the first event."""
        wanted = self.common_settings
        self.stream = sys.stdout if wanted.stdout else sys.stderr
        formatter = DefaultFormatter(wanted.quiet, wanted.show_failed_logs)
        self.default = ColorizingTextHandler(wanted.nocolor, self.stream, formatter)
        self.is_terminal = self.default.can_color_tty()
        self.wants_details = (
            wanted.dryrun or wanted.verbose or wanted.debug_dag or wanted.printshellcmds
        )
        self.is_run = False
        self.is_interrupted = False
        self.progress = Progress({})  # progress without jobs, before a run has started
        self.failures: dict[int, str] = {}
        self.redraw: threading.Timer | None = None
        self.pen = threading.RLock()  # lock that a thread holds while it writes to the terminal

    def emit(self, record: logging.LogRecord) -> None:
        """Print a log record, or update the progress of the run."""
        try:
            with self.pen:
                self._show(record)
        except BrokenPipeError:
            pass  # The reader of the pipe has closed it, as in `snakemake -n | head`.
        except Exception:  # An exception here would end Snakemake's logging thread.
            self.handleError(record)

    def _show(self, record: logging.LogRecord) -> None:
        if getattr(record, "event", None) == LogEvent.WORKFLOW_STARTED:
            self.is_run = not self.wants_details
        if self.is_run:
            self._follow(record)
        elif self.wants_details or not record.getMessage().startswith(BEFORE_EVERY_RUN):
            self.default.emit(record)

    def _follow(self, record: Any) -> None:
        message = record.getMessage()
        self.is_interrupted |= message.startswith(INTERRUPTED)
        match getattr(record, "event", None):
            case _ if self.is_interrupted and is_failure(record):
                pass  # the job was killed
            case LogEvent.RUN_INFO:
                self._begin(record.stats)
            case LogEvent.JOB_INFO:
                self.progress.start(record.jobid, record.rule_name, record.wildcards)
                self._draw_soon()
            case LogEvent.JOB_FINISHED:
                self._finish(record.job_id)
            case LogEvent.JOB_ERROR:
                self._fail(record)
            case _ if record.levelno >= logging.WARNING or message.startswith(SHOWN):
                self._print(self.default.decorate(record, self.default.format(record)))
            case _ if message.startswith(NOTHING_TO_DO):
                self._print("Nothing to be done: all results are up to date.")

    def _begin(self, stats: dict[str, int]) -> None:
        planned = {rule: count for rule, count in stats.items() if rule != "total"}
        self.progress = Progress(planned)
        kinds = ", ".join(f"{count}{JOINED}{rule}" for rule, count in planned.items())
        text = f"{jobs(self.progress.total)}: {kinds}"
        lines = wrap(text, self._width(), subsequent_indent="  ")
        self._print("\n".join(lines).replace(JOINED, " "))

    def _finish(self, jobid: int) -> None:
        self.progress.finish(jobid)
        self.failures.pop(jobid, None)  # a retry succeeded
        if self.progress.done == self.progress.total:
            self._end(f"{jobs(self.progress.total)} done in {duration(self.progress.elapsed)}.")
        self._draw_soon()

    def _fail(self, record: Any) -> None:
        lines = [f"failed: {self.progress.fail(record.jobid) or record.rule_name}"]
        lines += [record.rule_msg] if record.rule_msg else []
        lines += [f"{key}: {value}" for key, value in record.aux.items()]
        for log in record.log:
            lines += [f"log: {log}", *last_lines(Path(log))]
        self.failures[record.jobid] = "\n  ".join(lines)
        self._print(self.default.decorate(record, self.failures[record.jobid]))

    def close(self) -> None:
        """Print a summary if the run was not completed."""
        with self.pen:
            if self.progress.total:
                done = f"{self.progress.done} of {jobs(self.progress.total)} done"
                failed = f"; {len(self.failures)} failed" if self.failures else ""
                head = f"{done} in {duration(self.progress.elapsed)}{failed}."
                self._end("\n".join([head, *self.failures.values()]))
        super().close()

    def _end(self, text: str) -> None:
        self.progress = Progress({})
        self._print(text)

    def _print(self, text: str) -> None:
        erase = ERASE_LINE if self.is_terminal else ""
        self.stream.write(f"{erase}{text}\n")
        self.stream.flush()
        self._draw_soon()

    def _width(self) -> int:
        # A line as wide as the terminal would move the cursor to the next line.
        return shutil.get_terminal_size().columns - 1 if self.is_terminal else PLAIN_WIDTH

    def _draw_soon(self) -> None:
        # Events come in bursts, so the status line is drawn once, shortly after the first event.
        is_due = self.progress.total and (self.is_terminal or self.progress.has_news())
        if is_due and self.redraw is None:
            self.redraw = threading.Timer(REDRAW_SECONDS, self._draw)
            self.redraw.daemon = True
            self.redraw.start()

    def _draw(self) -> None:
        with self.pen:
            self.redraw = None
            if not self.progress.total or not self.progress.running or self.is_interrupted:
                return
            if self.is_terminal:
                self.stream.write(ERASE_LINE + self.progress.status(self._width()))
            else:
                self.stream.write(self.progress.status(self._width()) + "\n")
                self.progress.note_status()
            self.stream.flush()


def jobs(count: int) -> str:
    """Format a number of jobs, such as "3 jobs"."""
    return f"{count} job" if count == 1 else f"{count} jobs"


def is_failure(record: logging.LogRecord) -> bool:
    """Tell whether a record reports a failed job; Snakemake logs two records per failure."""
    is_job_error = getattr(record, "event", None) == LogEvent.JOB_ERROR
    return is_job_error or getattr(record, "exception", None) == "RuleException"


def last_lines(log: Path, count: int = 3) -> list[str]:
    """Return the last lines of a job's log, which usually contain the cause of its failure."""
    if not log.is_file():
        return ["(not written)"]
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return [line for line in lines if line.strip()][-count:]
