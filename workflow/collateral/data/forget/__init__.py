"""One file a kind: `Params`, `select`, `chosen`, `count`, and `problems` if it names classes.

The Snakefile reads `Params`, `count` and `problems`; numpy is imported in `select`.
"""
