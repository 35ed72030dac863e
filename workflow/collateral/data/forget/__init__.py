"""Kinds of forget sets, one file each; each file has `Params`, `select`, `chosen` and `count`.

A kind that names classes has `problems`, which checks them. A kind that names examples has `unfit`,
which checks them against the size and the columns of the data set. A kind that depends on trained
models has `NEEDS`, which is "base" or "shadows". Its `select` has a third argument, one number per
train example: the loss under the first seed's base model, or the memorisation by the first half of
the shadow models. The Snakefile imports `Params`, `count`, `problems` and `unfit`; therefore numpy
is imported in `select` only.
"""
