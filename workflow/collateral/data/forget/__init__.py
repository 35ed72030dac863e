"""Kinds of forget sets, one file each: `Params`, `select`, `chosen`, `count`.

A kind that names classes has `problems`, which checks them. A kind that names examples has `unfit`,
which checks them against the size and the columns of the data set. The Snakefile imports `Params`,
`count`, `problems` and `unfit`; therefore numpy is imported in `select` only.
"""
