"""Plain functions of arrays: the arithmetic of every number in the results."""
