"""The kind of a job, read from a command line without parsing its description."""

RUN = "run"  # command that runs a job
HEAD = '{"kind": "'  # beginning of a job's description


def job_kind(arguments: list[str]) -> str:
    """Return the kind of the job that `collateral run` is to run; empty for other commands."""
    name, text, *_ = [*arguments, "", ""]
    if name != RUN:
        return ""
    if text.startswith("@"):  # the file of a long description, such as `tune-1c0a.json`
        return text.rpartition("/")[2].rpartition("-")[0]
    return text.removeprefix(HEAD).partition('"')[0] if text.startswith(HEAD) else ""
