"""Numbers from cached outputs: plain functions of arrays."""
