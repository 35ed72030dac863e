"""One folder a question that is asked of cached outputs.

`__init__` states the question and declares its METRICS; beside it, as many as it needs of
`numbers.py` (outputs in, rows out), `table.py`, `plots.py` and `words.py`.
"""
