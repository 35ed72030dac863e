"""Kinds of forget sets, one file each; each file has `Params`, `select`, `chosen` and `count`.

A kind that names classes has `problems`, which checks them. A kind that names examples has `unfit`,
which checks them against the size and the columns of the data set. A kind that depends on trained
models says so by `NEEDS`: "base" or "shadows"; its `select` has a third argument, one number for
every train example: its loss in the first seed's base, or its memorisation by the first half of the
shadow models. The Snakefile imports `Params`, `count`, `problems` and `unfit`; therefore numpy is
imported in `select` only.
"""
