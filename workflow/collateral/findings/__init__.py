"""One folder per question about cached outputs.

`__init__.py` states the question and declares its METRICS. Beside it are `numbers.py` (outputs in,
rows out), `views.py` (tables and a sentence) and `plots.py`, as many as it needs.
"""
