"""The address of the warm server, and the kind of a job by its text; it imports nothing."""

ADDRESS = "COLLATERAL_WARM"  # environment variable with the folder of the server's sockets
OFF = "off"  # value of COLLATERAL_WARM that turns the warm server off
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
