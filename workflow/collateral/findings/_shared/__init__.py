"""Code of several findings: captions, comparisons with Retrain, series of plots, table files."""
