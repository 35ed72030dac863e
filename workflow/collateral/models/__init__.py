"""Image classifiers, one file an architecture family; `names` lists them, `build` makes them."""
