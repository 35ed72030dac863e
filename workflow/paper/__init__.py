"""One paper, "Forgetting Has Neighbors": its claims, its theory and its printed numbers."""
