"""One file a data set: `INFO`, `Options` and `load`; what is heavy is imported inside `load`."""
