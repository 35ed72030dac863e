"""One folder an unlearning method: `params.py` and `method.py`. See docs/add-a-method.md."""
