"""Collateral: who else gets hurt when a model unlearns some examples."""
