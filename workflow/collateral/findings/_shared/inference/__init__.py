"""What a few seeds can tell: differences, equivalence, ranks, and what examples alone explain."""
