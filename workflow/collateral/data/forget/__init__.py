"""One file a kind: `Params`, `select`, `chosen`, `count`, and `problems` if it names classes.

`unfit`, if it names examples: what is wrong with them, given the data set's size and columns.

The Snakefile reads `Params`, `count` and `problems`; numpy is imported in `select`.
"""
