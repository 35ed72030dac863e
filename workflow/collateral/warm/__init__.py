"""Warm workers: in a local run, jobs are forked from processes that have imported their stage.

A job of a small experiment takes one second, but importing torch takes two and a half. `client` is
the command `collateral`: if the environment names a server, the client sends its job there and
waits for it. SLURM jobs, and a plain `collateral STAGE`, import everything themselves.
"""

ADDRESS = "COLLATERAL_WARM"  # environment variable with the folder of the server's sockets
OFF = "off"  # value of COLLATERAL_WARM that turns the fork server off
