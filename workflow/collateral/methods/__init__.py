"""One folder per unlearning method, with `params.py` and `method.py`: see docs/extend.md."""
