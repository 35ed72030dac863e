"""What the paper claims, asked of results: holds, does not hold, or cannot be said."""
