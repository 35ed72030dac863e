"""Data sets, one file each, with `INFO`, `Options` and `load`; numpy is imported inside `load`."""
