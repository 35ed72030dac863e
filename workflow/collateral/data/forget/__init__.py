"""One file a kind of forget set: `Params`, `select`, `chosen`, and `problems` if it names classes.

The Snakefile reads `Params` and `problems`; numpy is imported in `select`.
"""
