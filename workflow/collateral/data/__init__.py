"""Data sets, one file each: `INFO`, `Options` and `load`; numpy is imported inside `load`."""
