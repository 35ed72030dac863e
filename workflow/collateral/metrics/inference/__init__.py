"""Statistical inference over few seeds: differences, equivalence, ranks, bootstrap of examples."""
