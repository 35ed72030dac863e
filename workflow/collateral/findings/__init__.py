"""Findings: one folder per question about the model outputs.

`__init__.py` states the question and declares its METRICS. Beside it are `numbers.py` (outputs in,
rows out) and `views.py` (tables, plots and a sentence), or one of them.
"""
