"""Text of the files that docs/generate.py writes, made from the code."""
