"""Warm workers: a local run keeps processes that have imported a stage, and forks each job of it.

A job of a small experiment takes a second, and importing torch two and a half. `client` is the
command `collateral`; where a run has named its server in the environment, it hands the job over
and stands for it. SLURM jobs, and a plain `collateral STAGE`, import for themselves.
"""

ADDRESS = "COLLATERAL_WARM"  # the environment variable with the folder of the server's sockets
OFF = "off"  # its value where every job is to import for itself
