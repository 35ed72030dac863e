"""Tables of a benchmark: every run against Retrain, as CSV, Markdown and LaTeX."""
