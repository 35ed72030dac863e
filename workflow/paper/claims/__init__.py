"""The paper's 62 claims, tested on results: each holds, fails, or cannot be decided."""
