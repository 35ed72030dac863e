"""Reproduction of the paper "Forgetting Has Neighbors": its claims, theory and printed numbers."""
