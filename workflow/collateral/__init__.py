"""Collateral: who else gets hurt when a model unlearns some examples."""

__version__ = "0.1.0"
