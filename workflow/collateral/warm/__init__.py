"""Warm workers: in a local run, processes that have imported a stage fork each of its jobs.

A job of a small experiment takes one second, but importing torch takes two and a half. `client` is
the command `collateral`: if the environment names a server, the client sends its job there and
waits for it. SLURM jobs, and a plain `collateral STAGE`, import everything themselves.
"""

ADDRESS = "COLLATERAL_WARM"  # environment variable: the folder with the server's sockets
OFF = "off"  # its value if every job shall import everything itself
