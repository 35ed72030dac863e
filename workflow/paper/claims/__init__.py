"""The paper's 62 claims, tested on results: each holds, does not hold, or cannot be said."""
