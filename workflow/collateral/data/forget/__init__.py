"""Kinds of forget sets, one file each; each file has `Params`, `select`, `chosen` and `count`.

`count` raises a ValueError "key: reason" if a parameter does not fit the data set. A kind with
classes has `find_classes`, which checks them by the class names alone. A kind that depends on
trained models or on the images has `NEEDS`, which is "base", "shadows" or "images". Its `select`
has a third argument, one number per train example: the loss under the first seed's base model, the
memorisation by the first half of the shadow models, or the distance of the image from the mean
image of its class. The Snakefile calls `count` and `find_classes`; therefore numpy is
imported in `select` only.
"""
