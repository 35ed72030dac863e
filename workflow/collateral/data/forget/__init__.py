"""One file a kind of forget set: `Params`, `select` and `chosen`; numpy is imported in `select`."""
